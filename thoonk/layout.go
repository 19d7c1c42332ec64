package thoonk

import (
	"context"
	"errors"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// described is the config of a feed, with its form.
func described(l thoonkdb.Layout) (Config, error) {
	config, err := parseConfig(l.Config)
	switch {
	case l.Hash:
		config.Form = FormHash
	case l.Released:
		config.Form = FormSorted
	}
	if config.Kind == KindLeaf && config.Form == FormSorted {
		config.Kind = traced(l)
	}
	return config, err
}

// traced is the kind of a feed of thoonk.js 0.2, which calls each new one a leaf, whatever it is. It has the right word
// once it was opened a second time.
func traced(l thoonkdb.Layout) Kind {
	switch {
	case l.Sorted:
		return KindSorted
	case l.Job:
		return KindJob
	}
	return KindLeaf // or a queue, or a leaf of the contract's form in which it cannot publish
}

// reformed is the config in the form of the one that is stored.
func (c Config) reformed(l thoonkdb.Layout) (thoonkdb.NewConfig, error) {
	given := c.Form
	if given != FormContract && (given == FormHash) != l.Hash {
		return thoonkdb.NewConfig{}, errForm
	}
	if c.Form = FormContract; l.Hash {
		c.Form = FormHash
	}
	stored, err := c.stored()
	stored.Released = given == FormSorted && (!l.Released || l.Items == "list" && c.Kind == KindLeaf)
	return stored, err
}

// adopt gives a feed that calls itself a leaf the kind as which it is opened, if its keys show that it has that kind.
func adopt(ctx context.Context, db *thoonkdb.Feed, base Kind, instance string) error {
	layout, err := db.Layout(ctx)
	if err != nil {
		return err
	}
	config, err := described(layout)
	if err != nil {
		return err
	}
	list := config.Kind == KindLeaf && config.Form == FormSorted && layout.Items == "list"
	if list && (base == KindQueue || base == KindJob) {
		config.Kind = base // of either the ids are a list, and nothing else may be there
	}
	if config.Kind != base {
		return &KindError{Want: base, Have: config.Kind}
	}
	stored, err := config.stored()
	if err != nil {
		return err
	}
	err = db.Configure(ctx, layout.Config, thoonkdb.NewConfig{Content: stored.Content}, instance)
	if errors.Is(err, thoonkdb.ErrStale) {
		err = nil // another one did
	}
	return err
}
