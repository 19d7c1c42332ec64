package thoonk

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// Feed is what feeds of all kinds have in common. It is a [*Leaf], [*SortedFeed], [*Queue] or [*JobFeed].
type Feed interface {
	Name() string
	Kind() Kind
	Length(ctx context.Context) (int, error)
	Stats(ctx context.Context) (Stats, error)
}

// staleTries is how often a call is made anew because the config has changed under it.
const staleTries = 10

// feed is the part that is alike in all kinds. Its methods may be called concurrently.
type feed struct {
	client *Client
	db     *thoonkdb.Feed
	base   Kind          // what it is kept as
	turn   chan struct{} // full while one of this feed's callers waits in Redis, for all of them

	mu     sync.Mutex
	known  string // the config as it was read last
	config Config
}

// open reads the config and refuses a feed of another kind, or first creates the feed where the options want that.
func (c *Client) open(ctx context.Context, name string, kind Kind, options []OpenOption) (*feed, error) {
	var f *feed
	err := c.about(ctx, name, func(ctx context.Context, db *thoonkdb.Feed) error {
		if err := c.ensure(ctx, db, kind, options); err != nil {
			return err
		}
		f = &feed{client: c, db: db, base: kind, turn: make(chan struct{}, 1)}
		err := f.learn(ctx)
		if wrong := (*KindError)(nil); errors.As(err, &wrong) && wrong.Have == KindLeaf {
			if err := adopt(ctx, db, kind, c.instance); err != nil {
				return err
			}
			return f.learn(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Name is the name of the feed.
func (f *feed) Name() string { return f.db.Name() }

// Kind is the kind of the feed, as its config says it.
func (f *feed) Kind() Kind {
	_, config := f.snapshot()
	return config.Kind
}

// learn reads the config again.
func (f *feed) learn(ctx context.Context) error {
	known, err := f.db.Config(ctx)
	if err != nil {
		return err
	}
	config, err := parseConfig(known)
	if err != nil {
		return err
	}
	if f.client.base(config.Kind) != f.base {
		return &KindError{Want: f.base, Have: config.Kind}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.config = known, config
	return nil
}

func (f *feed) snapshot() (string, Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known, f.config
}

// change makes a call that rests on the config, and makes it anew where the config has changed meanwhile.
func (f *feed) change(ctx context.Context, do func(ctx context.Context, known string, config Config) error) error {
	return f.read(ctx, func(ctx context.Context) error {
		for range staleTries {
			known, config := f.snapshot()
			if err := do(ctx, known, config); !errors.Is(err, thoonkdb.ErrStale) {
				return err
			}
			if err := f.learn(ctx); err != nil {
				return err
			}
		}
		return errFickle
	})
}

// read makes a call that does not rest on the config.
func (f *feed) read(ctx context.Context, do func(ctx context.Context) error) error {
	return f.client.about(ctx, f.Name(), func(ctx context.Context, _ *thoonkdb.Feed) error { return do(ctx) })
}

// changed makes a change that either happens or fails with missing, for the item of that id.
func (f *feed) changed(ctx context.Context, id string, missing error,
	do func(ctx context.Context, known string) (bool, error)) error {
	return f.change(ctx, func(ctx context.Context, known string, _ Config) error {
		done, err := do(ctx, known)
		if err == nil && !done {
			return &FeedError{Feed: f.Name(), ID: id, Err: missing}
		}
		return err
	})
}

// IDs returns all ids: of a leaf the newest first, of a sorted feed in its order, of a queue or a job feed those that
// wait, the one at the front last.
func (f *feed) IDs(ctx context.Context) (ids []string, err error) {
	err = f.read(ctx, func(ctx context.Context) error {
		ids, err = f.db.IDs(ctx)
		return err
	})
	return ids, err
}

// Length tells how many items the feed has; of a queue or a job feed, how many wait.
func (f *feed) Length(ctx context.Context) (n int, err error) {
	err = f.read(ctx, func(ctx context.Context) error {
		n, err = f.db.Length(ctx)
		return err
	})
	return n, err
}

// item reads one item, or fails with ErrNoItem.
func (f *feed) item(ctx context.Context, id string) (item []byte, err error) {
	err = f.read(ctx, func(ctx context.Context) error {
		items, err := f.db.Items(ctx, []string{id})
		if err == nil && (len(items) != 1 || items[0] == nil) {
			return &FeedError{Feed: f.Name(), ID: id, Err: ErrNoItem}
		}
		if err == nil {
			item = items[0]
		}
		return err
	})
	return item, err
}

// Item is an item and its id.
type Item[T any] struct {
	ID    string
	Value T
}

// all reads the items in the order of their ids, in pages. What is retracted meanwhile is left out.
func all[T any](ctx context.Context, f *feed, codec Codec[T]) iter.Seq2[Item[T], error] {
	return func(yield func(Item[T], error) bool) {
		ids, err := f.IDs(ctx)
		if err != nil {
			yield(Item[T]{}, err)
			return
		}
		for page := range slices.Chunk(ids, rdb.MaxBatch) {
			var items [][]byte
			err := f.read(ctx, func(ctx context.Context) (err error) {
				items, err = f.db.Items(ctx, page)
				return err
			})
			if err != nil {
				yield(Item[T]{}, err)
				return
			}
			for i, item := range items {
				if item == nil {
					continue
				}
				value, err := decoded(codec, item)
				if err != nil {
					err = &FeedError{Feed: f.Name(), ID: page[i], Err: err}
				}
				if !yield(Item[T]{page[i], value}, err) {
					return
				}
			}
		}
	}
}

// one reads one item.
func one[T any](ctx context.Context, f *feed, codec Codec[T], id string) (T, error) {
	var none T
	item, err := f.item(ctx, id)
	if err != nil {
		return none, err
	}
	value, err := decoded(codec, item)
	if err != nil {
		return value, &FeedError{Feed: f.Name(), ID: id, Err: err}
	}
	return value, nil
}

// has tells whether there is such an item.
func (f *feed) has(ctx context.Context, id string) (bool, error) {
	_, err := f.item(ctx, id)
	if errors.Is(err, ErrNoItem) {
		return false, nil
	}
	return err == nil, err
}
