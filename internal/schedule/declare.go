package schedule

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
)

// DefaultService begins the name of a service that was not given one.
const DefaultService = "default:"

// Declared are the schedules that a program declares, and what is done about them in Redis.
type Declared struct {
	Store     *rdb.Store
	Service   string // that declares them
	Schedules []Declaration
	Elsewhere []string // ids of those that it declares in other partitions
	Emit      func(event.Event)
}

// Declaration is one of them.
type Declaration struct {
	*Schedule
	Called string // how an error names it
}

// Declare stores the schedules. The workers of the program are registered by then, and tell in Redis what they declare,
// so that nobody takes the schedules for abandoned. Where another process has declared the same id otherwise, the later
// one wins, and an event tells so. A pause stays.
func (d *Declared) Declare(ctx context.Context) error {
	owners := sync.OnceValues(func() (map[string]rdb.Declaration, error) { return d.Store.Declarations(ctx) })
	return d.redefine(ctx, func(one Declaration, stored rdb.Schedule) (Change, error) {
		wanted := one.Definition
		wanted.Service = d.Service
		var before Definition
		if stored.Definition == nil || json.Unmarshal(stored.Definition, &before) != nil {
			return Change{Definition: wanted.Text(), Anew: true}, nil
		}
		wanted.Paused = before.Paused
		if bytes.Equal(wanted.Text(), stored.Definition) {
			return Change{Definition: stored.Definition}, nil
		}
		if err := d.mayTake(one.ID, before.Service, owners); err != nil {
			return Change{}, err
		}
		return Change{Definition: wanted.Text(), Anew: !before.SameTicks(wanted), Done: func() {
			d.Emit(event.PeriodicChanged{
				Schedule: one.ID, Spec: wanted.Spec, Service: wanted.Service, FormerSpec: before.Spec,
				FormerService: before.Service,
			})
		}}, nil
	})
}

// Restore stores those again that Redis has lost. Those that are there are left alone: a newer version of the program
// may have declared them.
func (d *Declared) Restore(ctx context.Context) error {
	return d.redefine(ctx, func(one Declaration, stored rdb.Schedule) (Change, error) {
		if stored.Definition != nil {
			return Change{Definition: stored.Definition}, nil
		}
		wanted := one.Definition
		wanted.Service = d.Service
		return Change{Definition: wanted.Text(), Anew: true}, nil
	})
}

func (d *Declared) redefine(ctx context.Context, decide func(Declaration, rdb.Schedule) (Change, error)) error {
	ids, byID := make([]string, len(d.Schedules)), make(map[string]Declaration, len(d.Schedules))
	for i, one := range d.Schedules {
		ids[i], byID[one.ID] = one.ID, one
	}
	r := Redefinition{Store: d.Store,
		Decide:  func(stored rdb.Schedule) (Change, error) { return decide(byID[stored.ID], stored) },
		Failure: func(id string, err error) error { return fmt.Errorf("%s: %w", byID[id].Called, err) },
	}
	return r.Run(ctx, ids)
}

// mayTake refuses a schedule that belongs to another service, while one of its workers declares it. Services that were
// not given a name may take from each other: theirs changes with the names that they serve.
func (d *Declared) mayTake(id, owner string, owners func() (map[string]rdb.Declaration, error)) error {
	if owner == "" || owner == d.Service || strings.HasPrefix(owner, DefaultService) {
		return nil
	}
	declared, err := owners()
	if err != nil {
		return err
	}
	for _, by := range declared {
		if by.Service == owner && slices.Contains(by.Schedules, id) {
			return &invalid.Error{
				What:   "its id",
				Value:  fmt.Sprintf("that of a schedule of service %s, which runs", excerpt.Brief(owner)),
				Remedy: "give it another ID, or both the same WorkerOptions.Service",
			}
		}
	}
	return nil
}

// Withdraw removes the schedules of the service that neither the program nor another registered worker declares. It
// answers true if there are some that others still declare: they may be from before a deployment.
func (d *Declared) Withdraw(ctx context.Context) (pending bool, err error) {
	all, _, err := d.Store.Schedules(ctx)
	if err != nil {
		return true, err
	}
	own := make(map[string]bool, len(d.Schedules))
	for _, one := range d.Schedules {
		own[one.ID] = true
	}
	for _, id := range d.Elsewhere {
		own[id] = true
	}
	all = slices.DeleteFunc(all, func(stored rdb.Schedule) bool { return own[stored.ID] || !d.owns(stored) })
	if len(all) == 0 {
		return false, nil
	}
	declared, err := d.Store.Declarations(ctx)
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
	states, err := d.Store.WithdrawAll(ctx, left, workers)
	if err != nil {
		return true, err
	}
	for i, state := range states {
		if state == rdb.Withdrawn {
			d.Emit(event.PeriodicRemoved{Schedule: left[i].ID, Service: d.Service})
		} else {
			pending = true
		}
	}
	return pending, nil
}

// owns tells whether a schedule was declared by the service.
func (d *Declared) owns(stored rdb.Schedule) bool {
	var definition Definition
	return json.Unmarshal(stored.Definition, &definition) == nil && definition.Service == d.Service
}

// IDs is how a worker tells Redis what its program declares, in whichever partition: one id per line. Ids have no
// control characters.
func (d *Declared) IDs() string {
	ids := make([]string, len(d.Schedules))
	for i, one := range d.Schedules {
		ids[i] = one.ID
	}
	return strings.Join(append(ids, d.Elsewhere...), "\n")
}
