package doctest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestBoundsOfAnEntryFromBothSides: what is as large as it may be is stored, and what is by one larger is refused.
func TestBoundsOfAnEntryFromBothSides(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("x", n) }
	with := func(option work.EnqueueOption) work.Entry {
		return work.Entry{Name: "a", Options: []work.EnqueueOption{option}}
	}
	const century = 100 * 365 * 24 * time.Hour
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for what, row := range map[string]struct{ most, beyond work.Entry }{
			"name":    {work.Entry{Name: text(200)}, work.Entry{Name: text(201)}},
			"id":      {with(work.ID(text(200))), with(work.ID(text(201)))},
			"key":     {with(work.Key(text(200))), with(work.Key(text(201)))},
			"meta":    {with(work.Meta("k", text(16<<10-1))), with(work.Meta("k", text(16<<10)))},
			"retries": {with(work.Retries(100_000)), with(work.Retries(100_001))},
			"delay":   {work.Entry{Name: "a", In: century}, work.Entry{Name: "a", In: century + 26*24*time.Hour}},
		} {
			_, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{row.most})
			require.NoError(t, err, what)
			_, err = k.Enq.EnqueueMany(k.Ctx(), []work.Entry{row.beyond})
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid, what)
		}
		for n, refused := range map[int]bool{100: false, 101: true} {
			enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(text(n)))
			assert.Equal(t, refused, err != nil, n)
			if err == nil {
				require.NoError(t, enq.Close())
			}
		}
	})
}

// TestTheLargestResultFromBothSides: an object has at most 64 MiB, and where nothing is an object the outcome 1 MiB.
func TestTheLargestResultFromBothSides(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ large, most int }{
		"an object": {0, 64 << 20}, "in the outcome": {-1, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := redistest.Each
			if row.most > 1<<20 { // seconds of a Redis that others would wait for, and minutes of the embedded one
				on = func(t *testing.T, run func(*testing.T, redistest.Server)) {
					run(t, redistest.Dedicated(t).Server())
				}
			}
			on(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options := k.Options()
				options.LargeArgs = row.large
				refused := make(chan error, 1)
				again := func(_ *work.Job, err error) time.Duration {
					refused <- err
					return 0
				}
				k.Start(work.NewWorkerPool(nil, 1, options).JobWithOptions("large",
					work.JobOptions{Backoff: again, Retention: time.Hour}, func(job *work.Job) (string, error) {
						return strings.Repeat("x", row.most-job.Attempt), nil // and two quotes
					}))
				id := k.Enqueue("large").ID
				var result *work.ResultError
				require.ErrorAs(t, pooltest.Receive(t, refused), &result)
				assert.Equal(t, 2, pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id)).Attempt)
				got, err := work.Wait[string](k.Ctx(), k.Enq, id)
				require.NoError(t, err)
				assert.Len(t, got, row.most-2)
			})
		})
	}
}
