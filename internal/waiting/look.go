package waiting

import (
	"context"

	"github.com/265d0351/work/internal/rdb"
)

// Look is [Waiters.Wait] for those who may not wait: it tells the ends of the jobs that have ended by now, and returns
// whether these were all, or enough. Where Redis cannot be asked at once it returns false.
func (w *Waiters) Look(ctx context.Context, ids []string, enough func(End) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	all := true
	for len(ids) > 0 {
		answers, err := w.store.Await(ctx, ids, noteLife)
		if err != nil {
			return false
		}
		var left []string
		for i, id := range ids {
			switch answers[i].State {
			case rdb.WaitPending:
				all = false
			case rdb.WaitAskAgain:
				left = append(left, id)
			default:
				if enough(End{ID: id, Known: answers[i]}) {
					return true
				}
			}
		}
		ids = left
	}
	return all
}
