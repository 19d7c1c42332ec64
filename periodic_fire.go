package work

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// sentTick is a tick under way.
type sentTick struct {
	*scheduled
	due  dueTicks
	tick rdb.Tick
}

// fire sends all ticks that are due, and again what Redis knew better.
func (e *periodicEnqueuer) fire(ctx context.Context) error {
	for range maxTickRounds {
		sent := e.collect(e.now())
		if len(sent) == 0 {
			return nil
		}
		ticks := make([]rdb.Tick, len(sent))
		for i := range sent {
			ticks[i] = sent[i].tick
		}
		answers, err := e.store.Tick(ctx, ticks)
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
func (e *periodicEnqueuer) collect(now time.Time) []sentTick {
	var sent []sentTick
	for _, s := range e.known {
		if s.next.IsZero() || s.next.After(now) || s.failed != nil && time.Now().Before(s.after) {
			continue
		}
		one := sentTick{scheduled: s, tick: rdb.Tick{
			Schedule: s.stored, At: now, Judged: now, Skip: s.definition.Overlap == OverlapSkip,
			Queue: s.definition.Name,
		}}
		if last, _ := rdb.LastTick(s.stored.Entry); !last.IsZero() {
			one.due = s.due(last, now)
			one.tick.At = one.due.last
			for _, at := range one.due.run {
				one.tick.Jobs = append(one.tick.Jobs, s.tickJob(at, now))
			}
		}
		sent = append(sent, one)
	}
	return sent
}

// answered takes up what Redis said of a tick.
func (e *periodicEnqueuer) answered(s sentTick, answer rdb.Ticked) {
	if answer.Err != nil {
		s.failed, s.after = fmt.Errorf("schedule %s: %w", quoted(s.id), answer.Err), time.Now().Add(refusedRest)
		return
	}
	e.saw(answer.Time)
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
		e.hint()
		return
	case rdb.TickClock:
		return // what is due is judged anew by the time that came with it
	}
	s.stored.Entry = answer.Entry
	s.foresee()
}

// tell sends the events of a tick.
func (e *periodicEnqueuer) tell(s sentTick, answer rdb.Ticked) {
	jobs := s.tick.Jobs
	_, last := rdb.LastTick(answer.Entry)
	skipped := len(jobs) > 0 && last != jobs[len(jobs)-1].ID
	if s.due.missed > 0 {
		e.events.emit(event.PeriodicMissed{
			Schedule: s.id, Name: s.definition.Name, Ticks: s.due.missed, Since: s.due.since, Until: s.due.last,
		})
	}
	for i, job := range jobs {
		if skipped {
			e.events.emit(event.PeriodicSkipped{Schedule: s.id, Name: s.definition.Name, Tick: s.due.run[i], Job: last})
			continue
		}
		e.events.emit(event.PeriodicEnqueued{Schedule: s.id, Name: s.definition.Name, Tick: s.due.run[i], ID: job.ID,
			RunAt: job.Due})
	}
}
