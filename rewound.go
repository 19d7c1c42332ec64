package work

import (
	"context"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/refusals"
	"github.com/265d0351/work/internal/rewound"
	"github.com/265d0351/work/objects"
)

// What a worker does when a replica took over that had not got the last writes. Redis is in order then: it is as it was
// some moment before. What the worker remembers is not: it holds jobs that wait again, or that Redis has never heard
// of, and has ended some that are claimed again. See docs/contributing/how-it-runs.md.

// noteFellBack looks whether an answer has shown that Redis forgot calls of this worker. The fetcher mends that, with
// no fetch under way, and asks about all names; what the pool has declared is declared again.
func (w *worker) noteFellBack(c *session) {
	known, is := c.rdb.FellBack()
	if !is {
		return
	}
	c.book.FellBack(known, len(c.runs()))
	w.loseFaith()
	if w.stopping() {
		w.mendWithoutFetcher(c)
	}
}

// loseFaith is called when Redis may no longer know what it has acknowledged: all of it is looked into.
func (w *worker) loseFaith() {
	w.site.undeclared.Store(true)
	w.site.unsaid.Store(true)
	w.surveyAgain()
}

// mendWithoutFetcher is for a worker that stops: what it still runs is stored again, so that its outcome counts.
func (w *worker) mendWithoutFetcher(c *session) {
	if _, is := c.book.ToMend(); !is {
		return
	}
	w.restoring.Go(func() {
		if <-w.fetching.Done(); w.mend(c) == nil {
			w.tellLoss(c)
		}
	})
}

// mend makes Redis know again what the worker holds and Redis has forgotten. An error means that it is to be called
// again. What is refused for a reason of its own, such as a broken key, is told, and tried again beside all else.
func (w *worker) mend(c *session) error {
	from, is := c.book.ToMend()
	if !is {
		return nil
	}
	c.forgotten.Store(c.number)
	var runs []*run
	for _, r := range c.runs() {
		if r.fetchNumber() > from && !r.unaccounted.Load() {
			runs = append(runs, r)
		}
	}
	done, left, err := w.restore(c, runs)
	if err != nil && !refusals.Alone(err) {
		c.book.Mended(from, rewound.Mend{Restored: done.Stored + done.Known, Reclaimed: done.Reclaimed, Left: true})
		return err
	}
	// Only now: what it fetches from here on must not hide that it has lost what it held.
	reached := from
	for _, r := range runs {
		if c.knownAgain(r) {
			reached = max(reached, r.fetchNumber())
		}
	}
	c.rdb.Acknowledged(reached)
	err = excerpt.Join(err, w.referAgain(runs))
	c.book.Mended(from, rewound.Mend{Restored: done.Stored + done.Known, Reclaimed: done.Reclaimed, Err: err})
	if len(left) > 0 {
		health := &healthreport.Reporter{Component: "restorer", Emit: w.tell}
		health.Report(err)
		w.restoring.Go(func() { w.restoreLater(c, left, health) })
	}
	return nil
}

// referAgain notes of the objects that jobs need that they are needed: Redis may have forgotten these references, and
// the objects. That is told, and nothing else fails: the present attempt has its args.
func (w *worker) referAgain(runs []*run) (err error) {
	ctx, cancel := context.WithTimeout(w.life, settleTimeout)
	defer cancel()
	for _, r := range runs {
		for _, sha := range r.record.Objects {
			err = excerpt.Join(err, w.site.objects.store.Refer(ctx, objects.Hash(sha), r.job.ID))
		}
	}
	return err
}

// tellLoss tells of a loss once all of it is known.
func (w *worker) tellLoss(c *session) {
	if loss, is := c.book.Tell(); is {
		w.events.emit(event.DataLost{
			Worker: c.rdb.ID, Failover: true, Held: loss.Held, Restored: loss.Restored, Reclaimed: loss.Reclaimed,
			Outcomes: loss.Outcomes, Err: loss.Err,
		})
	}
}
