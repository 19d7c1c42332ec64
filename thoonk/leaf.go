package thoonk

import (
	"context"
	"iter"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// Leaf is a plain feed: items under their ids, the newest first, of which the oldest give way where the config has a
// limit. Its methods may be called concurrently.
type Leaf[T any] struct {
	*feed
	codec Codec[T]
}

// OpenLeaf opens a leaf; a nil codec is [JSON]. It fails with [ErrNoFeed], see [OrCreate], or a [*KindError].
func OpenLeaf[T any](ctx context.Context, c *Client, name string, codec Codec[T],
	options ...OpenOption) (*Leaf[T], error) {
	f, err := c.open(ctx, name, KindLeaf, options)
	if err != nil {
		return nil, err
	}
	return &Leaf[T]{f, orJSON(codec)}, nil
}

// Publish puts an item into the feed, under a random id or that of [WithID], and returns the id. An item that has this
// id already is replaced and keeps its place: then edited is true.
func (l *Leaf[T]) Publish(ctx context.Context, value T, options ...PutOption) (id string, edited bool, err error) {
	put, err := newPutting(options, checkID)
	if err != nil {
		return "", false, l.client.explained(l.Name(), err)
	}
	item, err := encoded(l.codec, value)
	if err != nil {
		return "", false, l.client.explained(l.Name(), err)
	}
	err = l.change(ctx, func(ctx context.Context, known string, config Config) error {
		added, err := l.db.Publish(ctx, known, thoonkdb.Entry{ID: put.id, Item: item}, config.MaxLength)
		edited = err == nil && !added
		return err
	})
	if err != nil {
		return "", false, err
	}
	return put.id, edited, nil
}

// Retract removes an item, or fails with [ErrNoItem].
func (l *Leaf[T]) Retract(ctx context.Context, id string) error { return l.retract(ctx, id) }

func (f *feed) retract(ctx context.Context, id string) error {
	return f.changed(ctx, id, ErrNoItem, func(ctx context.Context, known string) (bool, error) {
		return f.db.Retract(ctx, known, id)
	})
}

// Item returns one item, or fails with [ErrNoItem].
func (l *Leaf[T]) Item(ctx context.Context, id string) (T, error) {
	return one(ctx, l.feed, l.codec, id)
}

// Has tells whether there is an item of that id.
func (l *Leaf[T]) Has(ctx context.Context, id string) (bool, error) { return l.has(ctx, id) }

// All returns the items, the newest first. It reads the ids at once and the items in pages, so what is retracted
// meanwhile may be missing. An item that cannot be decoded comes with its error, and the next one follows; any other
// error is the last.
func (l *Leaf[T]) All(ctx context.Context) iter.Seq2[Item[T], error] {
	return all(ctx, l.feed, l.codec)
}
