package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/bench/peer"
)

// enqueue stores jobs one by one from so many callers, with no worker beside it.
func enqueue(callers int) Scenario {
	name := fmt.Sprintf("enqueue, %d callers", callers)
	if callers == 1 {
		name = "enqueue, 1 caller"
	}
	run := func(ctx context.Context, r *Run) ([]Metric, error) {
		return r.store(ctx, func(session peer.Session, names []string) error {
			return insertFrom(ctx, session, names, r.Jobs, callers)
		})
	}
	return Scenario{Name: name, Jobs: [3]int{200, 300_000, 1_000_000}, Fitted: true, Run: run}
}

// bulk stores jobs in the fastest way that the library documents, in lists of 5,000.
func bulk() Scenario {
	run := func(ctx context.Context, r *Run) ([]Metric, error) {
		return r.store(ctx, func(session peer.Session, names []string) error {
			return r.fill(ctx, session, names, r.Jobs, "")
		})
	}
	return Scenario{Name: "enqueue in bulk", Jobs: [3]int{200, 500_000, 1_000_000}, Fitted: true, Run: run}
}

// store times how jobs come into the store. In a tiny run all of them are then run as well, to see that each is there.
func (r *Run) store(ctx context.Context, insert func(session peer.Session, names []string) error) (metrics []Metric,
	err error) {
	names := names(10)
	session, err := r.open(ctx, "", names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	tidy()
	before, err := r.usage()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := insert(session, names); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	costs, err := r.cost(before, r.Jobs)
	if err != nil {
		return nil, err
	}
	if err := r.expectWaiting(ctx, session, r.Jobs); err != nil {
		return nil, err
	}
	if r.Size == Tiny {
		book := newLedger(r.Jobs)
		if _, _, err := r.timed(ctx, session, peer.Workload{Names: names, Concurrency: 20, Handle: book.book}, book,
			before); err != nil {
			return nil, err
		}
	}
	return append([]Metric{{Name: "jobs", Unit: "/s", Value: perSecond(r.Jobs, took)}}, costs...), nil
}

func insertFrom(ctx context.Context, session peer.Session, names []string, jobs, callers int) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, callers)
	for caller := range callers {
		group.Go(func() {
			for errs[caller] == nil {
				i := int(next.Add(1)) - 1
				if i >= jobs {
					return
				}
				errs[caller] = session.Insert(ctx, peer.Job{Name: names[i%len(names)], Args: peer.Args{ID: int64(i)}})
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// memory is what a waiting job takes in the store.
func memory() Scenario {
	run := func(ctx context.Context, r *Run) (metrics []Metric, err error) {
		names := names(10)
		session, err := r.open(ctx, "", names)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, session.Close()) }()
		// what is there once is not counted
		if err := session.InsertMany(ctx, []peer.Job{{Name: names[0]}}); err != nil {
			return nil, err
		}
		empty, err := r.Stage.of(r.Library).Stored(ctx)
		if err != nil {
			return nil, err
		}
		jobs := make([]peer.Job, r.Jobs)
		for i := range jobs {
			jobs[i] = peer.Job{Name: names[i%len(names)], Args: peer.Args{ID: int64(i)}}
		}
		if err := session.InsertMany(ctx, jobs); err != nil {
			return nil, err
		}
		full, err := r.Stage.of(r.Library).Stored(ctx)
		if err == nil {
			err = r.expectWaiting(ctx, session, r.Jobs+1)
		}
		return []Metric{{Name: "bytes per waiting job", Unit: "B", Value: float64(full-empty) / float64(r.Jobs),
			Lower: true}}, err
	}
	return Scenario{Name: "memory", Jobs: [3]int{200, 100_000, 1_000_000}, Rounds: [3]int{1, 1, 1}, Run: run}
}
