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
	"github.com/265d0351/work/internal/refusals"
)

// handleDataLoss is called when Redis has lost its data. What this worker holds runs on; Redis does not know it any
// more, so its outcomes will find no claim. With RestoreRunning the jobs are stored again instead, as held by this
// worker.
func (w *worker) handleDataLoss(c *session) {
	c.book.LostAll()
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
	health := &healthreport.Reporter{Component: "restorer", Emit: w.tell}
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

// errOvertaken is met where Redis has seen a later call than the one that was sent.
var errOvertaken = errors.New("a call that stores held jobs again was overtaken by a later one")

// restore makes Redis know held jobs again, in batches that one script may take. A batch that is refused for a reason
// of its own is halved until the job is alone, whose queue is left out then. It returns what became of them, and those
// that are still to be stored: what was left out, and with an error of the server all that it did not come to.
func (w *worker) restore(c *session, runs []*run) (done rdb.Restored, left []*run, err error) {
	ctx, cancel := context.WithTimeout(w.life, settleTimeout)
	defer cancel()
	c.restoring.Lock()
	defer c.restoring.Unlock()
	runs = slices.Clone(runs)
	inOrder(runs)
	most, broken := rdb.MaxRestored, map[string]error{}
	for {
		runs = slices.DeleteFunc(runs, c.knownAgain)
		call := c.unanswered
		if call == nil {
			call = c.nextRestore(runs, most, broken)
		}
		if len(call.runs) == 0 {
			for _, why := range broken {
				err = excerpt.Join(err, why)
			}
			return done, runs, err
		}
		some, err := w.sendRestore(ctx, c, call)
		switch {
		case err == nil:
			done.Stored, done.Reclaimed = done.Stored+some.Stored, done.Reclaimed+some.Reclaimed
			done.Known += some.Known
			most = min(rdb.MaxRestored, 2*most)
		case !refusals.Alone(err):
			return done, runs, err
		case len(call.runs) > 1:
			most = len(call.runs) / 2
		default:
			broken[call.runs[0].claim.Queue] = err
		}
	}
}

// nextRestore is a new call for the first of these runs, at most so many, but for those of queues that are broken.
func (s *session) nextRestore(runs []*run, most int, broken map[string]error) *restoreCall {
	call, bytes := &restoreCall{number: s.restores.Add(1)}, 0
	for _, r := range runs {
		if broken[r.claim.Queue] != nil {
			r.unrestored.Store(true)
			continue
		}
		bytes += len(r.raw) + len(r.presentTrail())
		if len(call.runs) == most || len(call.runs) > 0 && bytes > maxSettleBytes {
			break
		}
		call.runs = append(call.runs, r)
	}
	return call
}

// sendRestore sends a call, and notes what its answer says of its runs.
func (w *worker) sendRestore(ctx context.Context, c *session, call *restoreCall) (rdb.Restored, error) {
	batch, number := make([]rdb.Held, len(call.runs)), int64(0)
	for i, r := range call.runs {
		number = max(number, r.fetchNumber())
		batch[i] = rdb.Held{Claim: r.claim, ID: r.job.ID, Record: r.raw, Trail: r.presentTrail()}
		batch[i].Lock, batch[i].Kind = r.heldLock()
		batch[i].Turn = rdb.Turn{Key: r.record.Key, Weight: r.record.Weight}
	}
	falls := c.book.Falls() // before it is sent: what has fallen since may have forgotten it
	some, state, err := c.rdb.Restore(ctx, number, call.number, batch)
	c.unanswered = nil
	switch {
	case err != nil && !refusals.Alone(err):
		c.unanswered = call
		return some, err
	case err != nil:
		return some, err
	case state == rdb.Fenced:
		return some, errNotRegistered
	case state != rdb.Registered:
		return some, errOvertaken
	}
	// What an earlier sending has stored may have ended since.
	some.Known = len(batch) - some.Stored - some.Reclaimed - len(some.Others)
	c.book.Restored()
	if from, mending := c.book.ToMend(); mending {
		c.rdb.Acknowledged(max(from, number)) // so that it is seen should Redis fall back once more
	}
	for _, r := range call.runs {
		r.unaccounted.Store(false)
		r.unrestored.Store(false)
		r.restored.Store(falls)
		if slices.Contains(some.Others, r.claim.Element) {
			r.attempt.End(ErrFenced) // it runs elsewhere, or has run there
		}
	}
	return some, nil
}

// knownAgain tells whether a run was stored again since Redis fell back last.
func (s *session) knownAgain(r *run) bool { return r.restored.Load() == s.book.Falls() }
