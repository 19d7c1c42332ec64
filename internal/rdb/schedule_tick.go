package rdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// Tick moves one schedule on.
type Tick struct {
	Schedule Schedule  // as it was read
	At       time.Time // the tick; at most now by the clock of Redis
	Judged   time.Time // Redis' clock, as the caller knew it when it decided what was missed; zero if it did not
	Skip     bool      // store nothing while the last job lives
	Queue    string
	Tracked  bool      // its jobs are listed for who moves what is bound: see NewJob
	Turn     Turn      // of its jobs
	Jobs     []TickJob // of this tick, or of several that were missed; the last one last
}

// TickJob is one job of a tick.
type TickJob struct {
	ID     string
	Due    time.Time
	Record []byte
}

// TickState is what came of a tick.
type TickState string

// What may come of a tick.
const (
	TickStored  TickState = "stored"
	TickSkipped TickState = "skipped" // the last job lives
	TickDone    TickState = "done"    // by another worker, or by this very call when it was sent before
	TickFirst   TickState = "first"   // the schedule had no last tick: its ticks begin now
	TickMoved   TickState = "moved"   // the last tick is another one
	TickGone    TickState = "gone"    // the schedule is gone or reads otherwise
	TickClock   TickState = "clock"   // the tick is still to come, or the caller's idea of the clock is wrong
)

// Ticked is the answer to one tick.
type Ticked struct {
	State TickState
	Time  time.Time // Redis' clock
	Entry string    // the schedule's last tick now
	Err   error     // *ServerError: it was refused; *RouteError: by a newer map
}

// The bounds of a pipeline.
const (
	maxPipelineCalls = 64
	maxPipelineBytes = 1 << 20
)

// Tick moves schedules on, and returns one answer for each. With an error those that were sent may have been moved;
// moving them again is harmless.
func (s *Store) Tick(ctx context.Context, ticks []Tick) ([]Ticked, error) {
	answers := make([]Ticked, 0, len(ticks))
	var calls []redisconn.Call
	bytes := 0
	for i := range ticks {
		size := 0
		for _, job := range ticks[i].Jobs {
			size += len(job.Record) + len(job.ID)
		}
		if len(calls) > 0 && (len(calls) == maxPipelineCalls || bytes+size > maxPipelineBytes) {
			var err error
			if answers, err = s.sendTicks(ctx, calls, answers); err != nil {
				return answers, err
			}
			calls, bytes = nil, 0
		}
		calls, bytes = append(calls, s.tickCall(ticks[i])), bytes+size
	}
	if len(calls) == 0 {
		return answers, nil
	}
	return s.sendTicks(ctx, calls, answers)
}

func (s *Store) tickCall(tick Tick) redisconn.Call {
	k := s.keys
	of := k.queue(tick.Queue)
	overlap := "allow"
	if tick.Skip {
		overlap = "skip"
	}
	judged := int64(0)
	if !tick.Judged.IsZero() {
		judged = tick.Judged.UnixMilli()
	}
	args := []any{
		tick.Schedule.ID, Digest(tick.Schedule.Definition), tick.Schedule.Entry, tick.At.UnixMilli(), judged, overlap,
		tick.Queue, s.at, tick.Tracked, tick.Turn.text(),
	}
	for _, job := range tick.Jobs {
		args = append(args, job.ID, job.Due.UnixMilli(), job.Record)
	}
	return redisconn.Call{
		Script: tickScript,
		Keys: []string{
			k.schedules, k.ticks, k.jobs, k.queues, k.ready, k.scheduled, k.names, k.control, k.morgue, of.queue,
			of.wake, k.lanes, k.tracked, k.turns, k.passes, k.turning, k.keyed,
		},
		Args: args,
	}
}

func (s *Store) sendTicks(ctx context.Context, calls []redisconn.Call, answers []Ticked) ([]Ticked, error) {
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return answers, err
	}
	for _, reply := range replies {
		if reply.Err != nil {
			answers = append(answers, Ticked{Err: routed(reply.Err)})
			continue
		}
		r := redisconn.Read("schedule/tick", reply.Value)
		answers = append(answers, Ticked{State: TickState(r.Text()), Time: fromMillis(r.Number()), Entry: r.Text()})
		answers[len(answers)-1].Err = r.Err()
	}
	return answers, nil
}
