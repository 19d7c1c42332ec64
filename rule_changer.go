package work

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// ruleChanger changes the rules of queues, however many there are, in a few round trips: it reads all, changes all,
// counts what runs of those that need it, and puts these into force. Whoever dies in between leaves each rule as it
// was, or as it is wanted, or with a filling, which the janitor ends.
type ruleChanger struct {
	store   *rdb.Store
	change  func(name string, rule *rdb.Rule)
	changed func(name string, before rdb.Rule) // may be nil
	// what is said of a queue whose rule could not be changed; nil: it does not matter
	failure func(name string, err error) error

	failed   excerpt.Errors
	fillings map[string]string // by name: those that have to be counted
}

// changeRule changes the rule of one queue. A limit on what runs is in force once what runs is counted.
func changeRule(ctx context.Context, store *rdb.Store, name string, change func(*rdb.Rule)) error {
	c := ruleChanger{store: store, change: func(_ string, rule *rdb.Rule) { change(rule) },
		failure: func(_ string, err error) error { return err }}
	return c.run(ctx, []string{name})
}

// run changes the rules of these queues, again those that were changed by others meanwhile. What fails for one queue
// keeps none of the others.
func (c *ruleChanger) run(ctx context.Context, names []string) error {
	c.fillings = map[string]string{}
	for range backoff.Rereads(ctx) {
		left, err := c.round(ctx, names)
		if err != nil {
			return c.unsure(names, err)
		}
		if names = left; len(names) == 0 {
			break
		}
	}
	for _, name := range names {
		c.fail(name, errRuleContended)
	}
	refused, err := fillRules(ctx, c.store, c.fillings)
	for name, err := range refused {
		c.fail(name, err)
	}
	if err != nil {
		c.failed = append(c.failed, err)
	}
	return excerpt.Join(c.failed...)
}

// unsure is what is said when the connection is lost: any of these rules may have been changed.
func (c *ruleChanger) unsure(names []string, err error) error {
	err = c.failure(names[0], err)
	if len(names) > 1 {
		err = fmt.Errorf("%w (and so for %s more)", err, excerpt.Count(len(names)-1))
	}
	return err
}

// round returns the names whose rules were changed by others meanwhile.
func (c *ruleChanger) round(ctx context.Context, names []string) (left []string, err error) {
	texts, err := c.store.RulesOf(ctx, names)
	if err != nil {
		return nil, err
	}
	var changes []rdb.RuleChange
	befores := make([]rdb.Rule, 0, len(names))
	for i, name := range names {
		before, err := rdb.ParseRule(texts[i])
		if err != nil {
			c.fail(name, err)
			continue
		}
		after := c.wanted(name, before)
		if after.Filling != "" {
			c.fillings[name] = after.Filling
		}
		if after.Text() == texts[i] {
			c.tell(name, before)
			continue
		}
		changes = append(changes, rdb.RuleChange{Name: name, Before: texts[i], After: after.Text(),
			Anew: after.Filling != before.Filling && after.Filling != ""})
		befores = append(befores, before)
	}
	answers, err := c.store.SetRules(ctx, changes)
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		switch name := changes[i].Name; {
		case answer.Err != nil:
			delete(c.fillings, name)
			c.fail(name, answer.Err)
		case !answer.Done:
			delete(c.fillings, name)
			left = append(left, name)
		default:
			c.tell(name, befores[i])
		}
	}
	return left, nil
}

func (c *ruleChanger) fail(name string, err error) {
	if err := c.failure(name, err); err != nil {
		c.failed = append(c.failed, err)
	}
}

func (c *ruleChanger) tell(name string, before rdb.Rule) {
	if c.changed != nil {
		c.changed(name, before)
	}
}

// wanted is the rule as it should be: with a filling where what runs has to be counted.
func (c *ruleChanger) wanted(name string, before rdb.Rule) rdb.Rule {
	after := before
	c.change(name, &after)
	switch {
	case after.Concurrent == 0:
		after.Filling = ""
	case before.Concurrent == 0:
		after.Filling = randomHex(8)
	}
	return after
}

var errRuleContended = fmt.Errorf("its rule was changed by others %d times in a row: try again", backoff.MaxRereads)

// fillRules counts what runs of queues, and puts their limits into force. Several may do so at once: each counts all
// there is. fillings are by name; it returns what has failed for one queue by its name, and what has failed for all.
func fillRules(ctx context.Context, store *rdb.Store, fillings map[string]string) (failed map[string]error, err error) {
	names := slices.Sorted(maps.Keys(fillings))
	if len(names) == 0 {
		return nil, nil
	}
	if err := store.Fill(ctx, names...); err != nil {
		return nil, fmt.Errorf("what runs of %s could not be counted, so that none begins until it is, by the janitor of "+
			""+
			""+
			""+
			""+
			""+
			"a worker: %w",
			excerpt.Names(names), err)
	}
	failed = map[string]error{}
	for range backoff.Rereads(ctx) {
		if names, err = filled(ctx, store, names, fillings, failed); err != nil || len(names) == 0 {
			return failed, err
		}
	}
	for _, name := range names {
		failed[name] = errRuleContended
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
