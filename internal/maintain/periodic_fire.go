package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/schedule"
)

// sentTick is a tick under way.
type sentTick struct {
	*scheduled
	due  schedule.Due
	tick rdb.Tick
}

// fire sends all ticks that are due, and again what Redis knew better.
func (e *PeriodicEnqueuer) fire(ctx context.Context) error {
	for range maxTickRounds {
		version := e.homes.Map() // before it is looked what lives here
		sent := e.collect(e.now())
		if len(sent) == 0 {
			return nil
		}
		ticks := make([]rdb.Tick, len(sent))
		for i := range sent {
			ticks[i] = sent[i].tick
		}
		answers, err := e.store.AtMap(version).Tick(ctx, ticks)
		for i, answer := range answers {
			e.answered(sent[i], answer)
		}
		if err != nil {
			for _, s := range sent[len(answers):] {
				s.unsure = true
			}
			return err
		}
	}
	return nil
}

// collect finds what is due at a time by the clock of Redis.
func (e *PeriodicEnqueuer) collect(now time.Time) []sentTick {
	var sent []sentTick
	for _, s := range e.known {
		if s.next.IsZero() || s.next.After(now) || s.failed != nil && time.Now().Before(s.after) {
			continue
		}
		if !e.homes.HasSchedule(s.Schedule) { // it goes on where it lives, from its last tick
			continue
		}
		shared := e.homes.QueueOf(s.Definition.Name)
		one := sentTick{scheduled: s, tick: rdb.Tick{
			Schedule: s.stored, At: now, Judged: now, Skip: s.Definition.Overlap == schedule.OverlapSkip,
			Queue: s.QueueIn(shared), Tracked: e.homes.Tracked(), Turn: s.Turn(),
		}}
		if last, _ := rdb.LastTick(s.stored.Entry); !last.IsZero() {
			one.due = s.Due(last, now)
			one.tick.At = one.due.Last
			for _, at := range one.due.Run {
				job := s.TickJob(at, now)
				one.tick.Jobs = append(one.tick.Jobs,
					rdb.TickJob{ID: job.ID, Due: job.Due, Record: schedule.InQueue(e.encode(job), shared)})
			}
		}
		sent = append(sent, one)
	}
	return sent
}

// answered takes up what Redis said of a tick.
func (e *PeriodicEnqueuer) answered(s sentTick, answer rdb.Ticked) {
	var route *rdb.RouteError
	if errors.As(answer.Err, &route) {
		e.homes.Outdated(route.Version)
	}
	if answer.Err != nil {
		s.failed, s.after = fmt.Errorf("schedule %s: %w", excerpt.Brief(s.ID), answer.Err), time.Now().Add(refusedRest)
		return
	}
	e.Saw(answer.Time)
	unsure := s.unsure
	s.failed, s.unsure = nil, false
	switch answer.State {
	case rdb.TickStored, rdb.TickSkipped:
		e.tell(s, answer)
	case rdb.TickDone:
		if unsure { // most likely by the very call whose answer was lost
			e.tell(s, answer)
		}
	case rdb.TickGone:
		s.next = time.Time{}
		e.Hint()
		return
	case rdb.TickClock:
		return // what is due is judged anew by the time that came with it
	}
	s.stored.Entry = answer.Entry
	s.foresee()
}

// tell sends the events of a tick.
func (e *PeriodicEnqueuer) tell(s sentTick, answer rdb.Ticked) {
	jobs := s.tick.Jobs
	_, last := rdb.LastTick(answer.Entry)
	skipped := len(jobs) > 0 && last != jobs[len(jobs)-1].ID
	if s.due.Missed > 0 {
		e.emit(event.PeriodicMissed{
			Schedule: s.ID, Name: s.Definition.Name, Ticks: s.due.Missed, Since: s.due.Since, Until: s.due.Last,
		})
	}
	for i, job := range jobs {
		if skipped {
			e.emit(event.PeriodicSkipped{Schedule: s.ID, Name: s.Definition.Name, Tick: s.due.Run[i], Job: last})
			continue
		}
		e.emit(event.PeriodicEnqueued{Schedule: s.ID, Name: s.Definition.Name, Tick: s.due.Run[i], ID: job.ID,
			RunAt: job.Due})
	}
}
