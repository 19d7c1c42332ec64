package work

import (
	"context"
	"errors"
	"slices"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
)

// handleDataLoss is called when Redis has lost its data. What this worker holds runs on; Redis does not know it any
// more, so its outcomes will find no claim. With RestoreRunning the jobs are stored again instead, as held by this
// worker.
func (w *worker) handleDataLoss(c *session) {
	runs := c.runs()
	for _, r := range runs {
		r.unaccounted.Store(true)
	}
	if !w.engine.options.RestoreRunning {
		w.events.emit(event.DataLost{Worker: c.rdb.ID, Held: len(runs)})
		return
	}
	w.restoring.Go(func() { w.restoreUntilDone(c, runs) })
}

// restoreUntilDone stores the runs again, however often it must be tried, as long as they are held. It does so beside
// the heartbeat, which must not wait for it.
func (w *worker) restoreUntilDone(c *session, runs []*run) {
	health := &healthreport.Reporter{Component: "restorer", Emit: w.events.emit}
	held := len(runs)
	done, left, err := w.restore(c, runs)
	w.events.emit(event.DataLost{Worker: c.rdb.ID, Held: held, Restored: done.Stored, Reclaimed: done.Reclaimed,
		Err: err})
	err = excerpt.Join(err, w.returnEnded(c, runs))
	if health.Report(err); err == nil {
		return
	}
	if left == nil {
		left = runs // all are stored, and some have ended
	}
	w.restoreLater(c, left, health)
}

// restoreLater tries again to store runs until they are, or are not held any more.
func (w *worker) restoreLater(c *session, runs []*run, health *healthreport.Reporter) {
	for attempt := 1; backoff.Pause(w.life, backoff.For(attempt)); attempt++ {
		runs = slices.DeleteFunc(runs, func(r *run) bool { return !c.holds(r.claim.Element) })
		_, left, err := w.restore(c, runs)
		err = excerpt.Join(err, w.returnEnded(c, runs))
		if health.Report(err); err == nil {
			return
		}
		runs = left
	}
}

// returnEnded gives those back that were stored again although they had ended meanwhile: Redis did not know them when
// their outcome came, so it counted for nothing. They run once more; nobody would see them otherwise.
func (w *worker) returnEnded(c *session, runs []*run) error {
	ended := map[string][]string{}
	inOrder(runs)
	for _, r := range runs {
		if !c.holds(r.claim.Element) {
			ended[r.claim.Queue] = append(ended[r.claim.Queue], r.claim.Element)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.life, settleTimeout)
	defer cancel()
	_, refused, err := w.requeueUnheld(ctx, c, ended)
	for _, why := range refused {
		err = excerpt.Join(err, why)
	}
	return err
}

// restore makes Redis know held jobs again, in batches that one script may take. It returns what became of them, and
// those that it did not come to: all from the first batch on that was not answered, or refused.
func (w *worker) restore(c *session, runs []*run) (done rdb.Restored, left []*run, err error) {
	ctx, cancel := context.WithTimeout(w.life, settleTimeout)
	defer cancel()
	inOrder(runs)
	for len(runs) > 0 {
		batch, bytes, number := []rdb.Held{}, 0, int64(0)
		for _, r := range runs {
			trail := r.presentTrail()
			bytes += len(r.raw) + len(trail)
			if len(batch) == rdb.MaxRestored || len(batch) > 0 && bytes > maxSettleBytes {
				break
			}
			number = max(number, r.fetchNumber())
			held := rdb.Held{Claim: r.claim, ID: r.job.ID, Record: r.raw, Trail: trail}
			held.Lock, held.Kind = r.heldLock()
			batch = append(batch, held)
		}
		some, state, err := c.rdb.Restore(ctx, number, c.restores.Add(1), batch)
		switch {
		case err != nil:
			return done, runs, err
		case state == rdb.Fenced:
			return done, runs, errNotRegistered
		case state != rdb.Registered:
			return done, runs, errors.New("a call that stores held jobs again was overtaken by a later one")
		}
		done.Stored, done.Reclaimed = done.Stored+some.Stored, done.Reclaimed+some.Reclaimed
		done.Known += some.Known
		for _, r := range runs[:len(batch)] {
			r.unaccounted.Store(false)
		}
		runs = runs[len(batch):]
	}
	return done, nil, nil
}
