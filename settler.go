package work

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// settler gives outcomes back to Redis in batches. An outcome stays in memory until Redis acknowledged it or said that
// its claim is gone, and is sent again until then, with a fresh ctx each time: what a handler has done is not lost
// because a connection was.
type settler struct {
	worker  *worker
	health  health
	pending []*run
	parked  []*run   // refused for a reason of their own; tried again slowly
	news    []func() // events that are told once a settlement is booked
	refused map[string]*complaint
	lap     int // failures in a row
}

// complaint is a reason for which outcomes are parked. Many may share one (a key of the whole namespace that is broken),
// so it is reported once, and once more when the last of them is settled.
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
			s.health.report(err)
			s.lap++
			pause(ctx, backoffFor(s.lap))
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
		case r := <-s.worker.outcomes:
			s.pending = append(s.pending, r)
		case <-parking:
			s.worker.slots.parked.Add(-int64(len(s.parked)))
			s.pending, s.parked = append(s.pending, s.parked...), nil
		}
	}
	for yields := 0; ; {
		select {
		case r := <-s.worker.outcomes:
			s.pending = append(s.pending, r)
		default:
			if yields == gatherYields || len(s.pending) >= s.worker.concurrency/2 {
				return ctx.Err() == nil
			}
			yields++
			runtime.Gosched()
		}
	}
}

// send settles what is pending, as much as fits into one pipeline. An error means that it was not answered.
func (s *settler) send(ctx context.Context) error {
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
	done := make(map[*run]bool, len(s.pending))
	var transient error
	for i, answer := range settled {
		if err := s.acknowledge(batches[i], answer, done); err != nil {
			transient = err
		}
	}
	s.forget(done)
	s.tell()
	return transient
}

// tell sends the events of a settlement, once all of it is booked: an observer may end this goroutine in the middle, and
// what was acknowledged must not be booked again.
func (s *settler) tell() {
	for len(s.news) > 0 {
		next := s.news[0]
		s.news = s.news[1:]
		next()
	}
}

// acknowledge books the answer to one call. Refusals that have to do with the server and not with the job are
// returned; after any other the batch is halved until the job that causes it is alone, and parked.
func (s *settler) acknowledge(b *batch, answer rdb.Settled, done map[*run]bool) error {
	if answer.Err != nil {
		if concernsServer(answer.Err) {
			return answer.Err
		}
		for _, r := range b.runs {
			if len(b.runs) == 1 {
				s.park(r, answer.Err)
				done[r] = true
			}
			r.lot = max(1, len(b.runs)/2)
		}
		return nil
	}
	gone := map[string]bool{}
	for _, element := range answer.Gone {
		gone[element] = true
	}
	for _, r := range b.runs {
		done[r] = true
		if gone[r.claim.Element] && !r.sent {
			gone := ClaimGone{JobRef: r.ref(), Unaccounted: r.unaccounted.Load()}
			s.news = append(s.news, func() { s.worker.events.emit(gone) })
		}
		s.unpark(r)
		r.claimant.drop(r)
		s.worker.acquit(r)
		s.worker.slots.settled()
	}
	return nil
}

// park puts a run aside whose outcome is refused for a reason that is not the server's.
func (s *settler) park(r *run, err error) {
	s.parked = append(s.parked, r)
	s.worker.slots.parked.Add(1)
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
	why := s.refused[r.parkedFor]
	if why == nil {
		return
	}
	why.runs--
	if why.runs == 0 {
		s.news = append(s.news, func() { why.health.report(nil) })
		delete(s.refused, r.parkedFor)
	}
	r.parkedFor = ""
}

// forget removes what is done from the pending ones.
func (s *settler) forget(done map[*run]bool) {
	rest := s.pending[:0]
	for _, r := range s.pending {
		if !done[r] {
			rest = append(rest, r)
		}
	}
	clear(s.pending[len(rest):])
	s.pending = rest
}
