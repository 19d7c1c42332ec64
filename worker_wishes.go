package work

import (
	"context"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// obey does what somebody wants of this worker, as its heartbeat has brought it. One that is quiet stays so, even if
// Redis has forgotten that it was to be.
func (w *worker) obey(wanted rdb.Wish) {
	before := w.wish()
	if wanted == before || before == rdb.WishStop || before == rdb.WishQuiet && wanted != rdb.WishStop {
		return
	}
	w.wanted.Store(wanted)
	w.nudged.give()
	w.events.emit(event.WorkerTold{Worker: w.claimant().rdb.ID, Wanted: string(wanted)})
	if wanted == rdb.WishStop {
		w.pool.beginStop(context.Background(), hurriedByCtx)
	}
}

// wish is what somebody wants of the worker, "" for nothing.
func (w *worker) wish() rdb.Wish {
	wanted, _ := w.wanted.Load().(rdb.Wish)
	return wanted
}

// resting tells whether the worker fetches nothing because it is to, because it is about to leave, or because nothing
// may run until a heartbeat is answered.
func (w *worker) resting() bool { return w.wish() != "" || w.retiring.Load() || w.fence.isDown() }

// wished has the workers of the pool that a hint is about beat at once.
func (p *WorkerPool) wished(id string) {
	for _, w := range p.current() {
		if w.claimant().rdb.ID != id {
			continue
		}
		select {
		case w.doubts <- make(chan struct{}):
		default: // a heartbeat is under way, and the next one is at most a second away
			w.missed.Store(true)
		}
	}
}
