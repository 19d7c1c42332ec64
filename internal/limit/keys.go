package limit

import (
	"context"
	"fmt"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// KeyRule changes what restrains keys of a queue: all of them, or one. Jobs that may begin by the new rule are found a
// place; of those that hold one none ends for it. apply may be called again where others change the rule meanwhile.
func KeyRule(ctx context.Context, store *rdb.Store, of rdb.KeyRuleOf, apply func(*rdb.KeyRule)) error {
	for range backoff.Rereads(ctx) {
		texts, err := store.KeyRulesOf(ctx, []rdb.KeyRuleOf{of})
		if err != nil {
			return err
		}
		if done, err := changeKeyRule(ctx, store, of, texts[0], apply); err != nil || done {
			return err
		}
	}
	return errContended
}

// changeKeyRule changes a rule that was read. It returns false where that is another one by now.
func changeKeyRule(ctx context.Context, store *rdb.Store, of rdb.KeyRuleOf, text string,
	apply func(*rdb.KeyRule)) (bool, error) {
	before, err := rdb.ParseKeyRule(text)
	if err != nil {
		return false, err
	}
	after := before
	apply(&after)
	if after == before && before == (rdb.KeyRule{}) {
		return true, nil
	}
	if after == before { // whoever changed it may have died before all had their places
		return true, store.GrantParked(ctx, of.Queue, of.Key)
	}
	after.Revision = before.Revision + 1
	done, err := store.SetKeyRule(ctx, of, text, after.Text())
	if err != nil || !done {
		return false, err
	}
	return true, store.GrantParked(ctx, of.Queue, of.Key)
}

// declareKeys makes the rules of keys of these queues those that the code says, in one look where nothing is to be
// changed. As with limits the later start wins, and a service that declares none takes away what it has declared.
func (d *Declaration) declareKeys(ctx context.Context, names []string) error {
	if d.Keys == nil || len(names) == 0 {
		return nil
	}
	of := make([]rdb.KeyRuleOf, len(names))
	for i, name := range names {
		of[i].Queue = name
	}
	texts, err := d.Store.KeyRulesOf(ctx, of)
	if err != nil {
		return fmt.Errorf("the limits of keys of %s cannot be read: %w", excerpt.Names(names), err)
	}
	var failed excerpt.Errors
	for i, name := range names {
		apply := func(rule *rdb.KeyRule) { d.applyKeys(name, rule) }
		done, err := changeKeyRule(ctx, d.Store, of[i], texts[i], apply)
		if err == nil && !done {
			err = KeyRule(ctx, d.Store, of[i], apply)
		}
		if err != nil {
			failed = append(failed,
				fmt.Errorf("the limit of keys of job %s cannot be declared: %w", excerpt.Brief(name), err))
		}
	}
	return excerpt.Join(failed...)
}

func (d *Declaration) applyKeys(name string, rule *rdb.KeyRule) {
	wanted := d.Keys(name)
	switch {
	case d.Missing && rule.Service != "":
	case wanted != rdb.KeyRule{}:
		wanted.Service, wanted.Revision = d.Service, rule.Revision
		*rule = wanted
	case rule.Service == d.Service:
		*rule = rdb.KeyRule{}
	}
}
