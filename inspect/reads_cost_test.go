package inspect_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// TestReadsCostThePageAndNotTheJobs compares what Redis spends on each read where many jobs are in each of a queue,
// scheduled, retry and the morgue with what it spends where few are. WORK_READS_LONG=1 does so with 1,000,000, and
// writes the figures into the file that WORK_READS_FIGURES names.
func TestReadsCostThePageAndNotTheJobs(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		redistest.SkipUnderRace(t, "it measures Redis, and calls one after the other")
		few, many, allowance := 2_000, 40_000, 2.0 // so few all fit into the caches of a processor
		if os.Getenv("WORK_READS_LONG") == "1" {
			few, many, allowance = 10_000, 1_000_000, 1
		}
		server := redistest.Dedicated(t, "--activerehashing", "no", "--hz", "1")
		small, large := newCrowded(t, server, few), newCrowded(t, server, many)
		figures := fmt.Sprintf("| read | %s jobs in each place | %s | times |\n|---|--:|--:|--:|\n",
			redistest.Grouped(few), redistest.Grouped(many))
		for _, r := range costlyReads() {
			a, b := costs(r, small, large)
			times := float64(b) / float64(a)
			figures += fmt.Sprintf("| %s | %d µs | %d µs | %.1f |\n", r.name, a.Microseconds(), b.Microseconds(), times)
			assert.LessOrEqual(t, times, allowance*r.most, "%s takes Redis %s instead of %s", r.name, b, a)
		}
		t.Log("\n" + figures)
		if file := os.Getenv("WORK_READS_FIGURES"); file != "" {
			redistest.WriteFigures(t, file, "reads", figures)
		}
	})
}

// costlyRead is one way to look at many jobs.
type costlyRead struct {
	name string
	most float64 // how many times it may cost where there are so many times as many jobs
	do   func(ctx context.Context, i *inspect.Inspector, many int) error
}

func costlyReads() []costlyRead {
	page := func(name string, opts inspect.PageOptions, from func(many int) *inspect.Mark) costlyRead {
		return costlyRead{name, 2, func(ctx context.Context, i *inspect.Inspector, many int) error {
			asked := opts
			if from != nil {
				asked.Cursor = inspect.EncodeCursor(inspect.PageCursor{State: opts.State, Name: opts.Name,
					Newest: opts.Newest, Mark: *from(many)})
			}
			page, err := i.Page(ctx, asked)
			if err == nil && (len(page.Jobs) != inspect.DefaultPage || page.Total != many) {
				err = fmt.Errorf("%d jobs of %d", len(page.Jobs), page.Total)
			}
			return err
		}}
	}
	search := func(name string, most float64, selection inspect.Selection, looked int) costlyRead {
		return costlyRead{name, most, func(ctx context.Context, i *inspect.Inspector, many int) error {
			page, err := i.Search(ctx, selection, inspect.SearchOptions{})
			if wanted := min(looked, many); err == nil && page.Looked != wanted {
				err = fmt.Errorf("%d looked at, not %d", page.Looked, wanted)
			}
			return err
		}}
	}
	shelf := func(letter string, score func(n int) int) func(int) *inspect.Mark {
		return func(many int) *inspect.Mark {
			return &inspect.Mark{Score: strconv.Itoa(score(many / 2)), ID: redistest.CrowdID(letter, many/2)}
		}
	}
	spread := func(n int) int { return redistest.CrowdTime + n }
	alike := func(int) int { return redistest.CrowdTime }
	return []costlyRead{
		{"`Counts`", 2, func(ctx context.Context, i *inspect.Inspector, _ int) error {
			_, err := i.Counts(ctx)
			return err
		}},
		{"`Queues`", 2, func(ctx context.Context, i *inspect.Inspector, _ int) error {
			_, err := i.Queues(ctx)
			return err
		}},
		{"`Job`", 2, func(ctx context.Context, i *inspect.Inspector, many int) error {
			_, err := i.Job(ctx, redistest.CrowdID("m", many/2))
			return err
		}},
		page("`Page`: a queue, from its front", inspect.PageOptions{State: work.StateQueued, Name: "n"}, nil),
		page("a queue, from its back", inspect.PageOptions{State: work.StateQueued, Name: "n", Newest: true}, nil),
		page("a queue, in the middle", inspect.PageOptions{State: work.StateQueued, Name: "n"},
			func(many int) *inspect.Mark {
				return &inspect.Mark{Line: &rdb.QueueCursor{At: many / 2, Length: many,
					Before: []rdb.Anchor{rdb.AnchorOf(redistest.CrowdID("q", many/2-1))},
					Behind: []rdb.Anchor{rdb.AnchorOf(redistest.CrowdID("q", many/2))}}}
			}),
		page("scheduled, due first", inspect.PageOptions{State: work.StateScheduled}, nil),
		page("scheduled, due last", inspect.PageOptions{State: work.StateScheduled, Newest: true}, nil),
		page("scheduled, in the middle", inspect.PageOptions{State: work.StateScheduled}, shelf("s", spread)),
		page("retry, where all are due at the same time, in the middle", inspect.PageOptions{State: work.StateRetrying},
			shelf("r", alike)),
		page("the morgue, in the middle, the newest first", inspect.PageOptions{State: work.StateDead, Newest: true},
			shelf("m", spread)),
		// 2,000 looks into a hash of millions are as many ways through main memory, and into one of thousands they are
		// none.
		search("`Search`: 2,000 records of a queue", 3, inspect.Selection{State: work.StateQueued, Tag: "x"},
			inspect.MaxSearched),
		search("2,000 records of the morgue", 3, inspect.Selection{State: work.StateDead, Tag: "x"},
			inspect.MaxSearched),
		search("all states, by id", 2, inspect.Selection{ID: redistest.CrowdID("r", 77)}, 1),
	}
}

// crowded is a namespace with many jobs.
type crowded struct {
	*redistest.Crowd
	t *testing.T
	i *inspect.Inspector
}

func newCrowded(t *testing.T, server *redistest.Process, many int) *crowded {
	t.Helper()
	k := newKit(t, server.Server())
	c := &crowded{Crowd: redistest.NewCrowd(t, server.Addr(), k.Namespace, many), t: t, i: k.inspector()}
	counts, err := c.i.Counts(k.Ctx())
	require.NoError(t, err)
	require.Equal(t, []int{many, many, many, many},
		[]int{counts.Queued, counts.Scheduled, counts.Retrying, counts.Dead})
	return c
}

// costs are what the thread of Redis that runs commands spends on one read of either: the least of some rounds, in
// turns, since other processes get in the way of its caches. A few rounds do where they show that both cost alike.
func costs(r costlyRead, small, large *crowded) (few, many time.Duration) {
	const rounds, least = 15, 4
	few, many = small.cost(r), large.cost(r)
	for round := 1; round < rounds && (round < least || float64(many) > r.most*float64(few)); round++ {
		few, many = min(few, small.cost(r)), min(many, large.cost(r))
	}
	return few, many
}

func (c *crowded) cost(r costlyRead) time.Duration {
	c.t.Helper()
	const reads = 10
	ctx, cancel := context.WithTimeout(context.Background(), 6*pooltest.Patience)
	defer cancel()
	before := c.Spent()
	for range reads {
		require.NoError(c.t, r.do(ctx, c.i, c.Many), r.name)
	}
	return (c.Spent() - before) / reads
}
