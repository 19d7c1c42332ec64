package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/requeue"
)

// The bounds of a settlement.
const (
	maxSettleCalls = 64
	maxSettleBytes = 1 << 20
)

// batch is one call of a settlement with the runs that it settles.
type batch struct {
	session *session
	runs    []*run
	flows   map[string]bool // of which members are among the runs
}

// fits tells whether there is room for another run.
func (b *batch) fits(r *run, most int) bool {
	flow := r.record.Flow
	return len(b.runs) < most && (flow == "" || b.flows[flow] || len(b.flows) < rdb.MaxFlows)
}

func (b *batch) add(r *run) {
	b.runs = append(b.runs, r)
	if flow := r.record.Flow; flow != "" && !b.flows[flow] {
		if b.flows == nil {
			b.flows = map[string]bool{}
		}
		b.flows[flow] = true
	}
}

// gone are the runs whose claim is gone.
func (b *batch) gone(answer rdb.Settled) (gone []*run) {
	for _, r := range b.runs {
		if len(answer.Gone) > 0 && slices.Contains(answer.Gone, r.claim.Element) {
			gone = append(gone, r)
		}
	}
	return gone
}

func (b *batch) markSent() {
	for _, r := range b.runs {
		r.settlement.sent = true
	}
}

// noteTurn is called before a send.
func (b *batch) noteTurn() {
	turn, _ := b.session.book.Turn()
	for _, r := range b.runs {
		r.settlement.turn = turn
	}
}

// batchKey is what runs must have in common to share a call.
type batchKey struct {
	session    *session
	kind       verb   // verbDone for all that end
	queue      string // of what is released
	begun      bool
	member     bool // of a flow: what is broken there is not to hold up others
	maxPerCall int
}

// batches are for the calls that settle some of what is pending, up to the size of a pipeline: those that end many to a
// call, those that are given back one call per queue, the others each a call of its own.
func (s *settler) batches(runs []*run) []*batch {
	inOrder(runs)
	var batches []*batch
	open := map[batchKey]*batch{}
	var last batchKey
	var b *batch // the open one of last
	bytes := 0
	for _, r := range runs {
		if key := keyOf(r); b == nil || key != last {
			b, last = open[key], key
		}
		// What is given back goes in one call as long as it fits: the next one would put newer jobs before older ones.
		if bytes > maxSettleBytes && (b == nil || last.kind != verbRelease) {
			continue
		}
		if b == nil || !b.fits(r, last.maxPerCall) {
			if len(batches) == maxSettleCalls {
				continue
			}
			b = &batch{session: r.session, runs: make([]*run, 0, min(len(runs), last.maxPerCall))}
			batches = append(batches, b)
			open[last] = b
		}
		b.add(r)
		bytes += len(r.decision.trail) + len(r.decision.result) + len(r.decision.details) + len(r.decision.forFlow) +
			2*len(r.claim.Element)
	}
	return newestReleaseFirst(batches)
}

func keyOf(r *run) batchKey {
	key := batchKey{session: r.session, kind: r.decision.verb, maxPerCall: r.callLimit()}
	switch key.kind {
	case verbDiscard, verbExpire:
		key.kind, key.member = verbDone, r.record.Flow != ""
	case verbDone:
		key.member = r.record.Flow != ""
	case verbRelease:
		key.queue, key.begun = r.claim.Queue, r.begun.Load() != 0
	}
	return key
}

// callLimit is how many runs may share a call with this one.
func (r *run) callLimit() int {
	switch r.decision.verb {
	case verbDone, verbDiscard, verbExpire, verbRelease:
		if belongings := r.belongings(); r.decision.verb != verbRelease && !belongings.OnlyFlow() {
			return 1
		}
		if r.settlement.maxPerCall > 0 {
			return r.settlement.maxPerCall
		}
		return rdb.MaxBatch
	}
	return 1
}

