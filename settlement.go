package work

import (
	"slices"

	"github.com/265d0351/work/internal/rdb"
)

// batch is one call of a settlement with the runs that it settles.
type batch struct {
	claimant *claimant
	call     rdb.Call
	runs     []*run
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
		r.sent = true
	}
}

// batchKey is what runs must have in common to share a call.
type batchKey struct {
	claimant *claimant
	kind     verb   // verbDone for all that end
	queue    string // of what is released
	begun    bool
	lot      int
}

// batches makes the calls that settle what is pending, up to the size of a pipeline: those that end many to a call,
// those that are given back one call per queue, the others each a call of its own.
func (s *settler) batches() []*batch {
	runs := s.pending
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
		if b == nil || len(b.runs) >= last.lot {
			if len(batches) == maxSettleCalls {
				continue
			}
			b = &batch{claimant: r.claimant, runs: make([]*run, 0, min(len(runs), last.lot))}
			batches = append(batches, b)
			open[last] = b
		}
		b.runs = append(b.runs, r)
		bytes += len(r.decision.trail) + len(r.decision.result) + 2*len(r.claim.Element)
	}
	batches = newestReleaseFirst(batches)
	for _, b := range batches {
		b.call = s.makeCall(b)
	}
	return batches
}

func keyOf(r *run) batchKey {
	key := batchKey{claimant: r.claimant, kind: r.decision.verb, lot: r.limit()}
	switch key.kind {
	case verbDiscard, verbExpire:
		key.kind = verbDone
	case verbRelease:
		key.queue, key.begun = r.claim.Queue, r.begun.Load() != 0
	}
	return key
}

// limit is how many runs may share a call with this one.
func (r *run) limit() int {
	switch r.decision.verb {
	case verbDone, verbDiscard, verbExpire, verbRelease:
		if belongings := r.belongings(); r.decision.verb != verbRelease && !belongings.None() {
			return 1
		}
		if r.lot > 0 {
			return r.lot
		}
		return rdb.MaxBatch
	}
	return 1
}

func (s *settler) makeCall(b *batch) rdb.Call {
	first := b.runs[0]
	w := b.claimant.rdb
	belongings := first.belongings()
	if state, ends := endState[first.decision.verb]; ends && (first.decision.verb == verbCancel || !belongings.None()) {
		return w.End(first.claim, rdb.Ending{
			ID: first.job.ID, Queue: first.claim.Queue, State: state, Keep: first.decision.keep,
			Outcome:    first.decision.result,
			Belongings: belongings,
		})
	}
	switch first.decision.verb {
	case verbDone, verbDiscard, verbExpire:
		s.ended = s.ended[:0]
		for _, r := range b.runs {
			s.ended = append(s.ended, rdb.Ended{Claim: r.claim, ID: r.job.ID, Keep: r.decision.keep,
				Outcome: r.decision.result})
		}
		defer clear(s.ended)
		return w.Complete(s.ended)
	case verbRelease:
		elements, turns := make([]string, len(b.runs)), make([]turn, len(b.runs))
		for i, r := range b.runs {
			elements[i], turns[i] = r.claim.Element, r.turn()
		}
		queue := first.claim.Queue
		older := s.worker.pool.returns.note(queue, turns)
		return w.Release(rdb.Released{Queue: queue, Elements: elements, Ended: first.begun.Load() != 0, Older: older})
	}
	shelf := map[verb]rdb.Shelf{verbRetry: rdb.ShelfRetry, verbSnooze: rdb.ShelfScheduled, verbBury: rdb.ShelfMorgue}
	return w.Shelve(rdb.Shelved{
		Claim: first.claim, Shelf: shelf[first.decision.verb], Delay: first.decision.delay, Trail: first.decision.trail,
		KeepCrashes: first.decision.keepCrashes, Completion: belongings.Completion, Lock: first.lostLock(),
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
