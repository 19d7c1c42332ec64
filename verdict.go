package work

import (
	"context"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// inquire finds out what became of claims that are gone although an earlier send of the same outcome was not answered:
// that one may have counted, or the claim was taken away before it came.
func (s *settler) inquire(ctx context.Context, batches []*batch, settled []rdb.Settled) error {
	doubtful := map[*claimant][]*run{}
	for i, b := range batches {
		for _, r := range b.gone(settled[i]) {
			if r.verdict = rdb.VerdictTaken; r.sent {
				doubtful[b.claimant] = append(doubtful[b.claimant], r)
			}
		}
	}
	for c, runs := range doubtful {
		elements := make([]string, len(runs))
		for i, r := range runs {
			elements[i] = r.claim.Element
		}
		verdicts, err := c.rdb.Verdicts(ctx, elements)
		if err != nil {
			return err
		}
		for i, r := range runs {
			r.verdict = verdicts[i]
			if r.verdict == rdb.VerdictCounted && r.turn().number <= c.forgotten.Load() {
				r.verdict = rdb.VerdictUnknown // Redis has lost what it knew: also, perhaps, this claim
			}
		}
	}
	return nil
}

// noteGone notes of a run whose claim is gone whether its outcome counted.
func (s *settler) noteGone(r *run) {
	unaccounted := r.unaccounted.Load()
	switch {
	case r.verdict == rdb.VerdictTaken, unaccounted: // whether Redis took it before it lost its data does not matter
		gone := event.ClaimGone{JobRef: r.ref(), Unaccounted: unaccounted}
		s.news = append(s.news, func() { s.worker.events.emit(gone) })
	case r.verdict == rdb.VerdictUnknown:
		unknown := event.OutcomeUnknown{JobRef: r.ref()}
		s.news = append(s.news, func() { s.worker.events.emit(unknown) })
	default:
		return // an earlier send has counted
	}
	r.lostClaim = true
}
