// Package limit changes what restrains queues, as it stands in Redis: limits, rates and pauses. A pool declares here
// what its code says, an inspector sets what an operator says, and the janitor puts right what either has left half
// done. It runs no jobs and watches no queue: package subscription does.
package limit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
)

// Change changes the rules of queues, however many there are, in a few round trips: it reads all, changes all, counts
// what runs of those that need it, and puts these into force. Whoever dies in between leaves each rule as it was, or as
// it is wanted, or half filled, which the janitor completes.
type Change struct {
	Store *rdb.Store
	// Apply changes the rule of a queue. It may be called again for one that others have changed meanwhile.
	Apply func(name string, rule *rdb.Rule)
	// Changed is told what a rule was before; it may be nil.
	Changed func(name string, before rdb.Rule)
	// Failure is the error of a queue whose rule could not be changed; nil where that does not matter.
	Failure func(name string, err error) error
}

// One changes the rule of one queue. A limit on what runs is in force once what runs is counted.
func One(ctx context.Context, store *rdb.Store, name string, apply func(*rdb.Rule)) error {
	c := Change{Store: store, Apply: func(_ string, rule *rdb.Rule) { apply(rule) },
		Failure: func(_ string, err error) error { return err }}
	return c.Run(ctx, []string{name})
}

// Run changes the rules of these queues, again those that were changed by others meanwhile. What fails for one queue
// keeps none of the others.
func (c *Change) Run(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	r, all := changing{Change: c, fillings: map[string]string{}}, names
	for range backoff.Rereads(ctx) {
		left, err := r.round(ctx, names)
		if err != nil {
			return unsure(names, err, r.Failure)
		}
		if names = left; len(names) == 0 {
			break
		}
	}
	for _, name := range names {
		r.fail(name, errContended)
	}
	refused, err := fill(ctx, c.Store, r.fillings)
	for name, err := range refused {
		r.fail(name, err)
	}
	if err != nil {
		r.failed = append(r.failed, err)
	}
	if r.changed {
		c.Store.WakeParts(ctx, all...)
	}
	return excerpt.Join(r.failed...)
}

var errContended = fmt.Errorf("its rule was changed by others %d times in a row: try again", backoff.MaxRereads)

// changing is one run of a Change.
type changing struct {
	*Change
	failed   excerpt.Errors
	changed  bool              // some rules were
	fillings map[string]string // by name: those that have to be counted
}

// unsure is what is said when the connection is lost: any of these rules may have been changed.
func unsure(names []string, err error, failure func(name string, err error) error) error {
	err = failure(names[0], err)
	if len(names) > 1 {
		err = fmt.Errorf("%w (and so for %s more)", err, excerpt.Count(len(names)-1))
	}
	return err
}

// round returns the names whose rules were changed by others meanwhile.
func (r *changing) round(ctx context.Context, names []string) (left []string, err error) {
	texts, err := r.Store.RulesOf(ctx, names)
	if err != nil {
		return nil, err
	}
	var changes []rdb.RuleChange
	befores := make([]rdb.Rule, 0, len(names))
	for i, name := range names {
		before, err := rdb.ParseRule(texts[i])
		if err != nil {
			r.fail(name, err)
			continue
		}
		after := r.wanted(name, before)
		if after.Filling != "" {
			r.fillings[name] = after.Filling
		}
		if after.Text() == texts[i] {
			r.tell(name, before)
			continue
		}
		changes = append(changes, rdb.RuleChange{Name: name, Before: texts[i], After: after.Text(),
			Anew: after.Filling != before.Filling && after.Filling != ""})
		befores = append(befores, before)
	}
	answers, err := r.Store.SetRules(ctx, changes)
	if err != nil {
		return nil, err
	}
	r.changed = r.changed || len(changes) > 0
	for i, answer := range answers {
		switch name := changes[i].Name; {
		case answer.Err != nil:
			delete(r.fillings, name)
			r.fail(name, answer.Err)
		case !answer.Done:
			delete(r.fillings, name)
			left = append(left, name)
		default:
			r.tell(name, befores[i])
		}
	}
	return left, nil
}

func (r *changing) fail(name string, err error) {
	if err := r.Failure(name, err); err != nil {
		r.failed = append(r.failed, err)
	}
}

func (r *changing) tell(name string, before rdb.Rule) {
	if r.Changed != nil {
		r.Changed(name, before)
	}
}

// wanted is the rule as it should be: with a filling where what runs has to be counted.
func (r *changing) wanted(name string, before rdb.Rule) rdb.Rule {
	after := before
	r.Apply(name, &after)
	switch {
	case after.Concurrent == 0:
		after.Filling = ""
	case before.Concurrent == 0:
		after.Filling = ids.Random(8)
	}
	return after
}

// fill counts what runs of queues, and puts their limits into force. Several may do so at once: each counts all there
// is. fillings are by name; it returns what has failed for one queue by its name, and what has failed for all.
func fill(ctx context.Context, store *rdb.Store, fillings map[string]string) (failed map[string]error, err error) {
	names := slices.Sorted(maps.Keys(fillings))
	if len(names) == 0 {
		return nil, nil
	}
	if err := store.Fill(ctx, names...); err != nil {
		return nil, fmt.Errorf("what runs of %s could not be counted, so that none begins until it is, by the janitor "+
			"of a worker: %w", excerpt.Names(names), err)
	}
	failed = map[string]error{}
	for range backoff.Rereads(ctx) {
		if names, err = filled(ctx, store, names, fillings, failed); err != nil || len(names) == 0 {
			return failed, err
		}
	}
	for _, name := range names {
		failed[name] = errContended
	}
	return failed, nil
}

// filled takes the fillings out of rules. It returns the names that are left: those whose rules were changed meanwhile,
// or all after an error.
func filled(ctx context.Context, store *rdb.Store, names []string, fillings map[string]string,
	failed map[string]error) ([]string, error) {
	texts, err := store.RulesOf(ctx, names)
	if err != nil {
		return names, err
	}
	var changes []rdb.RuleChange
	for i, name := range names {
		rule, err := rdb.ParseRule(texts[i])
		if err != nil {
			failed[name] = err
		}
		if err != nil || rule.Filling != fillings[name] { // somebody else was faster, or has set another limit
			continue
		}
		rule.Filling = ""
		changes = append(changes, rdb.RuleChange{Name: name, Before: texts[i], After: rule.Text()})
	}
	answers, err := store.SetRules(ctx, changes)
	if err != nil {
		return names, err
	}
	var left []string
	for i, answer := range answers {
		switch {
		case answer.Err != nil:
			failed[changes[i].Name] = answer.Err
		case !answer.Done:
			left = append(left, changes[i].Name)
		}
	}
	return left, nil
}
