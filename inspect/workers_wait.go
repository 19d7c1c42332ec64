package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
)

// The time between two looks for workers grows from the first to the second.
const (
	firstWorkersLook   = 20 * time.Millisecond
	longestWorkersLook = 500 * time.Millisecond
)

// WaitForWorkers waits until at least n workers are there, each of which serves all of those names, if any are given,
// and returns their ids in order. A worker counts that has a heartbeat and that nobody wants to be quiet or to stop;
// one that is paused counts. A pool has a worker in each partition: with several there must be n in each, and the ids
// are those of all. It is meant for deploys and tests: it looks again after 20 ms at first and 500 ms in the
// long run, and what a look costs Redis grows with the workers that are registered.
//
// When ctx ends before, it returns those that are there, and an error that says how many, and that is the cause of the
// ctx. It may be called concurrently.
func (i *Inspector) WaitForWorkers(ctx context.Context, n int, names ...string) ([]string, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	if n < 1 {
		return nil, &work.InvalidError{What: "the number of workers to wait for", Value: fmt.Sprint(n),
			Remedy: "give 1 or more"}
	}
	var there presence
	for look := firstWorkersLook; ; look = min(2*look, longestWorkersLook) {
		present, err := i.present(ctx, names)
		switch {
		case ctx.Err() != nil:
			return there.ids, fmt.Errorf("%d of %d workers are there%s: %w", there.fewest, n, thatServe(names),
				excerpt.Error(context.Cause(ctx)))
		case err != nil:
			return there.ids, fmt.Errorf("the workers cannot be counted: %w", err)
		case present.fewest >= n:
			return present.ids, nil
		}
		there = present
		backoff.Pause(ctx, look)
	}
}

// presence is which workers are there, and how many in the partition that has the fewest.
type presence struct {
	ids    []string
	fewest int
}

func (i *Inspector) present(ctx context.Context, names []string) (presence, error) {
	return gather(ctx, i.served(ctx), func(v *view, ctx context.Context) (presence, error) {
		ids, err := v.store.Present(ctx, names)
		return presence{ids, len(ids)}, err
	}, func(all *presence, one presence) {
		all.ids = slices.Sorted(slices.Values(slices.Concat(all.ids, one.ids)))
		all.fewest = min(all.fewest, one.fewest)
	})
}

func thatServe(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for n, name := range names {
		quoted[n] = excerpt.Brief(name)
	}
	return " that serve " + strings.Join(quoted, " and ")
}
