package thoonk

import (
	"context"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// OpenOption changes how a feed is opened.
type OpenOption func(*opening)

type opening struct {
	create bool
	config Config
}

// OrCreate creates the feed where there is none of that name. Its Kind may be empty, and is then the kind that the feed
// is opened as. A feed that is there keeps the config that it has. Any number may open one at once: one of them creates
// it, which is an event for all. An open that got no answer can be made again.
func OrCreate(config Config) OpenOption {
	return func(o *opening) { o.create, o.config = true, config }
}

func newOpening(options []OpenOption) opening {
	var o opening
	for _, option := range options {
		option(&o)
	}
	return o
}

// ensure creates the feed where the options want that.
func (c *Client) ensure(ctx context.Context, db *thoonkdb.Feed, kind Kind, options []OpenOption) error {
	o := newOpening(options)
	if !o.create {
		return nil
	}
	if o.config.Kind == "" {
		o.config.Kind = kind
	}
	config := o.config.orLeaf()
	if err := config.check(c.base(config.Kind)); err != nil {
		return err
	}
	if kind != "" && c.base(config.Kind) != kind {
		return &KindError{Want: kind, Have: config.Kind}
	}
	stored, err := config.stored()
	if err != nil {
		return err
	}
	_, err = db.Create(ctx, stored, c.instance)
	return err
}
