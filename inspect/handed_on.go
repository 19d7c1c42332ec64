package inspect

import (
	"context"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// lookFunc is Lookup or Glance of [rdb.Store].
type lookFunc func(ctx context.Context, ids []string, nameOf func(record []byte) string) ([]rdb.Found, error)

// lookedUp looks for jobs. One that a worker without a handler for it has handed on stands in another queue than its
// record says: there it is looked for once more.
func lookedUp(ctx context.Context, ids []string, look lookFunc) ([]rdb.Found, error) {
	found, err := look(ctx, ids, record.QueueIn)
	var again []string
	var at []int
	for n := range found {
		if found[n].Where == rdb.WhereNowhere && handedOnIn(found[n].Record) != "" {
			again, at = append(again, ids[n]), append(at, n)
		}
	}
	if err != nil || len(again) == 0 {
		return found, err
	}
	others, err := look(ctx, again, handedOnIn)
	for k := range others {
		if others[k].Where == rdb.WhereQueue {
			others[k].Queue = handedOnIn(others[k].Record)
		}
		found[at[k]] = others[k]
	}
	return found, err
}

// handedOnIn is the queue of the job of a record where it was handed on; "" where it does not share a queue.
func handedOnIn(raw []byte) string {
	rec, err := record.Decode(raw)
	if err != nil || rec.Shared == "" {
		return ""
	}
	return needs.HandOn(rec.Queue(), rec.Name)
}
