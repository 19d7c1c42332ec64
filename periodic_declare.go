package work

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/rdb"
)

// schedule makes the schedules in Redis those that the pool declares. Its workers are registered; the first one goes on
// where others still declare what is no longer wanted.
func (p *WorkerPool) schedule(ctx context.Context, first *worker) error {
	if err := p.declare(ctx); err != nil {
		return err
	}
	pending, err := p.withdraw(ctx)
	first.daemons.periodic.startWith(pending || err != nil) // what fails here is tried again, and told there
	return nil
}

// declare stores the schedules of the pool. Its workers are registered by then, and tell in Redis what they declare, so
// that nobody takes the schedules for abandoned.
func (p *WorkerPool) declare(ctx context.Context) error {
	for _, one := range p.periodics {
		if err := p.declareOne(ctx, one); err != nil {
			return fmt.Errorf("%s: %w", one.called(), err)
		}
	}
	return nil
}

// declareOne stores one schedule. Where another process has declared the same id otherwise, the later one wins, and an
// event tells so. A pause stays.
func (p *WorkerPool) declareOne(ctx context.Context, one periodic) error {
	return redefine(ctx, p.store, one.id, func(stored rdb.Schedule) (change, error) {
		wanted := one.definition
		wanted.Service = p.service()
		var before definition
		if stored.Definition == nil || json.Unmarshal(stored.Definition, &before) != nil {
			return change{definition: wanted.text(), anew: true}, nil
		}
		wanted.Paused = before.Paused
		if bytes.Equal(wanted.text(), stored.Definition) {
			return change{definition: stored.Definition}, nil
		}
		if err := p.mayTake(ctx, one.id, before.Service); err != nil {
			return change{}, err
		}
		return change{definition: wanted.text(), anew: !before.sameTicks(wanted), done: func() {
			p.events.emit(PeriodicChanged{
				Schedule: one.id, Spec: wanted.Spec, Service: wanted.Service, FormerSpec: before.Spec, FormerService: before.Service,
			})
		}}, nil
	})
}

// change is what becomes of a schedule.
type change struct {
	definition []byte // nil removes it
	anew       bool   // its ticks begin now
	done       func() // may be nil
}

// redefine reads a schedule and changes it, again if it was changed meanwhile.
func redefine(ctx context.Context, store *rdb.Store, id string, decide func(rdb.Schedule) (change, error)) error {
	for range rereads(ctx) {
		stored, err := store.ScheduleOf(ctx, id)
		if err != nil {
			return err
		}
		wanted, err := decide(stored)
		if err != nil {
			return err
		}
		if bytes.Equal(wanted.definition, stored.Definition) {
			return nil
		}
		changed, err := store.Define(ctx, id, stored.Definition, wanted.definition, wanted.anew)
		if err != nil {
			return err
		}
		if changed {
			if wanted.done != nil {
				wanted.done()
			}
			return nil
		}
	}
	return fmt.Errorf("it was changed by others %d times in a row: try again", maxRereads)
}

// mayTake refuses a schedule that belongs to another service, while one of its workers declares it. Services that were not
// given a name may take from each other: theirs changes with the names that they serve.
func (p *WorkerPool) mayTake(ctx context.Context, id, owner string) error {
	if owner == "" || owner == p.service() || strings.HasPrefix(owner, defaultService) {
		return nil
	}
	declared, err := p.store.Declarations(ctx)
	if err != nil {
		return err
	}
	for _, by := range declared {
		if by.Service == owner && slices.Contains(by.Schedules, id) {
			return &InvalidError{
				What: "its id", Value: fmt.Sprintf("that of a schedule of service %s, which runs", quoted(owner)),
				Remedy: "give it another ID, or both the same WorkerOptions.Service",
			}
		}
	}
	return nil
}

// withdraw removes the schedules of this pool's service that neither it nor another registered worker declares. It answers
// true if there are some that others still declare: they may be from before a deployment.
func (p *WorkerPool) withdraw(ctx context.Context) (pending bool, err error) {
	all, _, err := p.store.Schedules(ctx)
	if err != nil {
		return true, err
	}
	all = slices.DeleteFunc(all, p.keeps)
	if len(all) == 0 {
		return false, nil
	}
	declared, err := p.store.Declarations(ctx)
	if err != nil {
		return true, err
	}
	var workers []string
	held := map[string]bool{}
	for id, by := range declared {
		workers = append(workers, id)
		for _, schedule := range by.Schedules {
			held[schedule] = true
		}
	}
	for _, stored := range all {
		if held[stored.ID] {
			pending = true
			continue
		}
		state, err := p.store.Withdraw(ctx, stored, workers)
		if err != nil {
			return true, err
		}
		if state == rdb.Withdrawn {
			p.events.emit(PeriodicRemoved{Schedule: stored.ID, Service: p.service()})
		} else {
			pending = true
		}
	}
	return pending, nil
}

// keeps tells whether a schedule is no matter of this pool, or declared by it.
func (p *WorkerPool) keeps(stored rdb.Schedule) bool {
	var d definition
	if json.Unmarshal(stored.Definition, &d) != nil || d.Service != p.service() {
		return true
	}
	return slices.ContainsFunc(p.periodics, func(one periodic) bool { return one.id == stored.ID })
}

// restoreSchedules stores those again that Redis has lost. Those that are there are left alone: a newer version of the
// program may have declared them.
func (p *WorkerPool) restoreSchedules(ctx context.Context) error {
	for _, one := range p.periodics {
		err := redefine(ctx, p.store, one.id, func(stored rdb.Schedule) (change, error) {
			if stored.Definition != nil {
				return change{definition: stored.Definition}, nil
			}
			wanted := one.definition
			wanted.Service = p.service()
			return change{definition: wanted.text(), anew: true}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// declaredIDs is how a worker tells Redis what its pool declares: one id per line. Ids have no control characters.
func (p *WorkerPool) declaredIDs() string {
	ids := make([]string, len(p.periodics))
	for i, one := range p.periodics {
		ids[i] = one.id
	}
	return strings.Join(ids, "\n")
}
