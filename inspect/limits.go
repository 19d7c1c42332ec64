package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
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
	if i.unusable != nil {
		return nil, i.unusable
	}
	rules, err := i.store.Rules(ctx)
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
	counted, err := i.store.Counted(ctx, names)
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
	return i.changeRules(ctx, []string{name}, "the limit of job %s was not set: %w", func(rule *rdb.Rule) {
		rule.Operator, rule.Limit = true, spec.Stored()
	})
}

// ResetLimit takes back what SetLimit has set: what the code declares is in force again, or nothing. Without a limit
// that was set by hand it does nothing.
func (i *Inspector) ResetLimit(ctx context.Context, name string) error {
	return i.changeRules(ctx, []string{name}, "the limit of job %s was not reset: %w", func(rule *rdb.Rule) {
		rule.Operator, rule.Limit = false, rule.Code
	})
}

func (i *Inspector) changeRules(ctx context.Context, names []string, failure string, change func(*rdb.Rule)) error {
	if i.unusable != nil {
		return i.unusable
	}
	fail := func(name string, err error) error { return fmt.Errorf(failure, excerpt.Brief(name), err) }
	for _, name := range names {
		if err := inside.AsInvalid(invalid.JobName(name)); err != nil {
			return fail(name, err)
		}
	}
	c := limit.Change{Store: i.store, Apply: func(_ string, rule *rdb.Rule) { change(rule) }, Failure: fail}
	return c.Run(ctx, names)
}

// PauseQueue keeps the jobs of these names from beginning, in all workers, until [Inspector.ResumeQueue]; what runs
// goes on, and enqueueing too. To pause again does nothing. The names need not be known yet.
func (i *Inspector) PauseQueue(ctx context.Context, names ...string) error {
	return i.setPaused(ctx, names, "queue %s was not paused: %w", true)
}

// ResumeQueue lets jobs of these names begin again, at once. To resume what is not paused does nothing.
func (i *Inspector) ResumeQueue(ctx context.Context, names ...string) error {
	return i.setPaused(ctx, names, "queue %s was not resumed: %w", false)
}

func (i *Inspector) setPaused(ctx context.Context, names []string, failure string, paused bool) error {
	return i.changeRules(ctx, names, failure, func(rule *rdb.Rule) { rule.Paused = paused })
}

// PauseAll keeps all jobs of the namespace from beginning, until [Inspector.ResumeAll]. Queues that are paused one by
// one stay so after that.
func (i *Inspector) PauseAll(ctx context.Context) error {
	if i.unusable != nil {
		return i.unusable
	}
	if err := limit.One(ctx, i.store, rdb.Everything, func(rule *rdb.Rule) { rule.Paused = true }); err != nil {
		return fmt.Errorf("the queues were not paused: %w", err)
	}
	return nil
}

// ResumeAll ends what PauseAll began, and calls the workers to all queues with jobs.
func (i *Inspector) ResumeAll(ctx context.Context) error {
	if i.unusable != nil {
		return i.unusable
	}
	err := limit.One(ctx, i.store, rdb.Everything, func(rule *rdb.Rule) { *rule = rdb.Rule{} })
	if err != nil {
		return fmt.Errorf("the queues were not resumed: %w", err)
	}
	ready, err := i.store.Members(ctx, "ready")
	if err == nil {
		err = i.store.Wake(ctx, ready)
	}
	if err != nil {
		return fmt.Errorf("the queues were resumed, but workers that sleep may need a second to see it: %w", err)
	}
	return nil
}

// Paused returns the names that are paused, in order, and whether all are by PauseAll.
func (i *Inspector) Paused(ctx context.Context) (names []string, all bool, err error) {
	if i.unusable != nil {
		return nil, false, i.unusable
	}
	rules, err := i.store.Rules(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("the rules of the queues cannot be read: %w", err)
	}
	for name, text := range rules {
		switch rule, err := rdb.ParseRule(text); {
		case name == rdb.Everything:
			all = true
		case err == nil && rule.Paused:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, all, nil
}

// The times between two looks of a PauseAndWait.
const (
	firstLook = 5 * time.Millisecond
	slowLook  = 250 * time.Millisecond
)

// PauseAndWait pauses these names and waits until no worker holds a job of any. When ctx ends first it says so, and
// they stay paused.
func (i *Inspector) PauseAndWait(ctx context.Context, names ...string) error {
	if err := i.PauseQueue(ctx, names...); err != nil {
		return err
	}
	for wait := firstLook; ; wait = min(2*wait, slowLook) {
		held, err := i.store.InHand(ctx, names)
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("the queues are paused, but what runs cannot be counted: %w", err)
		case err == nil && held == 0:
			return nil
		}
		backoff.Pause(ctx, wait)
		if ctx.Err() != nil {
			return fmt.Errorf("the queues are paused, and jobs of them still run: %w",
				excerpt.Error(context.Cause(ctx)))
		}
	}
}
