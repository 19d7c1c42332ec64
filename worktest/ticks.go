package worktest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
)

// tick records the job of a tick. The worker that enqueued it tells of it a moment after Redis has it.
func (r *Redis) tick(e event.Event) {
	tick, is := e.(event.PeriodicEnqueued)
	if !is {
		return
	}
	args := json.RawMessage("[]")
	for _, s := range r.schedules() {
		if s.ID == tick.Schedule {
			args = s.Args
		}
	}
	r.recorder.add(Enqueued{ID: tick.ID, Name: tick.Name, Args: args, Due: tick.RunAt, Schedule: tick.Schedule})
}

// lastTicks records what is in Redis and was not told yet: the last job of each schedule. Those before it were.
func (r *Redis) lastTicks() {
	for _, s := range r.schedules() {
		if s.LastJob != "" {
			r.recorder.add(Enqueued{ID: s.LastJob, Name: s.Name, Args: s.Args, Due: s.Last, Schedule: s.ID})
		}
	}
}

// schedules are those of this Redis; none where it is closed.
func (r *Redis) schedules() []inspect.ScheduleInfo {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all, _ := r.inspector.Schedules(ctx) // the test has ended, or says more about it where it looks itself
	return all
}

// add keeps a job that no middleware saw, unless it is there.
func (r *Recorder) add(e Enqueued) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.kept, func(kept Enqueued) bool { return kept.ID == e.ID }) || r.forgotten[e.ID] {
		return
	}
	e.Due = e.Due.Truncate(time.Millisecond)
	r.kept = append(r.kept, e)
}
