package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// counts are how often the job of each id has run.
type counts struct {
	mu  sync.Mutex
	ran map[string]int
}

func (c *counts) note(job *work.Job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran[job.ID]++
	return nil
}

func (c *counts) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran[id]
}

// flows starts a pool with jobs that are done, die once, add to their flow, and ask for results.
func (c *counts) flows(d *divided) *work.WorkerPool {
	died := map[string]bool{}
	return d.Start(work.NewWorkerPool(nil, 4, d.Options()).
		Job("ok", func(job *work.Job) (string, error) { return job.ID, c.note(job) }).
		Job("end", c.note).
		Job("dies", func(job *work.Job) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !died[job.ID] {
				died[job.ID] = true
				return work.Bury(errors.New("no"))
			}
			c.ran[job.ID]++
			return nil
		}).
		Job("adds", func(ctx context.Context, job *work.Job) error {
			result, err := flow.Result[string](ctx, job, "first")
			if err == nil && result == "" {
				err = errors.New("the result is empty")
			}
			if err == nil {
				err = flow.Add(ctx, job, "added", work.Entry{Name: "ok"})
			}
			if err != nil {
				return work.Bury(err)
			}
			return c.note(job)
		}))
}

// All that there is of flows works in a namespace of several partitions, and a partition that is given up is left when
// its flows have ended: nothing is run twice, and no end is missed.
func TestFlowsInSeveralPartitions(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		const flows = 24
		homes := map[int]int{}
		for i := range flows {
			f := flow.New(fmt.Sprint("f", i)).OnDone("end").OnDeath("end")
			first := f.Job("ok").Named("first")
			f.Job([]string{"adds", "dies"}[i%2]).Named("second").After(first)
			_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
			require.NoError(t, err)
			homes[d.m.At(partition.BucketOfFlow(f.ID()))]++
		}
		require.Len(t, homes, 3)
		_, err := flow.Pause(d.Ctx(), d.Enq, "f0")
		require.NoError(t, err)
		_, err = flow.Cancel(d.Ctx(), d.Enq, "f1")
		require.NoError(t, err)
		pool := c.flows(d)
		d.Drained(pool)
		_, err = flow.Resume(d.Ctx(), d.Enq, "f0")
		require.NoError(t, err)
		for i := range flows {
			id := fmt.Sprint("f", i)
			p, err := flow.Wait(d.Ctx(), d.Enq, id)
			require.NoError(t, err)
			switch {
			case i == 1:
				assert.Equal(t, flow.Cancelled, p.State)
				continue
			case i%2 == 0:
				assert.Equal(t, flow.Progress{State: flow.Done, Total: 3, Done: 3},
					flow.Progress{State: p.State, Total: p.Total, Done: p.Done}, id)
			default:
				assert.Equal(t, flow.DeadEnded, p.State, id)
				if i%4 == 1 {
					_, err = flow.Retry(d.Ctx(), d.Enq, id)
					require.NoError(t, err)
					p, err = flow.Wait(d.Ctx(), d.Enq, id)
					require.NoError(t, err)
					assert.Equal(t, flow.Done, p.State)
				}
			}
		}
		d.Drained(pool)
		for i := range flows {
			id := fmt.Sprint("f", i)
			switch {
			case i == 1:
				assert.Zero(t, c.of(id+"/@done")+c.of(id+"/@dead"))
			case i%2 == 0:
				assert.Equal(t, []int{1, 1, 1, 1}, []int{c.of(id + "/first"), c.of(id + "/second"), c.of(id + "/added"),
					c.of(id + "/@done")}, id)
			case i%4 == 1:
				assert.Equal(t, []int{1, 1, 1, 1}, []int{c.of(id + "/first"), c.of(id + "/second"), c.of(id + "/@dead"),
					c.of(id + "/@done#2")}, id)
			default:
				assert.Equal(t, []int{1, 0, 1}, []int{c.of(id + "/first"), c.of(id + "/second"), c.of(id + "/@dead")},
					id)
			}
		}
	})
}