// makeCalls makes the calls of all batches.
func (s *settler) makeCalls(ctx context.Context, batches []*batch) ([]redisconn.Call, error) {
	calls := make([]redisconn.Call, len(batches))
	for i, b := range batches {
		if b.runs[0].decision.verb != verbRelease {
			calls[i] = s.makeCall(b)
			continue
		}
		call, err := s.requeueRuns(ctx, b)
		if err != nil {
			return nil, err
		}
		calls[i] = call
	}
	return calls, nil
}

// requeueRuns makes the call that requeues the runs of a batch.
func (s *settler) requeueRuns(ctx context.Context, b *batch) (redisconn.Call, error) {
	first := b.runs[0]
	released := rdb.Released{Queue: first.claim.Queue, Elements: make([]string, len(b.runs)),
		Ended: first.begun.Load() != 0}
	places := make([]requeue.Place, len(b.runs))
	for i, r := range b.runs {
		released.Elements[i], places[i] = r.claim.Element, r.place()
	}
	return s.worker.site.requeued.Call(ctx, b.session.rdb, released, places)
}

// turnPatience is how long the settler waits for its turn, behind another worker whose connection hangs. The outcomes
// that come meanwhile wait too, and that they reach Redis before a stop gives up counts for more than an order.
const turnPatience = 2 * time.Second

// turn waits until none of the pool's other workers requeues anything to the queues of these batches, and returns what
// ends that. What ends otherwise needs no turn.
func (s *settler) turn(life context.Context, batches []*batch) (end func(), err error) {
	var queues []string
	for _, b := range batches {
		if first := b.runs[0]; first.decision.verb == verbRelease {
			queues = append(queues, first.claim.Queue)
		}
	}
	ctx, cancel := context.WithTimeout(life, turnPatience)
	defer cancel()
	end, err = s.worker.site.requeued.Begin(ctx, queues...)
	if err != nil && life.Err() == nil {
		return func() {}, nil
	}
	return end, err
}

// makeCall makes the one call that settles a batch. Nothing is sent yet, and a call may be sent more than once: each
// script acts only as long as the claim stands, so what has counted already is answered as gone. The slice s.ended is
// shared by all calls, and cleared so that it does not keep the results of jobs in memory.
func (s *settler) makeCall(b *batch) redisconn.Call {
	first := b.runs[0]
	w := b.session.rdb
	belongings := first.belongings()
	alone := first.decision.verb == verbCancel || !belongings.OnlyFlow()
	if state, ends := endState[first.decision.verb]; ends && alone {
		return w.End(first.claim, rdb.Ending{
			ID: first.job.ID, Queue: first.claim.Queue, State: state, Keep: first.decision.keep,
			Outcome: first.decision.result, Details: first.decision.details, Name: first.job.Name,
			Belongings: belongings,
		})
	}
	switch first.decision.verb {
	case verbDone, verbDiscard, verbExpire:
		s.ended = s.ended[:0]
		for _, r := range b.runs {
			s.ended = append(s.ended, rdb.Ended{Claim: r.claim, ID: r.job.ID, Keep: r.decision.keep,
				Outcome: r.decision.result, State: endState[r.decision.verb], Details: r.decision.details,
				Keyed: r.record.Key != "", Flow: r.membership(), Name: r.job.Name})
		}
		defer clear(s.ended)
		return w.Complete(s.ended)
	}
	shelf := map[verb]rdb.Shelf{verbRetry: rdb.ShelfRetry, verbSnooze: rdb.ShelfScheduled, verbBury: rdb.ShelfMorgue}
	return w.Shelve(rdb.Shelved{
		Claim: first.claim, Shelf: shelf[first.decision.verb], Delay: first.decision.delay, Trail: first.decision.trail,
		Into: first.decision.queue, KeepCrashes: first.decision.keepCrashes, Completion: belongings.Completion,
		Lock: first.lostLock(), Keyed: first.record.Key != "", Flow: belongings.Flow, Wait: first.decision.wait,
	})
}

// newestReleaseFirst reverses the order of calls that give back: each puts its jobs before those already there, so the
// oldest must come last.
func newestReleaseFirst(batches []*batch) []*batch {
	ordered := make([]*batch, 0, len(batches))
	for i := len(batches) - 1; i >= 0; i-- {
		ordered = append(ordered, batches[i])
	}
	return ordered
}

