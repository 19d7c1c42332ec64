package work

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// settler gives outcomes back to Redis in batches. An outcome stays in memory until Redis acknowledged it or said that
// its claim is gone, and is sent again until then, with a fresh ctx each time: what a handler has done is not lost
// because a connection was.
type settler struct {
	worker  *worker
	health  health
	pending []*run
	ended   []rdb.Ended // to make a call of; between calls of no meaning
	parked  []*run      // refused for a reason of their own; tried again slowly
	news    []func()    // events that are told once a settlement is booked
	refused map[string]*complaint
	booked  int // outcomes that the present settlement has acknowledged
	lap     int // failures in a row
}

// complaint is a reason for which outcomes are parked. Many may share one (a key of the whole namespace that is
// broken), so it is reported once, and once more when the last of them is settled.
type complaint struct {
	health health
	runs   int
}

// The bounds of a settlement.
const (
	maxSettleCalls = 64
	maxSettleBytes = 1 << 20
	settleTimeout  = 10 * time.Second
)

func newSettler(w *worker) *settler {
	return &settler{
		worker: w, health: health{component: "settler", events: w.events}, refused: map[string]*complaint{},
	}
}

func (s *settler) run(ctx context.Context) {
	parking := time.NewTicker(s.worker.pool.parkTime)
	defer parking.Stop()
	for {
		if !s.gather(ctx, parking.C) {
			return
		}
		err := s.send(ctx)
		if ctx.Err() != nil {
			return // a stop cut it off, and says so
		}
		if err != nil {
			s.worker.mistrust()
			s.health.report(err)
			s.lap++
			backoff.Pause(ctx, backoff.For(s.lap))
			continue
		}
		s.health.report(nil)
		s.lap = 0
	}
}

// gather waits until there is something to send, then takes all there is: while one batch is under way the next one
// gathers by itself. It returns false when ctx has ended.
func (s *settler) gather(ctx context.Context, parking <-chan time.Time) bool {
	if len(s.pending) == 0 {
		select {
		case <-ctx.Done():
			return false
		case <-s.worker.outcomes.filled:
		case <-parking:
			s.worker.slots.parked.Add(-int64(len(s.parked)))
			for _, r := range s.parked {
				r.done = false
			}
			s.pending, s.parked = append(s.pending, s.parked...), nil
		}
	}
	for yields := 0; ; yields++ {
		s.pending = s.worker.outcomes.takeAll(s.pending)
		if yields == gatherYields || len(s.pending) >= s.worker.concurrency/2 {
			return ctx.Err() == nil
		}
		runtime.Gosched()
	}
}

