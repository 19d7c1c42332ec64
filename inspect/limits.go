package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/resize"
)

// LimitInfo is what restrains the jobs of one name.
type LimitInfo struct {
	Name   string     `json:"name"`
	Paused bool       `json:"paused"`
	Limit  work.Limit `json:"limit"` // in force; one that was just set, as soon as what runs is counted
	// somebody has set Limit by hand: what the code declares does not count until ResetLimit
	Operator bool `json:"operator"`

	Service  string     `json:"service,omitzero"`  // whose code declares a limit; "" where none does
	Declared work.Limit `json:"declared,omitzero"` // by the code
	// jobs that count towards the limit: claimed by any worker, whether their handlers run or not
	Running int `json:"running"`
	// why this version cannot understand the rule; then only Name is sure, and none of its jobs begin
	Problem error `json:"-"`
}

// MarshalJSON writes Problem as a text, "problem", where there is one.
func (l LimitInfo) MarshalJSON() ([]byte, error) {
	type plain LimitInfo
	problem := ""
	if l.Problem != nil {
		problem = l.Problem.Error()
	}
	return json.Marshal(struct {
		plain
		Problem string `json:"problem,omitzero"`
	}{plain(l), problem})
}

// Limits returns what restrains names, by name: a limit, a pause, or both. A pause of all queues is not among them, see
// [Inspector.Paused].
func (i *Inspector) Limits(ctx context.Context) ([]LimitInfo, error) {
	return readAll(ctx, i.served(ctx), (*view).limits, addLimits)
}

// addLimits adds what other partitions know of names. One that is limited has its limit in one of them; paused it is in
// all.
func addLimits(all *[]LimitInfo, ones []LimitInfo) {
	addByName(all, ones, func(l *LimitInfo) string { return l.Name }, (*LimitInfo).add)
}

func (l *LimitInfo) add(one *LimitInfo) {
	running, paused := l.Running+one.Running, l.Paused || one.Paused
	if l.bare() && !one.bare() {
		*l = *one
	}
	l.Running, l.Paused = running, paused
}

// bare tells whether there is nothing but a pause.
func (l *LimitInfo) bare() bool {
	return l.Limit == work.Limit{} && !l.Operator && l.Service == "" && l.Problem == nil
}

func (v *view) limits(ctx context.Context) ([]LimitInfo, error) {
	rules, err := v.store.Rules(ctx)
	if err != nil {
		return nil, fmt.Errorf("the limits cannot be read: %w", err)
	}
	delete(rules, rdb.Everything)
	infos := make([]LimitInfo, 0, len(rules))
	names := make([]string, 0, len(rules))
	for name, text := range rules {
		infos = append(infos, limitInfo(name, text))
	}
	slices.SortFunc(infos, func(a, b LimitInfo) int { return strings.Compare(a.Name, b.Name) })
	for _, info := range infos {
		names = append(names, info.Name)
	}
	counted, err := v.store.Counted(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("what runs cannot be counted: %w", err)
	}
	for n := range infos {
		infos[n].Running = counted[n]
	}
	return infos, nil
}

func limitInfo(name, text string) LimitInfo {
	rule, err := rdb.ParseRule(text)
	return LimitInfo{
		Name: name, Paused: rule.Paused, Limit: work.Limit(limit.SpecOf(rule.Limit)), Operator: rule.Operator,
		Service:  rule.Service,
		Declared: work.Limit(limit.SpecOf(rule.Code)), Problem: err,
	}
}

// SetLimit limits the jobs of a name by hand, over all workers, at once and until [Inspector.ResetLimit], whatever the
// code declares meanwhile; the zero Limit lifts every limit. Jobs that run go on: with fewer allowed than run, none
// begins until enough have ended. A limit that cannot be is refused with a *[work.LimitError]. When it returns the
// limit is in force; after an error it may be, or no job of the name begins until the janitor of a worker has finished
// it, within about 5 s.
func (i *Inspector) SetLimit(ctx context.Context, name string, wanted work.Limit) error {
	spec := limit.Spec(wanted)
	if why := spec.Mistake(); why != "" {
		return &work.LimitError{Name: name, Limit: wanted, Why: why}
	}
	const failure = "the limit of job %s was not set: %w"
	if i.unusable == nil {
		if err := i.ownQueue(ctx, name); err != nil {
			return fmt.Errorf(failure, excerpt.Brief(name), err)
		}
	}
	return i.changeLimit(ctx, limitChange{name: name, failure: failure, binds: true,
		apply: func(rule *rdb.Rule) { rule.Operator, rule.Limit = true, spec.Stored() }})
}

// ResetLimit takes back what SetLimit has set: what the code declares is in force again, or nothing. Without a limit
// that was set by hand it does nothing.
func (i *Inspector) ResetLimit(ctx context.Context, name string) error {
	return i.changeLimit(ctx, limitChange{name: name, failure: "the limit of job %s was not reset: %w",
		apply: func(rule *rdb.Rule) { rule.Operator, rule.Limit = false, rule.Code }})
}

// limitChange is a change of the limit of a name.
type limitChange struct {
	name    string
	failure string // what is said where it could not be done: of the name and the error
	apply   func(*rdb.Rule)
	binds   bool // the jobs of the name are to be in one partition from now on
}

// changeLimit changes a limit where the jobs of the name are.
func (i *Inspector) changeLimit(ctx context.Context, c limitChange) error {
	if i.unusable != nil {
		return i.unusable
	}
	fail := func(err error) error { return fmt.Errorf(c.failure, excerpt.Brief(c.name), err) }
	if err := inside.AsInvalid(invalid.JobName(c.name)); err != nil {
		return fail(err)
	}
	return i.routed(ctx, func() error {
		v, err := i.limitHome(ctx, c)
		switch {
		case err != nil:
			return fail(err)
		case v == nil:
			return nil
		}
		change := limit.Change{Store: v.store, Apply: func(_ string, rule *rdb.Rule) { c.apply(rule) },
			Failure: func(_ string, err error) error { return fail(err) }}
		return change.Run(ctx, []string{c.name})
	})
}

// limitHome is the partition of a limited name, or of one that becomes so now. It is nil where there is no limit and
// none is wanted.
func (i *Inspector) limitHome(ctx context.Context, c limitChange) (*view, error) {
	of := i.served(ctx)
	if of.single() {
		return of.views[0], nil
	}
	home := i.partitions.Map().Home(partition.Job{Name: c.name})
	if (!home.Bound || home.Moving) && c.binds {
		if err := resize.Bind(ctx, i.partitions, c.name); err != nil {
			return nil, err
		}
		home = i.partitions.Map().Home(partition.Job{Name: c.name})
	}
	if !home.Bound { // unless it is by a newer map: nobody refuses who asks nobody
		if err := i.partitions.Refresh(ctx); err != nil {
			return nil, err
		}
		if home = i.partitions.Map().Home(partition.Job{Name: c.name}); !home.Bound {
			return nil, nil
		}
	}
	return i.view(home.Partition), nil
}