// settle sends what settles these batches in one pipeline. What is left of the logs of their jobs goes ahead of it in
// the same write: once a job has ended nobody could write it. The turn of what is requeued ends with the answer.
func (s *settler) settle(life context.Context, batches []*batch) ([]rdb.Settled, error) {
	end, err := s.turn(life, batches)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(life, settleTimeout) // none of it was spent on waiting
	defer cancel()
	ahead, err := s.sendLogs(ctx, batches)
	if err != nil {
		return nil, err
	}
	calls, err := s.makeCalls(ctx, batches)
	if err != nil {
		return nil, err
	}
	// All calls of a pipeline go through one session's handle: the keys in each name their own worker.
	logged, settled, err := s.pipeline(ctx, batches[0].session, callsOf(ahead), calls)
	if err != nil {
		return nil, err
	}
	noteLogged(ahead, logged)
	return settled, nil
}

// pipeline sends a settlement, with its number behind it where replicas are waited for.
func (s *settler) pipeline(ctx context.Context, of *session, logs, calls []redisconn.Call) ([]rdb.Logged,
	[]rdb.Settled, error) {
	if s.replicas == nil {
		return of.rdb.SettleBehind(ctx, logs, calls)
	}
	note := s.worker.store.NoteSettled(s.replicas.next())
	logged, settled, noted, err := of.rdb.SettleNoted(ctx, logs, calls, note)
	if err == nil {
		s.replicas.noted(noted)
	}
	return logged, settled, err
}

// sendLogs sends as much of the logs of these batches as does not fit beside their outcomes, and returns the rest.
func (s *settler) sendLogs(ctx context.Context, batches []*batch) (rest []joblog.Batch, err error) {
	bytes := 0
	for _, b := range batches {
		for _, r := range b.runs {
			for _, lines := range r.logLeft() {
				if len(rest) == maxSettleCalls || bytes > maxSettleBytes {
					logged, err := s.worker.store.SendLogs(ctx, callsOf(rest))
					if err != nil {
						return nil, err
					}
					noteLogged(rest, logged)
					rest, bytes = nil, 0
				}
				rest = append(rest, lines)
				bytes += lines.Bytes
			}
		}
	}
	return rest, nil
}

func callsOf(batches []joblog.Batch) []redisconn.Call {
	calls := make([]redisconn.Call, len(batches))
	for i, b := range batches {
		calls[i] = b.Call
	}
	return calls
}

func noteLogged(batches []joblog.Batch, logged []rdb.Logged) {
	for i, answer := range logged {
		batches[i].Answered(answer)
	}
}

// count adds runs whose outcomes were acknowledged just now to what their worker has run, and to the history of their
// names.
func (s *settler) count(of *session, runs []*run) {
	begun, took := 0, time.Duration(0)
	for _, r := range runs {
		if !r.apart && r.begun.Load() != 0 {
			begun, took = begun+1, took+r.elapsed
		}
		if result := r.historyResult(); result != 0 {
			s.attempts = append(s.attempts, history.Attempt{
				Name: r.job.Name, ID: r.job.ID, Result: result, Error: r.decision.failure,
				TimedOut: r.decision.kind == event.FailureTimeout,
				Begun:    r.begunAt(), Due: r.job.RunAt, Took: r.elapsed / time.Duration(max(1, r.shared)),
				Gap: r.gap(),
			})
		}
	}
	s.worker.ahead.Ran(begun, took)
	of.ran.Count(s.attempts)
	if !s.worker.engine.options.NoHistory {
		s.worker.stats.Count(s.attempts)
	}
	clear(s.attempts)
	s.attempts = s.attempts[:0]
}

// gap is how long a job that failed was put off; 0 of all others.
func (r *run) gap() time.Duration {
	if r.decision.verb != verbRetry {
		return 0
	}
	return max(0, r.decision.delay)
}

