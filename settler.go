package work

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/refusals"
	"github.com/265d0351/work/internal/retry"
	"github.com/265d0351/work/internal/workgroup"
)

// settler gives outcomes back to Redis in batches. An outcome stays in memory until Redis acknowledged it or said that
// its claim is gone, and is sent again until then, with a fresh ctx each time: what a handler has done is not lost
// because a connection was.
type settler struct {
	worker       *worker
	health       healthreport.Reporter
	pending      []*run
	ended        []rdb.Ended // to make a call of; between calls of no meaning
	parked       []*run      // refused for a reason of their own; tried again slowly
	counted      int         // how many of those count among what the worker may hold
	unsentEvents []func()    // events that are told once a settlement is acknowledged
	refused      refusals.Reasons
	// of runs that were acknowledged; between calls of no meaning
	attempts     []history.Attempt
	acknowledged int  // outcomes that the present settlement has acknowledged
	forgotten    bool // it has met claims that Redis has forgotten
	failures     backoff.Failures

	replicas *outcomeReplicas // nil where none are waited for

	roomy      map[string]bool // queues whose limits have room again, of which Redis has not been told
	wakeFailed int             // how often it could not be told
}

// wakeTries is how often Redis is told of room in a limit: later a heartbeat calls those who wait for it.
const wakeTries = 5

func newSettler(w *worker) *settler {
	s := &settler{
		worker: w, health: healthreport.Reporter{Component: "settler", Emit: w.events.emit},
		roomy: map[string]bool{},
	}
	s.replicas = newOutcomeReplicas(s)
	return s
}

// close frees what it has opened, once it runs no more.
func (s *settler) close() {
	if s.replicas != nil {
		s.replicas.confirmer.Close()
	}
}

func (s *settler) run(ctx context.Context) {
	parking := time.NewTicker(s.worker.engine.times.Park)
	defer parking.Stop()
	for {
		if !s.gather(ctx, parking.C) {
			return
		}
		if s.replicas != nil {
			s.replicas.book()
		}
		err := s.send(ctx)
		if ctx.Err() != nil {
			return // a stop cut it off, and says so
		}
		if err != nil {
			s.worker.surveyAgain()
			s.worker.rights.Doubt(err)
			s.health.Report(err)
			s.failures.Pause(ctx)
			continue
		}
		s.health.Report(nil)
		s.failures = 0
	}
}

// gather waits until there is something to send, then takes all there is: while one batch is under way the next one
// gathers by itself. It returns false when ctx has ended.
func (s *settler) gather(ctx context.Context, parking <-chan time.Time) bool {
	if len(s.pending) == 0 && len(s.roomy) == 0 {
		select {
		case <-ctx.Done():
			return false
		case <-s.worker.outcomes.Filled:
		case <-parking:
			s.worker.slots.Unpark(s.counted)
			s.counted = 0
			for _, r := range s.parked {
				r.settlement.done = false
			}
			s.pending, s.parked = append(s.pending, s.parked...), nil
		}
	}
	workgroup.Gather(func() bool {
		s.pending = s.worker.outcomes.TakeAll(s.pending)
		return len(s.pending) >= s.worker.concurrency/2
	})
	return ctx.Err() == nil
}

// send settles what is pending. What is requeued waits for its turn, so all else goes first; a refusal of that does not
// keep it back. An error means that some was not answered, or refused.
func (s *settler) send(ctx context.Context) error {
	requeued := func(r *run) bool { return r.decision.verb == verbRelease }
	if !slices.ContainsFunc(s.pending, requeued) {
		return s.sendSome(ctx, s.pending)
	}
	err := s.sendSome(ctx, slices.DeleteFunc(slices.Clone(s.pending), requeued))
	if err != nil && !redisconn.Refused(err) {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(s.pending), func(r *run) bool { return !requeued(r) })
	return excerpt.Join(err, s.sendSome(ctx, rest))
}

// sendSome settles some of what is pending, as much as fits into one pipeline.
func (s *settler) sendSome(life context.Context, runs []*run) error {
	batches := s.batches(runs)
	if len(batches) == 0 {
		return s.wakeForRoom(life)
	}
	for _, b := range batches {
		b.noteTurn()
	}
	settled, err := s.settle(life, batches)
	if err != nil {
		var dial *redisconn.DialError
		if !errors.As(err, &dial) {
			for _, b := range batches {
				b.markSent()
			}
		}
		return err
	}
	ctx, cancel := context.WithTimeout(life, settleTimeout)
	defer cancel()
	if err := s.resolveGone(ctx, batches, settled); err != nil {
		for _, b := range batches {
			b.markSent() // all were answered, and none is booked
		}
		return err
	}
	var transient error
	s.acknowledged, s.forgotten = 0, false
	for i, answer := range settled {
		if err := s.acknowledge(batches[i], answer); err != nil {
			transient = err
		}
		if answer.Roomy {
			for _, r := range batches[i].runs {
				s.noteRoom(r.claim.Queue)
			}
		}
		for _, end := range answer.Flows {
			s.unsentEvents = append(s.unsentEvents, func() { s.worker.events.emit(flowEnded(end)) })
		}
	}
	if s.forgotten {
		transient = excerpt.Join(transient, errForgotten)
	}
	if s.replicas != nil {
		s.replicas.ask()
	}
	s.dropDone()
	s.emitEvents()
	err = excerpt.Join(transient, s.wakeForRoom(ctx))
	// last: an observer may end this goroutine, and nothing must be left to do then
	s.tellSettled(batches[0].session)
	return err
}

