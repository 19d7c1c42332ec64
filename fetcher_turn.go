package work

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// How a fetcher shares the processors with those of the other partitions: who knows of work waits for its turn to
// fetch; who does not waits for work as long as there is room, and else looks now and then.

// idleLook is when a fetcher that knows of no work looks whether there is some, while those of other partitions keep
// all processors busy. It does not wait for a call then, since it would take that from a pool that has room.
type idleLook struct {
	next   time.Time
	pause  time.Duration // before the next one; it grows while nothing is found
	turned int64         // of the slots at the last one: where no place was given back, nothing could be fetched
}

// The pauses between two such looks.
const (
	shortLookPause = 10 * time.Millisecond
	longLookPause  = 160 * time.Millisecond
)

// due tells whether to look now: at once if it never has, since what waits here was there before, maybe.
func (l *idleLook) due(turned int64) bool {
	return l.next.IsZero() || !time.Now().Before(l.next) && turned != l.turned
}

// looked notes that it has looked, and whether in vain.
func (l *idleLook) looked(turned int64, inVain bool) {
	l.pause = min(max(2*l.pause, shortLookPause), longLookPause)
	if !inVain {
		l.pause = shortLookPause
	}
	l.next, l.turned = time.Now().Add(l.pause), turned
}

// waitForTurn is waitForRoom of a fetcher that shares the processors. What it returns is lent, unless it knows of no
// work: then it is only so that there is room.
func (f *fetcher) waitForTurn(ctx context.Context) int {
	w := f.worker
	f.reopen()
	if w.resting() {
		return 0
	}
	f.claimUnconfirmed()
	if f.sampler.idle() {
		return f.waitWithoutWork(ctx)
	}
	news := func() bool { return f.hasNews() || w.resting() }
	if in, rated := f.watch.HandOnIn(); rated {
		handOn := time.Now().Add(in)
		timer := time.AfterFunc(in, w.slots.Signal)
		defer timer.Stop()
		return w.slots.AwaitTurn(ctx, f.limit, func() bool { return !time.Now().Before(handOn) || news() })
	}
	return w.slots.AwaitTurn(ctx, f.limit, news)
}

// claimUnconfirmed has the queues that a poll saw take part at once if there is no room: the others know what their
// partitions have, and would go on among themselves. By its turn the moment that called workers have is over, mostly.
func (f *fetcher) claimUnconfirmed() {
	if len(f.unconfirmed) > 0 && f.sampler.idle() && !f.worker.slots.Spare() {
		f.sampler.addAll(f.unconfirmed)
		f.unconfirmed = nil
	}
}

// waitWithoutWork waits until there is room that nobody wants, or it is time to look for work.
func (f *fetcher) waitWithoutWork(ctx context.Context) int {
	w, l := f.worker, &f.idleLook
	timer := time.AfterFunc(max(0, time.Until(l.next)), w.slots.Signal)
	defer timer.Stop()
	w.slots.Until(ctx, func() bool {
		switch now := time.Now(); {
		case f.hasNews(), w.resting(), w.slots.Spare(), l.due(w.slots.Turned()):
			return true
		case !now.Before(l.next): // no place was given back so far
			l.next = now.Add(longLookPause)
			timer.Reset(longLookPause)
		}
		return false
	})
	if ctx.Err() != nil || !w.slots.Spare() {
		return 0
	}
	return w.slots.Free()
}

// withoutRoom is what a fetcher does that may fetch nothing now: it calls others for the sake of rates, or looks for
// work in a partition whose jobs have no processors.
func (f *fetcher) withoutRoom() error {
	w := f.worker
	if err := f.callOthersForRates(); err != nil {
		return err
	}
	if turned := w.slots.Turned(); w.slots.Shared() && f.sampler.idle() && f.idleLook.due(turned) {
		err := f.fetch(nil)
		f.idleLook.looked(turned, f.sampler.idle())
		return err
	}
	return nil
}

// fetchTogether asks for jobs that are taken together, for a batch that is being collected or a new one. A queue that
// has called is owed a question, so others are called where this worker has no room.
func (f *fetcher) fetchTogether(queue string, free int, called bool) error {
	g := f.worker.gathererOf(queue)
	wanted := g.room.Reserve(g.wanted(free))
	if wanted == 0 {
		f.sampler.remove(queue)
		f.watch.Shut(queue, g.room)
		g.open.Flush(1) // what could join it has no room either
		if called {
			return f.callOthers([]string{queue})
		}
		return nil
	}
	g.came = 0
	err := f.fetch([]rdb.Share{{Queue: queue, Jobs: wanted}})
	if g.room.GiveBack(wanted - g.came) {
		f.wakeup.Wake()
	}
	g.limit = min(g.limit*2, g.most)
	if err != nil {
		g.limit = max(minFetchLimit, wanted/2)
	}
	return err
}

// flushHeld has batches wait for no more whose queues give nothing now: a limit, a pause or a quota of the pool is in
// the way.
func (f *fetcher) flushHeld(names ...string) {
	for _, name := range names {
		if g := f.worker.gathererOf(name); g != nil {
			g.flush()
		}
	}
}