// historyResult is how history counts a settled run; 0 where it does not.
func (r *run) historyResult() history.Result {
	switch {
	case r.settlement.lostClaim:
		return 0 // whoever has it now counts it
	case r.decision.verb == verbDone:
		return history.Done
	case r.decision.verb == verbRetry:
		return history.Failed
	case r.decision.verb == verbBury, r.decision.death != nil:
		return history.Dead
	}
	return 0
}

// resolveGone finds out what became of claims that are gone. If an earlier send of the same outcome was not answered,
// that one may have counted, or the claim was taken away before it came. And Redis may have forgotten the claim.
func (s *settler) resolveGone(ctx context.Context, batches []*batch, settled []rdb.Settled) error {
	doubtful := map[*session][]*run{}
	for i, b := range batches {
		for _, r := range b.gone(settled[i]) {
			r.settlement.verdict = rdb.GoneTaken
			if r.settlement.sent || s.mayBeForgotten(r) {
				doubtful[b.session] = append(doubtful[b.session], r)
			}
		}
	}
	for c, runs := range doubtful {
		elements := make([]string, len(runs))
		for i, r := range runs {
			elements[i] = r.claim.Element
		}
		verdicts, err := c.rdb.GoneClaims(ctx, elements)
		if err != nil {
			return err
		}
		for i, r := range runs {
			r.settlement.verdict = s.judge(r, verdicts[i])
			if r.settlement.verdict == rdb.GoneCounted && r.fetchNumber() <= c.forgotten.Load() {
				r.settlement.verdict = rdb.GoneUnknown // Redis has lost what it knew: also, perhaps, this claim
			}
		}
	}
	return nil
}

// noteGone notes of a run whose claim is gone whether its outcome counted.
func (s *settler) noteGone(r *run) {
	unaccounted := r.unaccounted.Load()
	switch {
	case r.settlement.verdict == rdb.GoneTaken, unaccounted: // whether Redis took it before that does not matter
		gone := event.ClaimGone{JobRef: r.ref(), Unaccounted: unaccounted}
		s.unsentEvents = append(s.unsentEvents, func() { s.worker.events.emit(gone) })
	case r.settlement.verdict == rdb.GoneUnknown:
		unknown := event.OutcomeUnknown{JobRef: r.ref()}
		s.unsentEvents = append(s.unsentEvents, func() { s.worker.events.emit(unknown) })
	default:
		return // an earlier send has counted
	}
	r.settlement.lostClaim = true
}

// judge is the verdict on the claim of a run that is gone, where Redis gives that one. Of what was never sent before no
// outcome can have counted. A registration that Redis does not know is looked into by the next heartbeat.
func (s *settler) judge(r *run, verdict rdb.GoneClaim) rdb.GoneClaim {
	doubtful := s.mayBeForgotten(r)
	switch {
	case doubtful && verdict != rdb.GoneTaken && s.stoodAgain(r):
		return rdb.GoneForgotten // the claim may stand by now
	case doubtful && verdict == rdb.GoneCounted && r.unrestored.Load() && !s.worker.stopping():
		return rdb.GoneForgotten // as Redis knows of that fetch again by others of its jobs
	case doubtful && verdict == rdb.GoneUnknown && !r.settlement.sent && !s.worker.stopping():
		return rdb.GoneForgotten
	case verdict == rdb.GoneForgotten && !doubtful, verdict != rdb.GoneForgotten && !r.settlement.sent:
		return rdb.GoneTaken
	}
	return verdict
}

// mayBeForgotten tells whether Redis, if it has forgotten the claim of this run, is about to be told of it again.
func (s *settler) mayBeForgotten(r *run) bool {
	return !r.unaccounted.Load() && r.session == s.worker.session()
}

// stoodAgain tells whether the claim of a run may have been stored again since its outcome was sent.
func (s *settler) stoodAgain(r *run) bool {
	turn, mending := r.session.book.Turn()
	return turn != r.settlement.turn || mending && !s.worker.stopping()
}

// errForgotten is what a settlement meets when Redis has forgotten claims. They are stored again, and then the outcomes
// are sent once more.
var errForgotten = errors.New("what this worker holds is not known to Redis any more: it is told of it again")
