package work

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/resize"
)

// settleLooks is in how many rounds of a second the daemon that finishes moves looks once while nothing is known to be
// left: a mover may have died.
const settleLooks = 10

// finishMoves goes on with what movers have left in this partition: jobs that workers held then, and what is there of a
// partition that is to go. It asks Redis nothing while there is one partition, and little while nothing is left. What
// fails is tried again in the next round: the map and Redis say what is to be done.
func (d *daemons) finishMoves(ctx context.Context) {
	directory, i := d.worker.engine.directory, d.worker.site.partition
	left := 0
	for round := 0; backoff.Pause(ctx, time.Second); round++ {
		m := directory.Map()
		if m.Single() || !d.leased.Load() {
			continue
		}
		under := m.Wanted != 0 || m.Tracking || m.State(i) == partition.Draining || len(m.Binding) > 0
		if left > 0 || under || round%settleLooks == 0 {
			now, err := resize.Settle(ctx, directory, i)
			if left = now; err != nil {
				left = 1
			}
		}
	}
}
