package partitions_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// storeAround stores flows in all partitions, each with members at home in the two others: "second" is of that name
// and waits for the first one, and "third" for it. It returns the ids of the jobs of each.
func (d *divided) storeAround(flows int, second string) (ids [][]string) {
	d.T.Helper()
	for i := range flows {
		id := fmt.Sprint("f", i)
		f := flow.New(id).OnDone("end").OnDeath("end")
		first := f.Job("ok").Named("first").With(work.Key(d.keyAt("ok", i%3, 0)))
		then := f.Job(second).Named("second").With(work.Key(d.keyAt(second, (i+1)%3, 0))).After(first)
		f.Job("ok").Named("third").With(work.Key(d.keyAt("ok", (i+2)%3, 0))).After(then)
		_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
		require.NoError(d.T, err)
		ids = append(ids, []string{id + "/first", id + "/second/@job", id + "/third/@job"})
	}
	return ids
}

// A flow is retried when the partitions that were given up are back, that where it is and those where its members were:
// what was dead there, and is in another one's morgue since, goes and runs, and what was done does not.
func TestAwayAFlowIsRetriedWhenItsPartitionsAreBack(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		const flows = 12
		pool := c.flows(d)
		ids := d.storeAround(flows, "dies")
		for i := range flows {
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, flow.DeadEnded, p.State)
		}
		d.Drained(pool)
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(t, resize.To(d.Ctx(), directory, 1, nil))
		assert.Equal(t, flows, d.Number("ZCARD", "morgue"))
		for i := range flows { // each is in a partition that is closed, or has a member in one
			_, err := flow.Retry(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			var refused *work.InvalidError
			require.ErrorAs(t, err, &refused)
		}
		require.NoError(t, resize.To(d.Ctx(), directory, 3, nil))
		for i := range flows {
			_, err := flow.Retry(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
		}
		for i := range flows {
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, []any{flow.Done, 3}, []any{p.State, p.Done})
			assert.Equal(t, []int{1, 1, 1}, []int{c.of(ids[i][0]), c.of(ids[i][1]), c.of(ids[i][2])}, ids[i])
		}
		d.Drained(pool)
		require.NoError(t, resize.To(d.Ctx(), directory, 1, nil))
		assert.Zero(t, d.Number("ZCARD", "morgue"), "where all that is dead would be now")
	})
}

// Partitions are given up while workers run flows there with members at home in others: they are closed, all flows end,
// and each member has run once.
func TestAwayPartitionsAreGivenUpWhileFlowsGoOn(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		const flows = 12
		begun, leave := make(chan string, flows), make(chan struct{})
		pool := d.Start(work.NewWorkerPool(nil, 4, d.Options()).
			Job("ok", func(job *work.Job) error { return c.note(job) }).
			Job("end", c.note).
			Job("waits", func(job *work.Job) error {
				begun <- job.ID
				<-leave
				return c.note(job)
			}))
		ids := d.storeAround(flows, "waits")
		<-begun // others may wait for a processor, or for their flow
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(t, resize.Begin(d.Ctx(), directory, 1, nil))
		close(leave)
		shrunk := make(chan error, 1)
		go func() { shrunk <- resize.To(d.Ctx(), directory, 1, nil) }()
		for i := range flows {
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, []any{flow.Done, 3}, []any{p.State, p.Done})
		}
		require.NoError(t, <-shrunk)
		d.Drained(pool)
		require.NoError(t, directory.Refresh(d.Ctx()))
		assert.Equal(t, []int{0}, directory.Map().Open())
		assert.Equal(t, []int{1, 2}, directory.Map().In(partition.Closed))
		for i := range flows {
			assert.Equal(t, []int{1, 1, 1, 1}, []int{c.of(ids[i][0]), c.of(ids[i][1]), c.of(ids[i][2]),
				c.of(fmt.Sprintf("f%d/@done", i))}, ids[i])
		}
	})
}
