package thoonk

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// Queue is a feed whose items are taken out by the first who comes, in the order in which they were put in. Its methods
// may be called concurrently.
type Queue[T any] struct {
	*feed
	codec Codec[T]
}

// OpenQueue opens a queue; a nil codec is [JSON]. It fails with [ErrNoFeed], see [OrCreate], or a [*KindError].
func OpenQueue[T any](ctx context.Context, c *Client, name string, codec Codec[T],
	options ...OpenOption) (*Queue[T], error) {
	f, err := c.open(ctx, name, KindQueue, options)
	if err != nil {
		return nil, err
	}
	return &Queue[T]{f, orJSON(codec)}, nil
}

// Put puts an item at the end, or [AtFront], and returns its id. It fails with [ErrTaken] where [WithID] names one that
// is in the queue. After an error of the connection the item may be in the queue: with an id of one's own it can be put
// again.
func (q *Queue[T]) Put(ctx context.Context, value T, options ...PutOption) (string, error) {
	chosen, err := newPutting(options, checkID)
	if err != nil {
		return "", q.client.explained(q.Name(), err)
	}
	return put(ctx, q.feed, q.codec, value, chosen)
}

func put[T any](ctx context.Context, f *feed, codec Codec[T], value T, chosen putting) (string, error) {
	item, err := encoded(codec, value)
	if err != nil {
		return "", f.client.explained(f.Name(), err)
	}
	err = f.changed(ctx, chosen.id, ErrTaken, func(ctx context.Context, known string) (bool, error) {
		return f.db.Put(ctx, known, thoonkdb.Entry{ID: chosen.id, Item: item},
			thoonkdb.Place{Front: chosen.front, Job: f.base == KindJob})
	})
	if err != nil {
		return "", err
	}
	return chosen.id, nil
}

// Get takes the item at the front. Where nothing waits it waits up to the timeout, 0 for ever, [NoWait] not at all, and
// fails with [ErrEmpty]; or until ctx ends. An item that was taken while ctx ended is returned. What Redis refuses for
// a while, as in a failover, is tried again for as long, and then the refusal is the error.
//
// When the connection is lost just then it fails with [ErrUncertain]. An item that cannot be decoded is out of the
// queue and in the [*DecodeError].
func (q *Queue[T]) Get(ctx context.Context, timeout time.Duration) (Item[T], error) {
	var taken thoonkdb.Entry
	err := q.read(ctx, func(ctx context.Context) error {
		return q.client.await(ctx, timeout, q.turn, waiting{
			try: func(ctx context.Context) (found bool, err error) {
				taken, err = q.take(ctx)
				return taken.ID != "", err
			},
			wait: q.db.WaitForItem,
		})
	})
	if err != nil {
		return Item[T]{}, err
	}
	value, err := decoded(q.codec, taken.Item)
	if err != nil {
		return Item[T]{ID: taken.ID}, &FeedError{Feed: q.Name(), ID: taken.ID, Err: err}
	}
	return Item[T]{taken.ID, value}, nil
}

// take takes an item, if one is there, and hears the answer also when ctx ends.
func (q *Queue[T]) take(ctx context.Context) (taken thoonkdb.Entry, err error) {
	if err := context.Cause(ctx); err != nil {
		return taken, err
	}
	longer, cancel := unhurried(ctx)
	defer cancel()
	err = q.change(longer, func(ctx context.Context, known string, _ Config) error {
		taken, err = q.db.Take(ctx, known)
		if unanswered(err) {
			return ErrUncertain
		}
		return err
	})
	return taken, err
}
