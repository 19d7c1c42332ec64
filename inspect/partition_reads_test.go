package inspect_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/redistest"
)

// figures are what a read says, as numbers that add up over partitions.
type figures map[string]int64

// summed are reads whose answer is the sum of what each partition says.
var summed = map[string]func(ctx context.Context, i *inspect.Inspector, f figures) error{
	"Counts": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		c, err := i.Counts(ctx)
		for n, count := range []int{c.Queued, c.Running, c.Scheduled, c.Retrying, c.Stalled, c.Dead, c.Workers} {
			f[fmt.Sprint(n)] = int64(count)
		}
		return err
	},
	"EndedCounts": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		c, err := i.EndedCounts(ctx, "a")
		f["s"], f["c"], f["d"], f["e"], f["x"] = int64(c.Succeeded), int64(c.Cancelled), int64(c.Discarded),
			int64(c.Expired), int64(c.Deleted)
		return err
	},
	"ErrorHours": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		groups, _ := i.Errors(ctx, "a") // that some partitions are missing the next call says as well
		for _, g := range groups {
			hours, err := i.ErrorHours(ctx, g.Digest)
			for n, count := range hours[g.Digest] {
				f[g.Digest+fmt.Sprint(n)] = count
			}
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Queues": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		queues, err := i.Queues(ctx)
		for _, q := range queues {
			f.queue(&q)
		}
		return err
	},
	"Queue": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		q, err := i.Queue(ctx, "a")
		f.queue(&q)
		return err
	},
	"Keys": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		page, err := i.Keys(ctx, inspect.KeysOptions{Name: "by key"})
		for _, key := range page.Keys {
			f[key.Key+" waiting"], f[key.Key+" running"] = int64(key.Waiting), int64(key.Running)
		}
		f["waiting"], f["running"], f["parked"] = int64(page.Waiting), int64(page.Running), int64(page.Parked)
		return err
	},
	"Workers": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		workers, err := i.Workers(ctx)
		for _, w := range workers {
			f[w.ID+w.Queues[0]] += int64(len(w.Running))
		}
		return err
	},
	"StoppedWorkers": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		workers, err := i.StoppedWorkers(ctx, 0)
		for _, w := range workers {
			f[w.ID]++
		}
		return err
	},
	"Errors": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		groups, err := i.Errors(ctx, "a")
		for _, g := range groups {
			f[g.Digest+g.Message] += g.Count
		}
		return err
	},
	"History": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		history, err := i.History(ctx, inspect.HistoryOptions{})
		for name, points := range history {
			all := sum(points)
			f[name+" done"], f[name+" failed"], f[name+" dead"] = all.Done, all.Failed, all.Dead
			f[name+" run"], f[name+" took"] = all.Run.Count(), int64(all.Run.Sum)
		}
		return err
	},
	"Limits": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		limits, err := i.Limits(ctx)
		for _, l := range limits {
			f[l.Name] += int64(l.Running)
		}
		return err
	},
	"Schedules": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		schedules, err := i.Schedules(ctx)
		for _, s := range schedules {
			f[s.ID]++
		}
		return err
	},
	"Page": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		page, err := i.Page(ctx, inspect.PageOptions{State: work.StateSucceeded, Name: "a"})
		for _, job := range page.Jobs {
			f[job.ID]++
		}
		f["total"] = int64(page.Total)
		return err
	},
	"Search": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		page, err := i.Search(ctx, inspect.Selection{Name: "a"}, inspect.SearchOptions{Ended: true, Limit: 500})
		for _, job := range page.Jobs {
			f[fmt.Sprint(job.ID, job.State)]++
		}
		f["total"] = int64(page.Total)
		return err
	},
	"Flows": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		page, err := i.Flows(ctx, inspect.FlowsOptions{})
		for _, of := range page.Flows {
			f[of.ID] += int64(of.Left)
		}
		return err
	},
	"FlowCounts": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		c, err := i.FlowCounts(ctx)
		f["running"], f["left"], f["of"] = int64(c.Running), int64(c.MembersLeft), int64(c.MembersOf)
		return err
	},
	"Bulk": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		report, err := i.Bulk(ctx, inspect.Selection{State: work.StateDead}, inspect.ActionDelete,
			inspect.BulkOptions{DryRun: true})
		f["total"], f["looked"], f["matched"] = int64(report.Total), int64(report.Looked), int64(report.Matched)
		return err
	},
	"DestroyQueue": func(ctx context.Context, i *inspect.Inspector, f figures) error {
		report, err := i.DestroyQueue(ctx, "a", inspect.DestroyOptions{DryRun: true})
		f["sum"], f["ended"] = int64(report.Sum()), int64(report.Ended)
		return err
	},
}

