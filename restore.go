package work

import (
	"context"
	"slices"
	"strconv"
	"strings"

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
	health := healthreport.Reporter{Component: "restorer", Emit: w.events.emit}
	held := len(runs)
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(w.life, settleTimeout)
		restored, err := restore(ctx, c, runs)
		cancel()
		if attempt == 1 {
			w.events.emit(event.DataLost{Worker: c.rdb.ID, Held: held, Restored: restored, Err: err})
		}
		err = excerpt.Join(err, w.returnEnded(c, runs))
		health.Report(err)
		if err == nil || !backoff.Pause(w.life, backoff.For(attempt)) {
			return
		}
		runs = slices.DeleteFunc(runs, func(r *run) bool {
			return !r.unaccounted.Load() || !c.holds(r.claim.Element)
		})
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
	refused, err := w.requeueUnheld(ctx, c, ended)
	for _, why := range refused {
		err = excerpt.Join(err, why)
	}
	return err
}

// restore stores held jobs again, in batches that one script may take.
func restore(ctx context.Context, c *session, runs []*run) (restored int, err error) {
	inOrder(runs)
	for len(runs) > 0 {
		batch, bytes, number := []rdb.Held{}, 0, int64(0)
		for _, r := range runs {
			trail := r.presentTrail()
			bytes += len(r.raw) + len(trail)
			if len(batch) == rdb.MaxBatch || len(batch) > 0 && bytes > maxSettleBytes {
				break
			}
			n, _, _ := strings.Cut(r.claim.Element, ":")
			of, _ := strconv.ParseInt(n, 10, 64) // a claim's element always begins with a number
			number = max(number, of)
			held := rdb.Held{Claim: r.claim, ID: r.job.ID, Record: r.raw, Trail: trail}
			held.Lock, held.Kind = r.heldLock()
			batch = append(batch, held)
		}
		n, err := c.rdb.Restore(ctx, number, batch)
		restored += n
		if err != nil {
			return restored, err
		}
		for _, r := range runs[:len(batch)] {
			r.unaccounted.Store(false)
		}
		runs = runs[len(batch):]
	}
	return restored, nil
}
