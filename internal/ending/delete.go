package ending

import (
	"cmp"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Delete is the order that ends a job as deleted if it still stands where it was seen. now is Redis' clock in ms.
func Delete(store *rdb.Store, seen *rdb.SeenJob, now int64) rdb.Order {
	return store.Remove(seen.JobPlace, deleted(seen, now, 0))
}

// DeleteOtherwise is the order for a job that Delete could not end, by the answer to it: one that somebody waits for
// leaves an outcome, and one too deep in its queue is flagged. It is false where there is none.
func DeleteOtherwise(store *rdb.Store, seen *rdb.SeenJob, now int64, answer rdb.Answer) (rdb.Order, bool) {
	switch answer {
	case rdb.AnswerWaited:
		return store.Remove(seen.JobPlace, deleted(seen, now, Kept)), true
	case rdb.AnswerFar:
		return store.Flag(seen.JobPlace, deleted(seen, now, Kept)), true
	}
	return rdb.Order{}, false
}

// deleted is how a job ends that is deleted.
func deleted(seen *rdb.SeenJob, now int64, keep time.Duration) rdb.Ending {
	name := cmp.Or(record.NameIn(seen.Record), seen.Name())
	return Resting{name, seen.Record, seen.Trail, time.UnixMilli(now)}.Deleted(keep)
}
