package history

import (
	"context"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
)

// Reporter brings what a [Counter] holds to Redis, one call after the other. A call that was not answered is sent again
// just as it was, under the same number, so that it counts once. The number belongs to a lane of its own and not to the
// id of the worker: a worker that is declared dead goes on with another id, and must not count anything twice. One
// goroutine at a time uses it.
type Reporter struct {
	Counter *Counter
	Store   *rdb.Store
	Clock   *redisclock.Clock
	Lane    string      // random, and of nobody else
	Health  func(error) // is told after each answer what keeps history from being written; nil when nothing does

	told  int64              // number of the last call that was answered
	open  *rdb.Tally         // under way, or to be sent again
	skew  time.Duration      // how far Redis' clock was ahead at the last answer
	known bool               // there was one
	fresh *event.HistoryTold // what was answered and is not in an event yet
}

// Calls makes the call that reports what was counted; there is none when nothing was, or it is not time to report it.
// The last ones of a worker report all.
func (r *Reporter) Calls(last bool) []redisconn.Call {
	if r.open == nil {
		sums, errors := r.Counter.take(last)
		if len(sums)+len(errors) == 0 {
			return nil
		}
		r.open = &rdb.Tally{Lane: r.Lane, Number: r.told + 1, Sums: sums, Errors: errors}
	}
	r.open.At = r.Clock.Now()
	if r.known {
		r.open.At = r.Clock.Local().Add(r.skew)
	}
	return []redisconn.Call{r.Store.Tally(*r.open)}
}

// Answered takes the answer to what Calls returned. After an error the same is sent again.
func (r *Reporter) Answered(replies []redisconn.Reply) {
	r.Health(r.parse(replies))
}

func (r *Reporter) parse(replies []redisconn.Reply) error {
	if len(replies) == 0 {
		return nil
	}
	told, err := rdb.ParseTold(replies[0])
	if err != nil {
		return err
	}
	r.skew, r.known = told.Time.Sub(r.Clock.Local()), true
	if told.Elsewhere {
		return nil
	}
	r.Counter.refused(r.open.Errors, told.Refused)
	if r.fresh == nil {
		r.fresh = &event.HistoryTold{}
	}
	r.fresh.Names, r.fresh.Errors = r.fresh.Names+len(r.open.Sums), r.fresh.Errors+len(r.open.Errors)
	r.told, r.open = r.open.Number, nil
	return nil
}

// finalTries is how often Flush reports the same in vain.
const finalTries = 3

// Flush brings all that is left to Redis before the worker leaves. What cannot be reported until ctx ends is lost.
func (r *Reporter) Flush(ctx context.Context) {
	for tries := 0; tries < finalTries && ctx.Err() == nil; {
		calls := r.Calls(true)
		if len(calls) == 0 {
			r.Health(nil)
			return
		}
		before := r.told
		replies, err := r.Store.Driver().Pipeline(ctx, calls...)
		if err != nil {
			r.Health(err)
		} else {
			r.Answered(replies)
		}
		if tries++; r.told != before {
			tries = 0
		}
	}
}

// Announce emits what was reported since the last time, if anything was. An observer may end the goroutine: nothing
// that must happen comes after it.
func (r *Reporter) Announce(worker string, emit func(event.Event)) {
	told := r.fresh
	if told == nil {
		return
	}
	r.fresh = nil
	told.Worker, told.Waiting = worker, r.Counter.namesWaiting()
	told.Every = time.Duration(Period(told.Names+told.Waiting)) * time.Second
	emit(*told)
}
