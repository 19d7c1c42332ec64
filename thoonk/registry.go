package thoonk

import (
	"context"
	"errors"
	"slices"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// Create makes a feed. It fails with [ErrExists] where there is one of that name, and otherwise is an event for all.
func (c *Client) Create(ctx context.Context, name string, config Config) error {
	config = config.orLeaf()
	if err := config.check(c.base(config.Kind)); err != nil {
		return c.explained(name, err)
	}
	stored, err := config.stored()
	if err != nil {
		return c.explained(name, err)
	}
	return c.about(ctx, name, func(ctx context.Context, db *thoonkdb.Feed) error {
		created, err := db.Create(ctx, stored, c.instance)
		if err == nil && !created {
			return ErrExists
		}
		return err
	})
}

// Delete removes a feed with all that belongs to it, or fails with [ErrNoFeed]. A feed with more than 500 results loses
// them first, in steps; a Delete that was cut off can be repeated. Results that other programs have left, of which
// there is no set, are not found.
func (c *Client) Delete(ctx context.Context, name string) error {
	return c.about(ctx, name, func(ctx context.Context, db *thoonkdb.Feed) error { return db.Delete(ctx, c.instance) })
}

// Config returns the stored config, or fails with [ErrNoFeed].
func (c *Client) Config(ctx context.Context, name string) (Config, error) {
	var config Config
	err := c.about(ctx, name, func(ctx context.Context, db *thoonkdb.Feed) error {
		layout, err := db.Layout(ctx)
		if err != nil {
			return err
		}
		config, err = described(layout)
		return err
	})
	return config, err
}

// SetConfig stores another config, which is an event for all. The kind of a feed cannot be changed: that fails with a
// [*KindError]. Nor can its form: see [Config].
func (c *Client) SetConfig(ctx context.Context, name string, config Config) error {
	config = config.orLeaf()
	if err := config.check(c.base(config.Kind)); err != nil {
		return c.explained(name, err)
	}
	return c.about(ctx, name, func(ctx context.Context, db *thoonkdb.Feed) error {
		for range staleTries {
			layout, err := db.Layout(ctx)
			if err != nil {
				return err
			}
			if present, err := described(layout); err == nil && present.Kind != config.Kind {
				return &KindError{Want: config.Kind, Have: present.Kind}
			}
			wanted, err := config.reformed(layout)
			if err != nil {
				return err
			}
			if err := db.Configure(ctx, layout.Config, wanted, c.instance); !errors.Is(err, thoonkdb.ErrStale) {
				return err
			}
		}
		return errFickle
	})
}

// Exists tells whether there is a feed of that name.
func (c *Client) Exists(ctx context.Context, name string) (bool, error) {
	exists := false
	err := c.about(ctx, name, func(ctx context.Context, db *thoonkdb.Feed) (err error) {
		exists, err = db.Exists(ctx)
		return err
	})
	return exists, err
}

// Names returns the names of all feeds, sorted.
func (c *Client) Names(ctx context.Context) ([]string, error) {
	ctx, end := c.within(ctx)
	defer end()
	names, err := c.store.Names(ctx)
	slices.Sort(names)
	if err != nil && c.life.Err() != nil {
		err = ErrClosed
	}
	return names, err
}

// Open opens a feed as what its config says: a [*Leaf], [*SortedFeed] or [*Queue] of bytes, or a [*JobFeed] of bytes
// with results of bytes; one of a kind of the program's own as [WithKind] says. [OpenLeaf], [OpenSortedFeed],
// [OpenQueue] and [OpenJobFeed] open one with values of a type.
func (c *Client) Open(ctx context.Context, name string, options ...OpenOption) (Feed, error) {
	err := c.about(ctx, name, func(ctx context.Context, db *thoonkdb.Feed) error {
		return c.ensure(ctx, db, "", options)
	})
	if err != nil {
		return nil, err
	}
	config, err := c.Config(ctx, name)
	if err != nil {
		return nil, err
	}
	if own := c.kinds[config.Kind]; own.open != nil {
		return c.openOwn(ctx, name, own)
	}
	switch c.base(config.Kind) {
	case KindLeaf:
		return OpenLeaf(ctx, c, name, Codec[[]byte](Raw{}))
	case KindSorted:
		return OpenSortedFeed(ctx, c, name, Codec[[]byte](Raw{}))
	case KindQueue:
		return OpenQueue(ctx, c, name, Codec[[]byte](Raw{}))
	case KindJob:
		return OpenJobFeed(ctx, c, name, Codec[[]byte](Raw{}), Codec[[]byte](Raw{}))
	}
	return nil, c.explained(name, &KindError{Want: "one that this client knows", Have: config.Kind})
}

func (c *Client) openOwn(ctx context.Context, name string, own ownKind) (Feed, error) {
	feed, err := own.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return feed.(Feed), nil
}