// noteRoom notes that the limit of a queue may have room again, and so that of the others of its name, which is one.
func (s *settler) noteRoom(queue string) {
	if s.roomy[queue] {
		return
	}
	s.roomy[queue] = true
	for _, sibling := range s.worker.engine.serving.Siblings(queue) {
		s.roomy[sibling] = true
	}
}

// wakeForRoom leaves tokens for queues whose limits have room again. What is not answered is tried again a few times,
// whether or not outcomes come meanwhile; a broken key is not.
func (s *settler) wakeForRoom(ctx context.Context) error {
	if len(s.roomy) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	s.worker.queues.watch.MadeRoom(s.roomy)
	err := s.worker.store.WakeAfterEnd(ctx, slices.Collect(maps.Keys(s.roomy)))
	if err != nil && (redisconn.ConcernsServer(err) || retry.Classify(err).Again) {
		if s.wakeFailed++; s.wakeFailed < wakeTries {
			return err
		}
	}
	clear(s.roomy)
	s.wakeFailed = 0
	return err
}

// emitEvents sends the events of a settlement, once all of it is acknowledged: no answer waits for observers.
func (s *settler) emitEvents() {
	for len(s.unsentEvents) > 0 {
		next := s.unsentEvents[0]
		s.unsentEvents = s.unsentEvents[1:]
		next()
	}
}

// acknowledge books the answer to one call. A refusal of the server's is returned: the call is sent again as it is.
// After any other the batch is halved until the job that causes it is alone, and parked.
func (s *settler) acknowledge(b *batch, answer rdb.Settled) error {
	if answer.Err != nil {
		if redisconn.Classify(answer.Err).MayCount {
			b.markSent()
		}
		tallies := make([]*refusals.Tally, len(b.runs))
		for i, r := range b.runs {
			tallies[i] = &r.settlement.tally
		}
		if !refusals.Held(answer.Err, s.worker.passed.Load(), tallies) {
			return answer.Err
		}
		for _, r := range b.runs {
			if len(b.runs) == 1 {
				s.park(r, answer.Err)
				r.settlement.done = true
			}
			r.settlement.maxPerCall = max(1, len(b.runs)/2)
		}
		return nil
	}
	s.worker.passed.Add(1)
	acknowledged := b.runs
	if len(answer.Gone)+len(answer.Cancelled)+len(answer.Waited) > 0 {
		acknowledged = s.splitFinished(b, answer)
	}
	if s.replicas == nil || !s.replicas.hold(b.session, acknowledged) {
		s.finish(b.session, acknowledged)
	}
	return nil
}

// finish books runs of which nothing is left to do.
func (s *settler) finish(of *session, acknowledged []*run) {
	dying := 0
	for _, r := range acknowledged {
		r.settlement.done = true
		s.unpark(r)
		s.worker.clear(r)
		if lost := r.lostLog(); lost != nil {
			s.unsentEvents = append(s.unsentEvents, func() { s.worker.events.emit(lost) })
		}
		if r.needsDeathHook() {
			dying++
			s.worker.startDeathHook(r)
		}
	}
	s.acknowledged += len(acknowledged)
	s.worker.leaveGatherers(acknowledged)
	s.count(of, acknowledged)
	of.drop(acknowledged)
	s.worker.noteLeft()
	s.worker.slots.Settled(len(acknowledged) - dying)
}

// splitFinished returns the runs that are over, and changes the decisions about those that are not: they are sent once
// more.
func (s *settler) splitFinished(b *batch, answer rdb.Settled) (over []*run) {
	now := s.worker.clock.Now()
	for _, r := range b.runs {
		switch {
		case slices.Contains(answer.Cancelled, r.claim.Element):
			r.decision = r.cancelDecision(now)
			cancelled := event.JobCancelled{JobRef: r.ref()}
			s.unsentEvents = append(s.unsentEvents, func() { s.worker.events.emit(cancelled) })
			continue
		case slices.Contains(answer.Waited, r.claim.Element):
			r.keepForWaiters(now)
			continue
		case !slices.Contains(answer.Gone, r.claim.Element):
		case r.settlement.verdict == rdb.GoneForgotten && r.unrestored.Load():
			s.park(r, errForgotten) // others must not wait for it
			r.settlement.done = true
			continue
		case r.settlement.verdict == rdb.GoneForgotten:
			s.forgotten = true
			continue
		default:
			s.noteGone(r)
		}
		over = append(over, r)
	}
	return over
}

// park puts a run aside whose outcome is refused for a reason that is not the server's, as far as anybody knows. The
// next heartbeat notes in Redis why the job goes on to be listed as running.
func (s *settler) park(r *run, err error) {
	s.parked = append(s.parked, r)
	if !r.apart {
		s.counted++
		s.worker.slots.Park()
	}
	if r.settlement.parkedFor == err.Error() {
		return
	}
	s.unpark(r)
	r.settlement.parkedFor = err.Error()
	r.longJob().Refused(excerpt.Start(err.Error(), record.MaxErrorBytes))
	r.session.watch(r)
	s.unsentEvents = append(s.unsentEvents, s.refused.Add(err, "settler, "+r.ref().String(), s.worker.events.emit))
	s.worker.rights.Doubt(err)
}

// unpark notes that a run is not refused any more, at least not for the reason of before.
func (s *settler) unpark(r *run) {
	if r.settlement.parkedFor == "" {
		return
	}
	if over := s.refused.Drop(r.settlement.parkedFor); over != nil {
		s.unsentEvents = append(s.unsentEvents, over)
	}
	r.settlement.parkedFor = ""
}

// dropDone removes what is done from the pending ones.
func (s *settler) dropDone() {
	rest := s.pending[:0]
	for _, r := range s.pending {
		if !r.settlement.done {
			rest = append(rest, r)
		}
	}
	clear(s.pending[len(rest):])
	s.pending = rest
}
