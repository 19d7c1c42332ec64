package work

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/265d0351/work/event"
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
// that nobody takes the schedules for abandoned. Where another process has declared the same id otherwise, the later
// one wins, and an event tells so. A pause stays.
func (p *WorkerPool) declare(ctx context.Context) error {
	owners := sync.OnceValues(func() (map[string]rdb.Declaration, error) { return p.store.Declarations(ctx) })
	return p.redefine(ctx, func(one periodic, stored rdb.Schedule) (change, error) {
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
		if err := p.mayTake(one.id, before.Service, owners); err != nil {
			return change{}, err
		}
		return change{definition: wanted.text(), anew: !before.sameTicks(wanted), done: func() {
			p.events.emit(event.PeriodicChanged{
				Schedule: one.id, Spec: wanted.Spec, Service: wanted.Service, FormerSpec: before.Spec,
				FormerService: before.Service,
			})
		}}, nil
	})
}

// redefine changes the schedules of the pool.
func (p *WorkerPool) redefine(ctx context.Context, decide func(periodic, rdb.Schedule) (change, error)) error {
	ids, byID := make([]string, len(p.periodics)), make(map[string]periodic, len(p.periodics))
	for i, one := range p.periodics {
		ids[i], byID[one.id] = one.id, one
	}
	r := redefinition{store: p.store,
		decide:  func(stored rdb.Schedule) (change, error) { return decide(byID[stored.ID], stored) },
		failure: func(id string, err error) error { return fmt.Errorf("%s: %w", byID[id].called(), err) },
	}
	return r.run(ctx, ids)
}

// mayTake refuses a schedule that belongs to another service, while one of its workers declares it. Services that were
// not given a name may take from each other: theirs changes with the names that they serve.
func (p *WorkerPool) mayTake(id, owner string, owners func() (map[string]rdb.Declaration, error)) error {
	if owner == "" || owner == p.service() || strings.HasPrefix(owner, defaultService) {
		return nil
	}
	declared, err := owners()
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

// withdraw removes the schedules of this pool's service that neither it nor another registered worker declares. It
// answers true if there are some that others still declare: they may be from before a deployment.
func (p *WorkerPool) withdraw(ctx context.Context) (pending bool, err error) {
	all, _, err := p.store.Schedules(ctx)
	if err != nil {
		return true, err
	}
	own := make(map[string]bool, len(p.periodics))
	for _, one := range p.periodics {
		own[one.id] = true
	}
	all = slices.DeleteFunc(all, func(stored rdb.Schedule) bool { return own[stored.ID] || !p.owns(stored) })
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
	left := slices.DeleteFunc(slices.Clone(all), func(stored rdb.Schedule) bool { return held[stored.ID] })
	pending = len(left) < len(all)
	states, err := p.store.WithdrawAll(ctx, left, workers)
	if err != nil {
		return true, err
	}
	for i, state := range states {
		if state == rdb.Withdrawn {
			p.events.emit(event.PeriodicRemoved{Schedule: left[i].ID, Service: p.service()})
		} else {
			pending = true
		}
	}
	return pending, nil
}

// owns tells whether a schedule was declared by the service of this pool.
func (p *WorkerPool) owns(stored rdb.Schedule) bool {
	var d definition
	return json.Unmarshal(stored.Definition, &d) == nil && d.Service == p.service()
}

// restoreSchedules stores those again that Redis has lost. Those that are there are left alone: a newer version of the
// program may have declared them.
func (p *WorkerPool) restoreSchedules(ctx context.Context) error {
	return p.redefine(ctx, func(one periodic, stored rdb.Schedule) (change, error) {
		if stored.Definition != nil {
			return change{definition: stored.Definition}, nil
		}
		wanted := one.definition
		wanted.Service = p.service()
		return change{definition: wanted.text(), anew: true}, nil
	})
}

// declaredIDs is how a worker tells Redis what its pool declares: one id per line. Ids have no control characters.
func (p *WorkerPool) declaredIDs() string {
	ids := make([]string, len(p.periodics))
	for i, one := range p.periodics {
		ids[i] = one.id
	}
	return strings.Join(ids, "\n")
}
