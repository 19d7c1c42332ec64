package partitions_test

import (
	"errors"
	"fmt"
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

// storeNested stores flows of a job, a flow of two jobs with another one between them, and a job. The job of the
// innermost one is given.
func (d *divided) storeNested(flows int, job string) {
	d.T.Helper()
	for i := range flows {
		f := flow.New(fmt.Sprint("f", i)).OnDone("end").OnDeath("end")
		in, deep := flow.New("").OnDone("end").OnDeath("end"), flow.New("")
		deep.Job(job).Named("deep")
		inmost := in.Flow("deep", deep).After(in.Job("ok").Named("first"))
		in.Job("ok").Named("last").After(inmost)
		inner := f.Flow("in", in).After(f.Job("ok").Named("first"))
		f.Job("ok").Named("last").After(inner)
		_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
		require.NoError(d.T, err)
	}
}

// ranNested checks that all of a flow has run once, and its ends.
func (c *counts) ranNested(t *testing.T, i int) {
	t.Helper()
	for _, of := range []string{"first", "in/first", "in/deep/deep", "in/last", "in/@done", "last", "@done"} {
		assert.Equal(t, 1, c.of(fmt.Sprintf("f%d/%s", i, of)), "f%d/%s", i, of)
	}
}

// where are the partitions in which there is a key of that name.
func (d *divided) where(name string) (in []int) {
	d.T.Helper()
	for i := range d.m.Len() {
		value, err := redisconn.Do(d.Ctx(), d.Raw().Driver(), redisconn.Call{Command: "EXISTS",
			Args: []any{d.store(i).Key(name)}})
		require.NoError(d.T, err)
		if value.(int64) == 1 {
			in = append(in, i)
		}
	}
	return in
}

// Flows that are in others are with these in one partition, and all that is done to them finds them there.
func TestFlowsInFlowsInSeveralPartitions(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		const flows = 12
		d.storeNested(flows, "dies")
		homes := map[int]bool{}
		for i := range flows {
			home := d.where(fmt.Sprintf("flow:f%d", i))
			require.Len(t, home, 1)
			homes[home[0]] = true
			for _, inner := range []string{"in", "in/deep"} {
				assert.Equal(t, home, d.where(fmt.Sprintf("flow:f%d/%s", i, inner)), "f%d/%s", i, inner)
			}
		}
		require.Len(t, homes, 3)
		for i := range 3 {
			_, err := flow.Cancel(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			for _, inner := range []string{"", "/in", "/in/deep"} {
				p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i)+inner)
				require.NoError(t, err)
				assert.Equal(t, flow.Cancelled, p.State, "f%d%s", i, inner)
			}
		}
		pool := c.flows(d)
		for i := 3; i < flows; i++ {
			id := fmt.Sprint("f", i)
			p, err := flow.Wait(d.Ctx(), d.Enq, id)
			require.NoError(t, err)
			assert.Equal(t, []any{flow.DeadEnded, 1, 1, 1}, []any{p.State, p.Done, p.Dead, p.Cancelled}, id)
			_, err = flow.Retry(d.Ctx(), d.Enq, id)
			require.NoError(t, err)
			p, err = flow.Wait(d.Ctx(), d.Enq, id)
			require.NoError(t, err)
			assert.Equal(t, []any{flow.Done, 3}, []any{p.State, p.Done}, id)
		}
		d.Drained(pool)
		for i := range flows {
			id := fmt.Sprint("f", i)
			assert.Equal(t, i >= 3, c.of(id+"/@done#2") == 1, id)
			assert.Equal(t, i >= 3, c.of(id+"/in/deep/deep") == 1, id)
			assert.Equal(t, i >= 3, c.of(id+"/in/@done#2") == 1, id)
		}
	})
}

// Partitions are added, and then given up, while flows in flows are under way: these stay where they are, all of them
// end there, and then the partitions are closed.
func TestPartitionsComeAndGoUnderFlowsInFlows(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 2), &counts{ran: map[string]int{}}
		const flows = 12
		d.storeNested(flows, "later")
		homes := map[int]int{}
		for i := range flows {
			homes[d.where(fmt.Sprintf("flow:f%d", i))[0]]++
		}
		require.Len(t, homes, 2)
		pool := d.Start(work.NewWorkerPool(nil, 4, d.Options()).
			Job("later", func(job *work.Job) error {
				if job.Attempt == 1 {
					return work.RetryIn(time.Hour, errors.New("not yet"))
				}
				return c.note(job)
			}).
			Job("ok", c.note).Job("end", c.note))
		waiting := func(i int) int {
			value, err := redisconn.Do(d.Ctx(), d.Raw().Driver(), redisconn.Call{Command: "ZCARD",
				Args: []any{d.store(i).Key("retry")}})
			require.NoError(t, err)
			return int(value.(int64))
		}
		d.Until("the innermost wait", func() bool { return waiting(0)+waiting(1) == flows })
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(t, directory.Refresh(d.Ctx()))
		require.NoError(t, resize.To(d.Ctx(), directory, 4, nil))

		assert.Equal(t, []int{homes[0], homes[1], 0, 0}, []int{waiting(0), waiting(1), waiting(2), waiting(3)})
		retry := func(i int) {
			require.NoError(t, d.Inspector().RetryNow(d.Ctx(), fmt.Sprintf("f%d/in/deep/deep", i)))
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, flow.Done, p.State)
		}
		for i := range flows / 2 {
			retry(i)
		}
		shrunk := make(chan error, 1)
		go func() { shrunk <- resize.To(d.Ctx(), directory, 1, nil) }()
		for i := flows / 2; i < flows; i++ {
			retry(i)
		}
		require.NoError(t, <-shrunk)
		d.Drained(pool)
		require.NoError(t, directory.Refresh(d.Ctx()))
		assert.Equal(t, []int{0}, directory.Map().Open())
		for i := range flows {
			c.ranNested(t, i)
		}
	})
}
