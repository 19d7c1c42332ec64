package thoonk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// Recurring is a set of items each of which is handed out once per period, for as long as it is in the set: feeds to
// poll, for instance. It is kept as thoonk.js 0.7 keeps it: an item is its own id. Its methods may be called
// concurrently; times are by Redis' clock.
type Recurring[T any] struct {
	client *Client
	db     *thoonkdb.Recurring
	name   string
	period time.Duration
	codec  Codec[T]
}

// OpenRecurring opens a set of recurring items, and creates it with that period where there is none of that name. The
// period has whole milliseconds; a set that is there keeps its own. A nil codec is [JSON], and must turn equal items
// into equal bytes.
func OpenRecurring[T any](ctx context.Context, c *Client, name string, period time.Duration,
	codec Codec[T]) (*Recurring[T], error) {
	r := &Recurring[T]{client: c, db: c.store.Recurring(name), name: name, codec: orJSON(codec)}
	if err := checkName("set of recurring items", name); err != nil {
		return nil, err
	}
	if period < time.Millisecond {
		return nil, r.explained(fmt.Errorf("period %s is too short: use at least 1ms", period))
	}
	err := r.call(ctx, func(ctx context.Context) (err error) {
		r.period, err = r.db.Define(ctx, period)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Name is the name of the set.
func (r *Recurring[T]) Name() string { return r.name }

// Period is after what time an item that was handed out is due again. It was read when the set was opened.
func (r *Recurring[T]) Period() time.Duration { return r.period }

// Add adds an item, due a period from now. One that is there keeps its time: then added is false.
func (r *Recurring[T]) Add(ctx context.Context, item T) (due time.Time, added bool, err error) {
	err = r.with(ctx, item, func(ctx context.Context, bytes []byte) (err error) {
		added, due, err = r.db.Add(ctx, bytes)
		return err
	})
	return due, added, err
}

// Due is an item that was handed out, and since when it was due.
type Due[T any] struct {
	Item  T
	Since time.Time
}

// Get hands out the item that is due for longest; it is due again a period from now. Where none is due it waits up to
// the timeout, 0 for ever, [NoWait] not at all, and fails with [ErrEmpty]; or until ctx ends.
//
// An empty set is looked at each 100 ms at most: the first item of a shorter period may come by that much later.
//
// An item goes to one caller per period. What is under way to a program that dies, or over a connection that breaks,
// comes again when its period is over. One that cannot be decoded is a [*DecodeError], and put off like any other.
func (r *Recurring[T]) Get(ctx context.Context, timeout time.Duration) (Due[T], error) {
	if timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, timeout, ErrEmpty)
		defer cancel()
		ctx = limited
	}
	for {
		taken, err := r.take(ctx)
		switch {
		case err != nil:
			return Due[T]{}, err
		case taken.Found:
			item, err := decoded(r.codec, taken.Item)
			return Due[T]{item, taken.Due}, r.explained(err)
		case timeout < 0:
			return Due[T]{}, r.explained(ErrEmpty)
		}
		if err := r.pause(ctx, taken.Next); err != nil {
			return Due[T]{}, err
		}
	}
}

func (r *Recurring[T]) take(ctx context.Context) (taken thoonkdb.Taken, err error) {
	if err := context.Cause(ctx); err != nil {
		return taken, r.explained(err)
	}
	longer, cancel := unhurried(ctx)
	defer cancel()
	err = r.call(longer, func(ctx context.Context) error {
		taken, err = r.db.Take(ctx)
		return err
	})
	if err != nil && ended(ctx, err) {
		err = r.explained(context.Cause(ctx))
	}
	return taken, err
}

// emptyStep is how long an empty set is left alone at least: a period may be a millisecond.
const emptyStep = 100 * time.Millisecond

// pause waits until the next item is due. What is added to an empty set is due a period later, so looking once per
// period is soon enough; and now and then, since the set may be deleted.
func (r *Recurring[T]) pause(ctx context.Context, next time.Duration) error {
	if next < 0 {
		next = max(r.period, emptyStep)
	}
	r.client.waits()
	ctx, end := r.client.within(ctx)
	defer end()
	next = min(next, waitStep)
	timer := time.NewTimer(next + rand.N(time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		if r.client.life.Err() != nil {
			return r.explained(ErrClosed)
		}
		return r.explained(context.Cause(ctx))
	}
}

// Update replaces an item, which keeps its time, or fails with [ErrNoItem].
func (r *Recurring[T]) Update(ctx context.Context, item, by T) error {
	other, err := encoded(r.codec, by)
	if err != nil {
		return r.explained(err)
	}
	return r.with(ctx, item, func(ctx context.Context, bytes []byte) error {
		return found(r.db.Update(ctx, bytes, other))
	})
}

// Remove removes an item, or fails with [ErrNoItem].
func (r *Recurring[T]) Remove(ctx context.Context, item T) error {
	return r.with(ctx, item, func(ctx context.Context, bytes []byte) error { return found(r.db.Remove(ctx, bytes)) })
}

// Due tells when an item is due, or fails with [ErrNoItem].
func (r *Recurring[T]) Due(ctx context.Context, item T) (due time.Time, err error) {
	err = r.with(ctx, item, func(ctx context.Context, bytes []byte) error {
		due, err = r.db.Due(ctx, bytes)
		return found(!due.IsZero(), err)
	})
	return due, err
}

// Length tells how many items there are, and how many of them are due.
func (r *Recurring[T]) Length(ctx context.Context) (all, due int, err error) {
	err = r.call(ctx, func(ctx context.Context) error {
		all, due, err = r.db.Length(ctx)
		return err
	})
	return all, due, err
}

// Delete removes the set with all its items, or fails with [ErrNoFeed].
func (r *Recurring[T]) Delete(ctx context.Context) error {
	return r.call(ctx, func(ctx context.Context) error {
		deleted, err := r.db.Delete(ctx)
		if err == nil && !deleted {
			return ErrNoFeed
		}
		return err
	})
}

func found(there bool, err error) error {
	if err == nil && !there {
		return ErrNoItem
	}
	return err
}

// with makes a call about one item.
func (r *Recurring[T]) with(ctx context.Context, item T, do func(ctx context.Context, bytes []byte) error) error {
	bytes, err := encoded(r.codec, item)
	if err != nil {
		return r.explained(err)
	}
	return r.call(ctx, func(ctx context.Context) error { return do(ctx, bytes) })
}

func (r *Recurring[T]) call(ctx context.Context, do func(ctx context.Context) error) error {
	if r.client.life.Err() != nil {
		return r.explained(ErrClosed)
	}
	ctx, end := r.client.within(ctx)
	defer end()
	return r.explained(do(ctx))
}

func (r *Recurring[T]) explained(err error) error { return r.client.explained(r.name, err) }
