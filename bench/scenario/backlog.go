package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work/bench/peer"
)

// backlog fills the queues with very many jobs, then works them off. How fast it goes must not depend on how much
// waits: the rates of the first and the last tenth are to be alike, in both directions.
func backlog() Scenario {
	return Scenario{
		Name: "backlog", Jobs: [3]int{200, 50_000, 1_000_000}, Rounds: [3]int{1, 1, 1}, Run: runBacklog,
	}
}

func runBacklog(ctx context.Context, r *Run) (metrics []Metric, err error) {
	names := names(10)
	session, err := r.open(ctx, "", names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	tenth := r.Jobs / 10
	var stored [10]time.Duration
	for part := range stored {
		jobs := make([]peer.Job, tenth)
		for i := range jobs {
			id := part*tenth + i
			jobs[i] = peer.Job{Name: names[id%len(names)], Args: peer.Args{ID: int64(id)}}
		}
		begun := time.Now()
		if err := session.InsertMany(ctx, jobs); err != nil {
			return nil, err
		}
		stored[part] = time.Since(begun)
	}
	total := 10 * tenth
	if err := r.expectWaiting(ctx, session, total); err != nil {
		return nil, err
	}
	tidy()
	book := newLedger(total, tenth, total-tenth, total)
	load := peer.Workload{Names: names, Concurrency: 200, Handle: book.book}
	if _, _, err := r.timed(ctx, session, load, book, usage{}); err != nil {
		return nil, err
	}
	return []Metric{
		{Name: "enqueue in bulk, first tenth", Unit: "/s", Value: perSecond(tenth, stored[0])},
		{Name: "enqueue in bulk, last tenth", Unit: "/s", Value: perSecond(tenth, stored[9])},
		{Name: "process, first tenth", Unit: "/s", Value: perSecond(tenth, book.markedAt(0).Sub(book.first()))},
		{Name: "process, last tenth", Unit: "/s", Value: perSecond(tenth, book.markedAt(2).Sub(book.markedAt(1)))},
	}, nil
}
