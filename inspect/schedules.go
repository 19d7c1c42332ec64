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
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/schedule"
	"github.com/265d0351/work/internal/span"
	"github.com/265d0351/work/internal/unquoted"
)

// ScheduleInfo is a schedule as it is in Redis.
type ScheduleInfo struct {
	ID      string
	Spec    string
	Name    string               // of the job
	Args    json.RawMessage      // a JSON array
	Options work.PeriodicOptions // with ID
	Service string               // that declares it; "" for one that was added by hand
	Paused  bool

	Last    time.Time // the tick up to which it has moved on, or when it was added, changed or resumed
	LastJob string    // id of the job that it enqueued last; "" before the first
	Next    time.Time // its next tick, without jitter; zero while it is paused, or when there is none
	Problem error     // why this version cannot understand it; then only ID is sure
}

// ScheduleView is a schedule as programs read it in JSON: what the commands print and the dashboard's API answers.
type ScheduleView struct {
	ID      string          `json:"id"`
	Spec    string          `json:"spec"`
	TZ      string          `json:"tz,omitempty"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Jitter  string          `json:"jitter,omitempty"` // as "1m30s"
	Missed  string          `json:"missed"`           // "once", "skip" or a number
	Overlap string          `json:"overlap"`          // "allow" or "skip"
	Key     string          `json:"key,omitempty"`    // of its jobs
	Weight  int             `json:"weight,omitempty"` // of that key, where it was given
	Needs   []string        `json:"needs,omitempty"`  // labels that its jobs need
	Service string          `json:"service,omitempty"`
	Paused  bool            `json:"paused"`
	Last    time.Time       `json:"last,omitzero"`
	LastJob string          `json:"last_job,omitempty"`
	Next    time.Time       `json:"next,omitzero"`
	Problem string          `json:"problem,omitempty"`
}

// View writes out the options and the problem of the schedule in words.
func (s ScheduleInfo) View() ScheduleView {
	view := ScheduleView{
		ID: s.ID, Spec: s.Spec, TZ: s.Options.TZ, Name: s.Name, Args: s.Args, Missed: s.Options.Missed.String(),
		Overlap: s.Options.Overlap.String(), Key: s.Options.Key, Weight: s.Options.Weight, Needs: s.Options.Needs,
		Service: s.Service, Paused: s.Paused, Last: s.Last, LastJob: s.LastJob, Next: s.Next,
	}
	if s.Options.Jitter != 0 {
		view.Jitter = s.Options.Jitter.String()
	}
	if s.Problem != nil {
		view.Problem = s.Problem.Error()
	}
	return view
}

// Schedules returns all schedules of the namespace by their ids, of all services.
func (i *Inspector) Schedules(ctx context.Context) ([]ScheduleInfo, error) {
	return readAll(ctx, i.served(ctx), (*view).schedules, func(all *[]ScheduleInfo, ones []ScheduleInfo) {
		*all = append(*all, ones...)
		slices.SortStableFunc(*all, func(a, b ScheduleInfo) int { return strings.Compare(a.ID, b.ID) })
		// one that is moved may be in both for a moment
		*all = slices.CompactFunc(*all, func(a, b ScheduleInfo) bool { return a.ID == b.ID })
	})
}

func (v *view) schedules(ctx context.Context) ([]ScheduleInfo, error) {
	stored, _, err := v.store.Schedules(ctx)
	if err != nil {
		return nil, fmt.Errorf("the schedules cannot be read: %w", err)
	}
	now, err := v.store.Time(ctx)
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
	s, err := schedule.Read(stored.ID, stored.Definition)
	d := s.Definition
	info := ScheduleInfo{
		ID: stored.ID, Spec: d.Spec, Name: d.Name, Args: d.Args, Service: d.Service, Paused: d.Paused,
		Problem: inside.AsInvalid(err),
		Options: work.PeriodicOptions{
			ID: stored.ID, TZ: d.TZ, Jitter: span.FromMillis(d.Jitter), Missed: work.Missed(d.Missed),
			Overlap: work.Overlap(d.Overlap), Key: d.Key, Weight: d.Weight, Needs: d.Needs,
		},
	}
	info.Last, info.LastJob = rdb.LastTick(stored.Entry)
	if err == nil && !d.Paused {
		from := now
		if info.Last.After(now) { // the clock of Redis was set back
			from = info.Last
		}
		info.Next = s.Table.Next(from)
	}
	return info
}

// AddSchedule adds a schedule as [work.WorkerPool.PeriodicWithOptions] declares one. It belongs to no service, so it
// stays until it is removed; its job need not be known here. Its first tick is the next one. If the id is taken the
// error is [work.ErrScheduleExists], if something cannot be, an *[work.InvalidError].
func (i *Inspector) AddSchedule(ctx context.Context, spec, name string, opts work.PeriodicOptions, args ...any) error {
	made, err := i.wantedSchedule(spec, name, opts, args)
	if err != nil {
		return err
	}
	r := redefinition{what: "added", id: made.ID, job: partition.Job{Name: name, Key: opts.Key}}
	return i.redefine(ctx, r, func(stored rdb.Schedule) (schedule.Change, error) {
		wanted := made.Definition.Text()
		if stored.Definition != nil {
			return schedule.Change{}, work.ErrScheduleExists
		}
		return schedule.Change{Definition: wanted, Anew: true}, nil
	})
}

// ChangeSchedule replaces the spec, the job, the args and the options of the schedule with the id of opts, or that of
// the job where opts has none. It goes on from its last tick, or with another spec or time zone from now; a pause
// stays. In a namespace with partitions a job that belongs into another one is refused. What a program declares it
// declares again at its next start, and that wins. Without such a schedule the error is [work.ErrNoSchedule].
func (i *Inspector) ChangeSchedule(ctx context.Context, spec, name string, opts work.PeriodicOptions,
	args ...any) error {
	made, err := i.wantedSchedule(spec, name, opts, args)
	if err != nil {
		return err
	}
	return i.edit(ctx, "changed", made.ID, func(d *schedule.Definition) (anew bool, err error) {
		m := i.partitions.Map()
		was := m.OfSchedule(made.ID, partition.Job{Name: d.Name, Key: d.Key})
		is := m.OfSchedule(made.ID, partition.Job{Name: name, Key: opts.Key})
		if was.Partition != is.Partition {
			return false, fmt.Errorf(
				"its jobs would belong into partition %d instead of %d: remove it, and add it anew",
				is.Partition, was.Partition)
		}
		wanted := made.Definition
		wanted.Service, wanted.Paused = d.Service, d.Paused
		anew = !d.SameTicks(wanted)
		*d = wanted
		return anew, nil
	})
}

// wantedSchedule checks what is asked for.
func (i *Inspector) wantedSchedule(spec, name string, opts work.PeriodicOptions, args []any) (*schedule.Schedule,
	error) {
	made, mistakes := schedule.New(schedule.Wanted{
		ID: opts.ID, Spec: spec, TZ: opts.TZ, Name: name, Jitter: opts.Jitter, Missed: int(opts.Missed),
		Overlap: int(opts.Overlap), Turn: rdb.Turn{Key: opts.Key, Weight: opts.Weight}, Needs: opts.Needs,
		Args: func() (json.RawMessage, error) { return encodeArgs(name, args) },
	})
	for n := range mistakes {
		mistakes[n] = inside.AsInvalid(mistakes[n])
	}
	if i.unusable == nil && len(mistakes) == 0 {
		if err := inside.Codecs(i.enqueuer(), name).CheckSchedule(name, made.Definition.Args); err != nil {
			mistakes = []error{inside.AsInvalid(err)}
		}
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("schedule %s: %w", excerpt.Brief(made.ID), excerpt.Join(mistakes...))
	}
	return made, nil
}

// PauseSchedule keeps a schedule from enqueueing until it is resumed. To pause it again does nothing.
func (i *Inspector) PauseSchedule(ctx context.Context, id string) error {
	return i.edit(ctx, "paused", id, func(d *schedule.Definition) (bool, error) {
		d.Paused = true
		return false, nil
	})
}

// ResumeSchedule ends a pause. The ticks of the pause are not made up for. To resume it again does nothing.
func (i *Inspector) ResumeSchedule(ctx context.Context, id string) error {
	return i.edit(ctx, "resumed", id, func(d *schedule.Definition) (anew bool, err error) {
		anew, d.Paused = d.Paused, false
		return anew, nil
	})
}

// RemoveSchedule removes a schedule. A program that declares it adds it again at its next start. What it has enqueued
// stays. Without such a schedule the error is [work.ErrNoSchedule].
func (i *Inspector) RemoveSchedule(ctx context.Context, id string) error {
	return i.redefine(ctx, redefinition{what: "removed", id: id}, func(stored rdb.Schedule) (schedule.Change, error) {
		if stored.Definition == nil {
			return schedule.Change{}, work.ErrNoSchedule
		}
		return schedule.Change{}, nil
	})
}

// edit changes a definition that is there.
func (i *Inspector) edit(ctx context.Context, what, id string,
	apply func(*schedule.Definition) (anew bool, err error)) error {
	return i.redefine(ctx, redefinition{what: what, id: id}, func(stored rdb.Schedule) (schedule.Change, error) {
		if stored.Definition == nil {
			return schedule.Change{}, work.ErrNoSchedule
		}
		var d schedule.Definition
		if err := json.Unmarshal(stored.Definition, &d); err != nil {
			return schedule.Change{}, unquoted.Error(err)
		}
		before := string(d.Text())
		anew, err := apply(&d)
		if err != nil {
			return schedule.Change{}, err
		}
		if string(d.Text()) == before {
			return schedule.Change{Definition: stored.Definition}, nil
		}
		return schedule.Change{Definition: d.Text(), Anew: anew}, nil
	})
}

// redefinition is a change of a schedule.
type redefinition struct {
	what string // "added", for errors
	id   string
	job  partition.Job // what decides where its jobs live, where there is to be none of that id yet
}

func (i *Inspector) redefine(ctx context.Context, r redefinition,
	decide func(rdb.Schedule) (schedule.Change, error)) error {
	if i.unusable != nil {
		return i.unusable
	}
	err := i.routed(ctx, func() error {
		v, err := i.scheduleAt(ctx, r.id)
		if err == nil && v == nil {
			var home partition.Home
			home, err = i.arrived(ctx, func(m *partition.Map) partition.Home {
				return m.OfSchedule(r.id, r.job)
			})
			v = i.view(home.Partition)
		}
		if err != nil {
			return err
		}
		return schedule.Redefine(ctx, v.store, r.id, decide)
	})
	if err != nil {
		return fmt.Errorf("schedule %s was not %s: %w", excerpt.Brief(r.id), r.what, err)
	}
	return nil
}

// scheduleAt is the partition that has a schedule; nil where none has it, which all must have said.
func (i *Inspector) scheduleAt(ctx context.Context, id string) (*view, error) {
	of := i.served(ctx)
	switch {
	case of.err != nil:
		return nil, of.err
	case of.single():
		return of.views[0], nil
	}
	there, err := gather(ctx, of, func(v *view, ctx context.Context) ([]*view, error) {
		stored, err := v.store.ScheduleOf(ctx, id)
		if err != nil || stored.Definition == nil {
			return nil, err
		}
		return []*view{v}, nil
	}, func(all *[]*view, one []*view) { *all = append(*all, one...) })
	if len(there) > 0 {
		return there[0], nil
	}
	return nil, err
}

// RunScheduleNow enqueues the job of a schedule at once, whatever its ticks, its pause, its overlap and its jitter. For
// OverlapSkip it counts as the last one. After an error from the connection it may have been enqueued.
func (i *Inspector) RunScheduleNow(ctx context.Context, id string) (work.Receipt, error) {
	if i.unusable != nil {
		return work.Receipt{}, i.unusable
	}
	var receipt work.Receipt
	err := i.routed(ctx, func() error {
		v, err := i.scheduleAt(ctx, id)
		if err == nil && v == nil {
			err = work.ErrNoSchedule
		}
		if err == nil {
			receipt, err = v.runNow(ctx, id, i.partitions.Map())
		}
		return err
	})
	if err != nil {
		return work.Receipt{}, fmt.Errorf("schedule %s was not run: %w", excerpt.Brief(id), err)
	}
	return receipt, nil
}

func (v *view) runNow(ctx context.Context, id string, m *partition.Map) (work.Receipt, error) {
	job := ids.InPartition(ids.Job(time.Now()), v.partition)
	for range backoff.Rereads(ctx) {
		stored, err := v.store.ScheduleOf(ctx, id)
		if err != nil {
			return work.Receipt{}, err
		}
		if stored.Definition == nil {
			return work.Receipt{}, work.ErrNoSchedule
		}
		s, err := schedule.Read(id, stored.Definition)
		if err != nil {
			return work.Receipt{}, inside.AsInvalid(err)
		}
		now, err := v.store.Time(ctx)
		if err != nil {
			return work.Receipt{}, err
		}
		last, _ := rdb.LastTick(stored.Entry)
		tick := rdb.Tick{Schedule: stored, At: last, Queue: s.QueueIn(m.QueueOf(s.Definition.Name)), Turn: s.Turn()}
		if stored.Entry == "" {
			tick.At = now
		}
		tick.Tracked = m.Tracking && m.Home(partition.Job{Name: tick.Queue, Key: tick.Turn.Key}).Bound
		tick.Jobs = []rdb.TickJob{{ID: job, Record: schedule.InQueue(s.JobNow(job, now).Record(),
			m.QueueOf(s.Definition.Name))}}
		answers, err := v.store.Tick(ctx, []rdb.Tick{tick})
		if err == nil {
			err = answers[0].Err
		}
		if err != nil {
			return work.Receipt{}, err
		}
		if answers[0].State == rdb.TickStored {
			return work.Receipt{ID: job, Name: s.Definition.Name, RunAt: answers[0].Time}, nil
		}
	}
	return work.Receipt{}, fmt.Errorf("it was changed by others %d times in a row: try again", backoff.MaxRereads)
}

// maxRuns bounds what NextRuns reckons.
const maxRuns = 1000

// NextRuns returns the next n ticks of the schedule, at most 1,000, beginning with Next; fewer where no more come, and
// none while it is paused or has a problem. Like Next they are without jitter.
func (s ScheduleInfo) NextRuns(n int) []time.Time {
	if s.Next.IsZero() || n <= 0 {
		return nil
	}
	table, err := schedule.Parse(s.Spec, s.Options.TZ)
	if err != nil {
		return nil // Problem says so too
	}
	var runs []time.Time
	for next := s.Next; !next.IsZero() && len(runs) < min(n, maxRuns); next = table.Next(next) {
		runs = append(runs, next)
	}
	return runs
}
