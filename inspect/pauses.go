package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
)

// PauseQueue keeps the jobs of these names from beginning, in all workers, until [Inspector.ResumeQueue]; what runs
// goes on, and enqueueing too. To pause again does nothing. The names need not be known yet. Where only some partitions
// could be asked they are paused in these, and the [*PartialError] says so: the others are told when they are back, if
// it is Later, and unless something newer was said meanwhile.
func (i *Inspector) PauseQueue(ctx context.Context, names ...string) error {
	return i.setPaused(ctx, names, "queue %s was not paused: %w", true)
}

// ResumeQueue lets jobs of these names begin again, at once. To resume what is not paused does nothing. It is as
// PauseQueue where some partitions could not be asked.
func (i *Inspector) ResumeQueue(ctx context.Context, names ...string) error {
	return i.setPaused(ctx, names, "queue %s was not resumed: %w", false)
}

func (i *Inspector) setPaused(ctx context.Context, names []string, failure string, paused bool) error {
	if i.unusable != nil {
		return i.unusable
	}
	fail := func(name string, err error) error { return fmt.Errorf(failure, excerpt.Brief(name), err) }
	for _, name := range names {
		if err := inside.AsInvalid(invalid.JobName(name)); err != nil {
			return fail(name, err)
		}
	}
	if err := i.ownQueue(ctx, names...); paused && err != nil {
		return fail(names[0], err)
	}
	return i.say(ctx, saying{names: names, paused: paused, fail: fail})
}

// PauseAll keeps all jobs of the namespace from beginning, until [Inspector.ResumeAll]. Queues that are paused one by
// one stay so after that. It is as [Inspector.PauseQueue] where some partitions could not be asked.
func (i *Inspector) PauseAll(ctx context.Context) error {
	return i.say(ctx, saying{names: []string{rdb.Everything}, paused: true, fail: func(_ string, err error) error {
		return fmt.Errorf("the queues were not paused: %w", err)
	}})
}

// ResumeAll ends what PauseAll began, and calls the workers to all queues with jobs. It is as [Inspector.PauseQueue]
// where some partitions could not be asked.
func (i *Inspector) ResumeAll(ctx context.Context) error {
	return i.say(ctx, saying{names: []string{rdb.Everything}, fail: func(_ string, err error) error {
		return fmt.Errorf("the queues were not resumed: %w", err)
	}})
}

// saying is a control of queues that is said in all partitions.
type saying struct {
	names  []string
	paused bool
	fail   func(name string, err error) error
}

// say says it, under one version in all partitions, and notes it in those that it has reached for those that it has
// not. By the newest map: else a partition that is just being added would not hear of it.
func (i *Inspector) say(ctx context.Context, s saying) error {
	if len(s.names) == 0 {
		return nil
	}
	return i.routed(ctx, func() error {
		of := i.served(ctx)
		if of.err != nil {
			return of.err
		}
		asked := askInTime(ctx, of.views, func(v *view, ctx context.Context) (int64, error) {
			next, err := v.store.NextVersion(ctx, s.names)
			if err != nil {
				err = s.fail(s.names[0], err)
			}
			return next, err
		})
		pauses := s.pauses(highest(asked))
		said := askInTime(ctx, of.views, func(v *view, ctx context.Context) (struct{}, error) {
			if n := slices.Index(of.views, v); asked[n].err != nil {
				return struct{}{}, asked[n].err // to wait for it once is enough
			}
			return struct{}{}, limit.Say(ctx, v.store, pauses, s.fail)
		})
		err := failure(said)
		if of.single() {
			err = said[0].err
		}
		return leaveHints(ctx, said, pauses, err)
	})
}

// pauses are what is said, under a version.
func (s *saying) pauses(version int64) []rdb.Pause {
	pauses := make([]rdb.Pause, len(s.names))
	for n, name := range s.names {
		pauses[n] = rdb.Pause{Name: name, Version: version, Paused: s.paused}
	}
	return pauses
}

// highest is a version that is newer than what all have that have answered.
func highest(asked []answer[int64]) (version int64) {
	for _, a := range asked {
		version = max(version, a.value)
	}
	return version
}

// leaveHints has those that have heard a control tell it to those that have not, when they are back. Where a rule
// cannot be read that would not help.
func leaveHints(ctx context.Context, said []answer[struct{}], pauses []rdb.Pause, err error) error {
	var partial *PartialError
	var elsewhere *rdb.RouteError
	if !errors.As(err, &partial) || errors.As(err, &elsewhere) {
		return err
	}
	var hints []rdb.Hint
	for _, missing := range partial.Missing {
		for _, p := range pauses {
			hints = append(hints, rdb.Hint{Partition: missing.Partition, Pause: p})
		}
	}
	var reached []*view
	for _, a := range said {
		if a.err == nil {
			reached = append(reached, a.from)
		}
	}
	noted := askInTime(ctx, reached, func(v *view, ctx context.Context) (struct{}, error) {
		return struct{}{}, v.store.AddHints(ctx, hints)
	})
	var unreadable *rdb.RuleError
	partial.Later = len(missingOf(noted)) < len(noted) && !errors.As(err, &unreadable)
	return err
}

// Paused returns the names that are paused, in order, and whether all are by PauseAll; with
// partitions what is paused in any of them.
func (i *Inspector) Paused(ctx context.Context) (names []string, all bool, err error) {
	p, err := readAll(ctx, i.served(ctx), (*view).paused, func(sum *pauses, one pauses) {
		sum.all = sum.all || one.all
		sum.names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(sum.names, one.names))))
	})
	return p.names, p.all, err
}

// pauses are what is paused.
type pauses struct {
	names []string
	all   bool
}

func (v *view) paused(ctx context.Context) (pauses, error) {
	rules, err := v.store.Rules(ctx)
	if err != nil {
		return pauses{}, fmt.Errorf("the rules of the queues cannot be read: %w", err)
	}
	var p pauses
	for name, text := range rules {
		switch rule, err := rdb.ParseRule(text); {
		case name == rdb.Everything:
			p.all = true
		case err == nil && rule.Paused:
			p.names = append(p.names, name)
		}
	}
	slices.Sort(p.names)
	return p, nil
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
		held, err := i.inHand(ctx, names)
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

// inHand is how many jobs of these names workers hold, in all partitions.
func (i *Inspector) inHand(ctx context.Context, names []string) (int, error) {
	return gather(ctx, i.served(ctx), func(v *view, ctx context.Context) (int, error) {
		return v.store.InHand(ctx, names)
	}, func(sum *int, one int) { *sum += one })
}
