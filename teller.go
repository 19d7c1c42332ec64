package work

import (
	"context"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// teller brings what a ledger holds to Redis, one call after the other. A call that was not answered is sent again just
// as it was, under the same number, so that it counts once. The number belongs to a lane of its own and not to the id
// of the worker: a worker that is declared dead goes on with another id, and must not count anything twice. One
// goroutine at a time uses it: the heartbeater, and after it the stop.
type teller struct {
	lane    string
	told    int64      // number of the last call that was answered
	open    *rdb.Tally // under way, or to be sent again
	trouble *health
	skew    time.Duration      // how far Redis' clock was ahead at the last answer
	known   bool               // there was one
	fresh   *event.HistoryTold // what was answered and is not in an event yet
}

// news makes the call that tells what was counted; there is none when nothing was, or it is not time to tell it. The
// last ones of a worker tell all.
func (l *ledger) news(store *rdb.Store, last bool) []rdb.Call {
	if l.open == nil {
		sums, errors := l.take(last)
		if len(sums)+len(errors) == 0 {
			return nil
		}
		l.open = &rdb.Tally{Lane: l.lane, Number: l.told + 1, Sums: sums, Errors: errors}
	}
	l.open.At = l.clock.now()
	if l.known {
		l.open.At = l.clock.ours().Add(l.skew)
	}
	return []rdb.Call{store.Tally(*l.open)}
}

// answered books the answer to the call of news. After an error the same is sent again.
func (l *ledger) answered(replies []rdb.Reply) error {
	if len(replies) == 0 {
		return nil
	}
	told, err := rdb.ParseTold(replies[0])
	if err != nil {
		return err
	}
	l.skew, l.known = told.Time.Sub(l.clock.ours()), true
	if told.Elsewhere {
		return nil
	}
	l.returnRefused(told.Refused)
	if l.fresh == nil {
		l.fresh = &event.HistoryTold{}
	}
	l.fresh.Names, l.fresh.Errors = l.fresh.Names+len(l.open.Sums), l.fresh.Errors+len(l.open.Errors)
	l.told, l.open = l.open.Number, nil
	return nil
}

// returnRefused counts the errors for which there was no room among those that have no group of their own.
func (l *ledger) returnRefused(refused []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range refused {
		if i < len(l.open.Errors) {
			e := l.open.Errors[i]
			l.errors.lump(e.Name, e.Sample, e.Count)
		}
	}
}

// lastTries is how often a stop tells the same in vain.
const lastTries = 3

// tellAll brings all that is left to Redis before the worker leaves. What then is not told is lost.
func (w *worker) tellAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for tries := 0; tries < lastTries && ctx.Err() == nil; {
		calls := w.ledger.news(w.store, true)
		if len(calls) == 0 {
			w.tellTrouble(nil)
			return
		}
		before := w.ledger.told
		replies, err := w.driver.Pipeline(ctx, calls...)
		if err == nil {
			err = w.ledger.answered(replies)
		}
		w.tellTrouble(err)
		if tries++; w.ledger.told != before {
			tries = 0
		}
	}
}

// tellTrouble reports what keeps history from being written.
func (w *worker) tellTrouble(err error) {
	if w.ledger.trouble == nil {
		w.ledger.trouble = &health{component: "history", events: w.events}
	}
	w.ledger.trouble.report(err)
}

// announceHistory tells what was told. An observer may end the goroutine: it comes after all else that a heartbeat, or
// a stop, does.
func (w *worker) announceHistory() {
	told := w.ledger.fresh
	if told == nil {
		return
	}
	w.ledger.fresh = nil
	w.ledger.mu.Lock()
	told.Waiting = len(w.ledger.dirty)
	w.ledger.mu.Unlock()
	told.Worker, told.Every = w.claimant().rdb.ID, time.Duration(pacePeriod(told.Names+told.Waiting))*time.Second
	w.events.emit(*told)
}
