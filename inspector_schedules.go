package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/unquoted"
)

// ScheduleInfo is a schedule as it is in Redis.
type ScheduleInfo struct {
	ID      string
	Spec    string
	Name    string          // of the job
	Args    json.RawMessage // a JSON array
	Options PeriodicOptions // with ID
	Service string          // that declares it; "" for one that was added by hand
	Paused  bool

	Last    time.Time // the tick up to which it has moved on, or when it was added, changed or resumed
	LastJob string    // id of the job that it enqueued last; "" before the first
	Next    time.Time // its next tick, without jitter; zero while it is paused, or when there is none
	Problem error     // why this version cannot understand it; then only ID is sure
}

// Schedules returns all schedules of the namespace by their ids, of all services.
func (i *Inspector) Schedules(ctx context.Context) ([]ScheduleInfo, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	stored, _, err := i.store.Schedules(ctx)
	if err != nil {
		return nil, fmt.Errorf("the schedules cannot be read: %w", err)
	}
	now, err := i.store.Time(ctx)
	if err != nil {
		return nil, fmt.Errorf("the clock of Redis cannot be read: %w", err)
	}
	infos := make([]ScheduleInfo, len(stored))
	for n, one := range stored {
		infos[n] = scheduleInfo(one, now)
	}
	slices.SortFunc(infos, func(a, b ScheduleInfo) int { return strings.Compare(a.ID, b.ID) })
	return infos, nil
}

func scheduleInfo(stored rdb.Schedule, now time.Time) ScheduleInfo {
	s, err := readSchedule(stored.ID, stored.Definition)
	d := s.definition
	info := ScheduleInfo{
		ID: stored.ID, Spec: d.Spec, Name: d.Name, Args: d.Args, Service: d.Service, Paused: d.Paused, Problem: err,
		Options: PeriodicOptions{
			ID: stored.ID, TZ: d.TZ, Jitter: fromMillis(d.Jitter), Missed: d.Missed, Overlap: d.Overlap,
		},
	}
	info.Last, info.LastJob = rdb.LastTick(stored.Entry)
	if err == nil && !d.Paused {
		from := now
		if info.Last.After(now) { // the clock of Redis was set back
			from = info.Last
		}
		info.Next = s.table.next(from)
	}
	return info
}

// AddSchedule adds a schedule as [WorkerPool.PeriodicWithOptions] declares one. It belongs to no service, so it stays
// until it is removed; its job need not be known here. Its first tick is the next one. If the id is taken the error is
// [ErrScheduleExists], if something cannot be, an *[InvalidError].
func (i *Inspector) AddSchedule(ctx context.Context, spec, name string, opts PeriodicOptions, args ...any) error {
	made, err := wantedSchedule(wish{spec, name, opts, args})
	if err != nil {
		return err
	}
	return i.redefine(ctx, "added", made.id, func(stored rdb.Schedule) (change, error) {
		wanted := made.definition.text()
		if stored.Definition != nil {
			return change{}, ErrScheduleExists
		}
		return change{definition: wanted, anew: true}, nil
	})
}

// ChangeSchedule replaces the spec, the job, the args and the options of the schedule with the id of opts, or that of
// the job where opts has none. It goes on from its last tick, or with another spec or time zone from now; a pause
// stays. What a program declares it declares again at its next start, and that wins. Without such a schedule the error
// is [ErrNoSchedule].
func (i *Inspector) ChangeSchedule(ctx context.Context, spec, name string, opts PeriodicOptions, args ...any) error {
	made, err := wantedSchedule(wish{spec, name, opts, args})
	if err != nil {
		return err
	}
	return i.edit(ctx, "changed", made.id, func(d *definition) (anew bool) {
		wanted := made.definition
		wanted.Service, wanted.Paused = d.Service, d.Paused
		anew = !d.sameTicks(wanted)
		*d = wanted
		return anew
	})
}

func wantedSchedule(w wish) (*schedule, error) {
	made, mistakes := newSchedule(w, defaultMaxArgsSize)
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("schedule %s: %w", quoted(made.id), excerpt.Join(mistakes...))
	}
	return made, nil
}