// Partitions are given up while flows are under way in them. Their members stay, also those that wait for another
// attempt, and the partitions are closed when the flows have ended.
func TestPartitionsAreGivenUpWhenTheirFlowsHaveEnded(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		const flows = 12
		for i := range flows {
			f := flow.New(fmt.Sprint("f", i)).OnDone("end").OnDeath("end")
			first := f.Job("later").Named("first")
			f.Job("ok").Named("second").After(first)
			f.Job("dies").Named("third").After(first)
			_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
			require.NoError(t, err)
		}
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(t, directory.Refresh(d.Ctx()))
		shrunk := make(chan error, 1)
		pool := d.Start(work.NewWorkerPool(nil, 4, d.Options()).
			Job("later", func(job *work.Job) error {
				if job.Attempt == 1 {
					return work.RetryIn(time.Hour, errors.New("not yet"))
				}
				return c.note(job)
			}).
			Job("dies", func(*work.Job) error { return work.Bury(errors.New("no")) }).
			Job("ok", c.note).Job("end", c.note))
		for i := range 30 { // these may be anywhere
			_, err := d.Enq.EnqueueIn(d.Ctx(), "end", 2*time.Hour, i)
			require.NoError(t, err)
		}
		shelved := func(key string) (n []int) {
			for i := range 3 {
				value, err := redisconn.Do(d.Ctx(), d.Raw().Driver(), redisconn.Call{Command: "ZCARD",
					Args: []any{d.store(i).Key(key)}})
				require.NoError(t, err)
				n = append(n, int(value.(int64)))
			}
			return n
		}
		sum := func(n []int) int { return n[0] + n[1] + n[2] }
		d.Until("all members wait", func() bool { return sum(shelved("retry")) == flows })
		waiting, scheduled := shelved("retry"), shelved("scheduled")
		require.NotContains(t, append(waiting, scheduled...), 0)
		go func() { shrunk <- resize.To(d.Ctx(), directory, 1, nil) }()
		d.Until("the shelves are emptied", func() bool { return shelved("scheduled")[0] == 30 })
		assert.Equal(t, waiting, shelved("retry"), "members stay")
		p, err := flow.Read(d.Ctx(), d.Enq, "f0")
		require.NoError(t, err)
		assert.Equal(t, flow.Running, p.State)
		for i := range flows {
			require.NoError(t, d.Inspector().RetryNow(d.Ctx(), fmt.Sprintf("f%d/first", i)))
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, []int{3, 2, 1}, []int{p.Total, p.Done, p.Dead})
		}
		require.NoError(t, <-shrunk)
		d.Drained(pool)
		require.NoError(t, directory.Refresh(d.Ctx()))
		assert.Equal(t, []int{0}, directory.Map().Open())
		assert.Equal(t, flows, d.Number("ZCARD", "morgue"), "they came along")
		refused := 0
		for i := range flows {
			id := fmt.Sprint("f", i)
			assert.Equal(t, []int{1, 1, 1}, []int{c.of(id + "/first"), c.of(id + "/second"), c.of(id + "/@dead")}, id)
			if _, err := flow.Retry(d.Ctx(), d.Enq, id); err != nil {
				assert.ErrorContains(t, err, "partitions again (work partitions --set ")
				refused++
			}
		}
		assert.Positive(t, refused)
	})
}

// A name that becomes limited is brought to its home, but for members of flows: their ends count where those are.
func TestALimitLeavesMembersWhereTheirFlowsAre(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		const flows = 12
		for i := range flows {
			f := flow.New(fmt.Sprint("f", i)).OnDone("end")
			f.Job("ok").Named("second").After(f.Job("ok").Named("first"))
			_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
			require.NoError(t, err)
		}
		for i := range 3 {
			d.fill(i, "ok", 5)
		}
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(t, resize.Bind(d.Ctx(), directory, "ok"))
		home := directory.Map().Home(partition.Job{Name: "ok"}).Partition
		for i := range 3 {
			front, err := d.store(i).FrontOf(d.Ctx(), "ok")
			require.NoError(t, err)
			members := 0
			for _, id := range front {
				if strings.HasSuffix(id, "/first") {
					members++
				}
			}
			assert.Positive(t, members)
			assert.Equal(t, i == home, len(front) > members, "partition %d", i)
		}
		pool := c.flows(d)
		for i := range flows {
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, flow.Done, p.State)
		}
		d.Drained(pool)
	})
}