func (f figures) queue(q *inspect.QueueInfo) {
	f[q.Name+" waiting"], f[q.Name+" running"], f[q.Name+" workers"] = int64(q.Waiting), int64(q.Running),
		int64(q.Workers)
	f[q.Name+" done"], f[q.Name+" failed"], f[q.Name+" dead"] = q.Done, q.Failed, q.Dead
}

// full lets a partition have something of everything.
func full(n int, k *kit) {
	k.inEveryState("a")
	if n > 0 {
		k.inEveryState(fmt.Sprint("only", n))
	}
	for range n + 1 {
		k.standing(work.StateQueued, "a")
	}
	k.keyed("by key", "shared", n+1)
	k.keyed("by key", fmt.Sprint("only", n), 5)
	k.standing(work.StateQueued, "r")
	k.takes(fmt.Sprint("hand", n), "r", 1)
	f := flow.New(fmt.Sprint("flow", n))
	f.Job("second").After(f.Job("first"))
	_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
	require.NoError(k.T, err)
	i := k.hands()
	require.NoError(k.T, i.AddSchedule(k.Ctx(), "@every 1h", "s", work.PeriodicOptions{ID: fmt.Sprint("each", n)}))
	require.NoError(k.T, i.PauseQueue(k.Ctx(), fmt.Sprint("paused", n)))
}

// inOneMinute reads what is compared with one another, once more where the minute of Redis has changed meanwhile: what
// is told of full minutes is of others then.
func (d *divided) inOneMinute(read func()) {
	d.T.Helper()
	minute := func() time.Time {
		now, err := d.Raw().Time(d.Ctx())
		require.NoError(d.T, err)
		return now.Truncate(time.Minute)
	}
	for begun := minute(); ; {
		read()
		ended := minute()
		if ended.Equal(begun) {
			return
		}
		begun = ended
	}
}

func TestReadsOfPartitionsAreSums(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, full)
		ctx := d.LongCtx()
		of := func(read func(context.Context, *inspect.Inspector, figures) error, ns ...int) figures {
			all := figures{}
			for _, n := range ns {
				one := figures{}
				require.NoError(t, read(ctx, d.alone(n), one))
				for what, count := range one {
					all[what] += count
				}
			}
			return all
		}
		for name, read := range summed {
			var got, all, some figures
			d.inOneMinute(func() {
				got = figures{}
				require.NoError(t, read(ctx, d.i, got), name)
				all, some = of(read, 0, 1, 2), of(read, 0, 2)
			})
			assert.Equal(t, all, got, name)
			assert.NotEmpty(t, got, name)
			assert.NotEqual(t, some, got, "%s: each partition has something", name)
		}
		names, all, err := d.i.Paused(ctx)
		require.NoError(t, err)
		assert.Equal(t, []string{"paused0", "paused1", "paused2"}, names)
		assert.False(t, all)
		counts, err := d.i.Counts(ctx)
		require.NoError(t, err)
		queues, err := d.i.Queues(ctx)
		require.NoError(t, err)
		assert.Equal(t, len(queues), counts.Queues, "a queue counts once, in however many partitions it is")
		oldest := map[string]time.Time{}
		for n := range parts {
			q, err := d.alone(n).Queue(ctx, "a")
			require.NoError(t, err)
			oldest[q.Oldest.String()] = q.Oldest
		}
		q, err := d.i.Queue(ctx, "a")
		require.NoError(t, err)
		for at := range maps.Values(oldest) {
			assert.False(t, at.Before(q.Oldest), "the longest wait of all")
		}

		d.outages.Set(1, partitiontest.Down)
		for name, read := range summed {
			var got, want figures
			d.inOneMinute(func() {
				got, want = figures{}, of(read, 0, 2)
				d.missing(read(ctx, d.i, got), name)
			})
			assert.Equal(t, want, got, "%s: what the others say", name)
		}
		_, _, err = d.i.Paused(ctx)
		d.missing(err)
	})
}
