package work

import (
	"context"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/rdb"
)

// mourn deals with a Redis that has lost its data. What this worker holds runs on; Redis does not know it any more, so
// its outcomes will find no claim. With RestoreRunning the jobs are stored again instead, as held by this worker.
func (w *worker) mourn(c *claimant) {
	runs := c.runs()
	event := DataLost{Worker: c.rdb.ID, Held: len(runs)}
	if w.pool.options.RestoreRunning {
		ctx, cancel := context.WithTimeout(w.life, settleTimeout)
		defer cancel()
		event.Restored, event.Err = restore(ctx, c, runs)
	}
	if event.Restored < len(runs) {
		for _, r := range runs {
			r.unaccounted.Store(true)
		}
	}
	w.events.emit(event)
}

// restore stores held jobs again, in lots that one script may take.
func restore(ctx context.Context, c *claimant, runs []*run) (restored int, err error) {
	inOrder(runs)
	for len(runs) > 0 {
		lot, bytes, number := []rdb.Held{}, 0, int64(0)
		for _, r := range runs {
			bytes += len(r.raw) + len(r.rawTrail)
			if len(lot) == rdb.MaxBatch || len(lot) > 0 && bytes > maxSettleBytes {
				break
			}
			n, _, _ := strings.Cut(r.claim.Element, ":")
			of, _ := strconv.ParseInt(n, 10, 64) // a claim's element always begins with a number
			number = max(number, of)
			lot = append(lot, rdb.Held{Claim: r.claim, ID: r.job.ID, Record: r.raw, Trail: r.rawTrail})
		}
		n, err := c.rdb.Restore(ctx, number, lot)
		restored += n
		if err != nil {
			return restored, err
		}
		runs = runs[len(lot):]
	}
	return restored, nil
}