// send settles what is pending, as much as fits into one pipeline. An error means that it was not answered.
func (s *settler) send(ctx context.Context) error {
	if slices.ContainsFunc(s.pending, func(r *run) bool { return r.decision.verb == verbRelease }) {
		end, err := s.worker.pool.returns.inTurn(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	batches := s.batches()
	if len(batches) == 0 {
		return nil
	}
	calls := make([]rdb.Call, len(batches))
	for i, b := range batches {
		calls[i] = b.call
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	// All calls of a pipeline go through one claimant's handle: the keys in each name their own worker.
	settled, err := batches[0].claimant.rdb.Settle(ctx, calls)
	if err != nil {
		var dial *rdb.DialError
		if !errors.As(err, &dial) {
			for _, b := range batches {
				b.markSent()
			}
		}
		return err
	}
	if err := s.inquire(ctx, batches, settled); err != nil {
		for _, b := range batches {
			b.markSent() // all were answered, and none is booked
		}
		return err
	}
	var transient error
	s.booked = 0
	roomy := map[string]bool{}
	for i, answer := range settled {
		if err := s.acknowledge(batches[i], answer); err != nil {
			transient = err
		}
		if answer.Roomy {
			for _, r := range batches[i].runs {
				roomy[r.claim.Queue] = true
			}
		}
	}
	s.forget()
	s.tell()
	err = excerpt.Join(transient, s.makeRoomKnown(ctx, roomy))
	// last: an observer may end this goroutine, and nothing must be left to do then
	if s.booked > 0 && s.worker.events.perJob() {
		s.worker.events.emit(event.JobsSettled{Worker: batches[0].claimant.rdb.ID, Jobs: s.booked})
	}
	return err
}

// makeRoomKnown leaves tokens for queues whose limits have room again.
func (s *settler) makeRoomKnown(ctx context.Context, queues map[string]bool) error {
	if len(queues) == 0 {
		return nil
	}
	s.worker.roomy.add(queues)
	return s.worker.store.WakeAfterEnd(ctx, slices.Collect(maps.Keys(queues)))
}

// tell sends the events of a settlement, once all of it is booked: an observer may end this goroutine in the middle,
// and what was acknowledged must not be booked again.
func (s *settler) tell() {
	for len(s.news) > 0 {
		next := s.news[0]
		s.news = s.news[1:]
		next()
	}
}

// acknowledge books the answer to one call. Refusals that have to do with the server and not with the job are
// returned; after any other the batch is halved until the job that causes it is alone, and parked.
func (s *settler) acknowledge(b *batch, answer rdb.Settled) error {
	if answer.Err != nil {
		if rdb.ConcernsServer(answer.Err) {
			return answer.Err
		}
		for _, r := range b.runs {
			if len(b.runs) == 1 {
				s.park(r, answer.Err)
				r.done = true
			}
			r.lot = max(1, len(b.runs)/2)
		}
		return nil
	}
	acknowledged := b.runs
	if len(answer.Gone)+len(answer.Cancelled)+len(answer.Waited) > 0 {
		acknowledged = s.sort(b, answer)
	}
	dying := 0
	for _, r := range acknowledged {
		r.done = true
		s.unpark(r)
		s.worker.acquit(r)
		if r.dies() {
			dying++
			s.worker.tellOfDeath(r)
		}
	}
	s.booked += len(acknowledged)
	s.worker.ledger.book(acknowledged)
	b.claimant.drop(acknowledged)
	s.worker.parted()
	s.worker.slots.settled(len(acknowledged) - dying)
	return nil
}

// sort returns the runs that are over, and changes the decisions about those that are not: they are sent once more.
func (s *settler) sort(b *batch, answer rdb.Settled) (over []*run) {
	now := s.worker.clock.now()
	for _, r := range b.runs {
		switch {
		case slices.Contains(answer.Cancelled, r.claim.Element):
			r.decision = r.cancellation(now)
			cancelled := event.JobCancelled{JobRef: r.ref()}
			s.news = append(s.news, func() { s.worker.events.emit(cancelled) })
			continue
		case slices.Contains(answer.Waited, r.claim.Element):
			r.keepForWaiters(now)
			continue
		case slices.Contains(answer.Gone, r.claim.Element):
			s.noteGone(r)
		}
		over = append(over, r)
	}
	return over
}

// park puts a run aside whose outcome is refused for a reason that is not the server's.
func (s *settler) park(r *run, err error) {
	s.parked = append(s.parked, r)
	s.worker.slots.park()
	reason := err.Error()
	if r.parkedFor == reason {
		return
	}
	s.unpark(r)
	r.parkedFor = reason
	why := s.refused[reason]
	if why == nil {
		why = &complaint{health: health{component: "settler, " + r.ref().String(), events: s.worker.events}}
		s.refused[reason] = why
	}
	why.runs++
	s.news = append(s.news, func() { why.health.report(err) })
}

// unpark notes that a run is not refused any more, at least not for the reason of before.
func (s *settler) unpark(r *run) {
	if r.parkedFor == "" {
		return
	}
	why := s.refused[r.parkedFor]
	why.runs--
	if why.runs == 0 {
		s.news = append(s.news, func() { why.health.report(nil) })
		delete(s.refused, r.parkedFor)
	}
	r.parkedFor = ""
}

// forget removes what is done from the pending ones.
func (s *settler) forget() {
	rest := s.pending[:0]
	for _, r := range s.pending {
		if !r.done {
			rest = append(rest, r)
		}
	}
	clear(s.pending[len(rest):])
	s.pending = rest
}