// PauseSchedule keeps a schedule from enqueueing until it is resumed. To pause it again does nothing.
func (i *Inspector) PauseSchedule(ctx context.Context, id string) error {
	return i.edit(ctx, "paused", id, func(d *definition) bool { d.Paused = true; return false })
}

// ResumeSchedule ends a pause. The ticks of the pause are not made up for. To resume it again does nothing.
func (i *Inspector) ResumeSchedule(ctx context.Context, id string) error {
	return i.edit(ctx, "resumed", id,
		func(d *definition) (anew bool) { anew = d.Paused; d.Paused = false; return anew })
}

// RemoveSchedule removes a schedule. A program that declares it adds it again at its next start. What it has enqueued
// stays. Without such a schedule the error is [ErrNoSchedule].
func (i *Inspector) RemoveSchedule(ctx context.Context, id string) error {
	return i.redefine(ctx, "removed", id, func(stored rdb.Schedule) (change, error) {
		if stored.Definition == nil {
			return change{}, ErrNoSchedule
		}
		return change{}, nil
	})
}

// edit changes a definition that is there.
func (i *Inspector) edit(ctx context.Context, what, id string, apply func(*definition) (anew bool)) error {
	return i.redefine(ctx, what, id, func(stored rdb.Schedule) (change, error) {
		if stored.Definition == nil {
			return change{}, ErrNoSchedule
		}
		var d definition
		if err := json.Unmarshal(stored.Definition, &d); err != nil {
			return change{}, unquoted.Error(err)
		}
		before := string(d.text())
		anew := apply(&d)
		if string(d.text()) == before {
			return change{definition: stored.Definition}, nil
		}
		return change{definition: d.text(), anew: anew}, nil
	})
}

func (i *Inspector) redefine(ctx context.Context, what, id string, decide func(rdb.Schedule) (change, error)) error {
	if i.unusable != nil {
		return i.unusable
	}
	if err := redefine(ctx, i.store, id, decide); err != nil {
		return fmt.Errorf("schedule %s was not %s: %w", quoted(id), what, err)
	}
	return nil
}

// RunScheduleNow enqueues the job of a schedule at once, whatever its ticks, its pause, its overlap and its jitter. For
// OverlapSkip it counts as the last one. After an error from the connection it may have been enqueued.
func (i *Inspector) RunScheduleNow(ctx context.Context, id string) (Receipt, error) {
	if i.unusable != nil {
		return Receipt{}, i.unusable
	}
	receipt, err := i.runNow(ctx, id)
	if err != nil {
		return Receipt{}, fmt.Errorf("schedule %s was not run: %w", quoted(id), err)
	}
	return receipt, nil
}

func (i *Inspector) runNow(ctx context.Context, id string) (Receipt, error) {
	job := newID(time.Now())
	for range backoff.Rereads(ctx) {
		stored, err := i.store.ScheduleOf(ctx, id)
		if err != nil {
			return Receipt{}, err
		}
		if stored.Definition == nil {
			return Receipt{}, ErrNoSchedule
		}
		s, err := readSchedule(id, stored.Definition)
		if err != nil {
			return Receipt{}, err
		}
		now, err := i.store.Time(ctx)
		if err != nil {
			return Receipt{}, err
		}
		last, _ := rdb.LastTick(stored.Entry)
		tick := rdb.Tick{Schedule: stored, At: last, Queue: s.definition.Name}
		if stored.Entry == "" {
			tick.At = now
		}
		tick.Jobs = []rdb.TickJob{{ID: job, Record: s.record(job, time.Time{}, now, now)}}
		answers, err := i.store.Tick(ctx, []rdb.Tick{tick})
		if err == nil {
			err = answers[0].Err
		}
		if err != nil {
			return Receipt{}, err
		}
		if answers[0].State == rdb.TickStored {
			return Receipt{ID: job, Name: s.definition.Name, RunAt: answers[0].Time}, nil
		}
	}
	return Receipt{}, fmt.Errorf("it was changed by others %d times in a row: try again", backoff.MaxRereads)
}
