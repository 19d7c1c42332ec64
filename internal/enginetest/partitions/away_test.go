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
)

// keyAt is the n-th key with which jobs of that name are at home in that partition.
func (d *divided) keyAt(name string, at, n int) string {
	for i := 0; ; i++ {
		key := fmt.Sprint("k", i)
		if d.m.Home(partition.Job{Name: name, Key: key}).Partition != at {
			continue
		}
		if n--; n < 0 {
			return key
		}
	}
}

// idAt is an id by which a flow is stored in that partition, if nothing binds it.
func (d *divided) idAt(name string, at int) string {
	for i := 0; ; i++ {
		if id := fmt.Sprint(name, i); d.m.OfFlow(id).Partition == at {
			return id
		}
	}
}

// limit has jobs of a name live in one partition, and returns which.
func (d *divided) limit(name string) int {
	d.change(func(m *partition.Map) { m.Bound = append(m.Bound, name) })
	return d.m.Home(partition.Job{Name: name}).Partition
}

// Members that are at home in other partitions than their flow run there, in their turn, and their ends and results
// count in the flow.
func TestMembersAtHomeElsewhereRunThere(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		c.flows(d)
		for i := range 4 {
			id := fmt.Sprint("f", i)
			f := flow.New(id).OnDone("end").OnDeath("end")
			here := f.Job("ok").Named("here").With(work.Key(d.keyAt("ok", 0, 0)))
			first := f.Job("ok").Named("first").With(work.Key(d.keyAt("ok", 1, 0))).After(here)
			unique := f.Job("ok").Named("unique").With(work.Unique(work.UniqueOptions{Key: id})).After(first)
			f.Job("adds").Named("last").After(unique, first)
			receipt, err := flow.Enqueue(d.Ctx(), d.Enq, f)
			require.NoError(t, err)
			assert.Equal(t, flow.Receipt{ID: id, Jobs: 4}, receipt)
		}
		for i := range 4 {
			id := fmt.Sprint("f", i)
			p, err := flow.Wait(d.Ctx(), d.Enq, id)
			require.NoError(t, err)
			assert.Equal(t, []any{flow.Done, 5, 5}, []any{p.State, p.Total, p.Done})
			d.Until("its end has run", func() bool { return c.of(id+"/@done") == 1 })
			assert.Equal(t, []int{1, 1, 1}, []int{c.of(id + "/here"), c.of(id + "/first/@job"), c.of(id + "/last")})
			assert.Equal(t, []int{1}, d.where("flow:"+id+"/first"))
		}
	})
}

// One that dies has its flow end dead, and runs again when that is retried.
func TestAMemberAtHomeElsewhereDiesAndIsRetriedWithItsFlow(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		c.flows(d)
		f := flow.New("f").OnDone("end").OnDeath("end")
		f.Job("ok").Named("here").With(work.Key(d.keyAt("ok", 0, 0)))
		dies := f.Job("dies").Named("dies").With(work.Key(d.keyAt("dies", 1, 0)))
		f.Job("ok").Named("last").With(work.Key(d.keyAt("ok", 2, 0))).After(dies)
		_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
		require.NoError(t, err)
		p, err := flow.Wait(d.Ctx(), d.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.DeadEnded, 1, 1, 1}, []any{p.State, p.Done, p.Dead, p.Cancelled})
		_, err = flow.Retry(d.Ctx(), d.Enq, "f")
		require.NoError(t, err)
		p, err = flow.Wait(d.Ctx(), d.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Done, 3, 2}, []any{p.State, p.Done, p.Generation})
		d.Until("its end has run", func() bool { return c.of("f/@done#2") == 1 })
		assert.Equal(t, []int{1, 1, 1, 1}, []int{c.of("f/here"), c.of("f/dies/@job"), c.of("f/last/@job"),
			c.of("f/@dead")})
	})
}

// A batch may have members at home in all partitions.
func TestABatchHasMembersAtHomeElsewhere(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		home := d.limit("ok")
		const jobs = 300
		receipt, err := flow.Batch(d.Ctx(), d.Enq, d.idAt("b", (home+1)%3), func(yield func(work.Entry) bool) {
			for i := range jobs {
				entry := work.Entry{Name: "ok"}
				if i%2 == 0 {
					entry = work.Entry{Name: "end",
						Options: []work.EnqueueOption{work.Key(d.keyAt("end", i%3, i%7))}}
				}
				if !yield(entry) {
					return
				}
			}
		}, flow.OnDone("end"))
		require.NoError(t, err)
		require.Equal(t, jobs, receipt.Jobs)
		pool := c.flows(d)
		p, err := flow.Wait(d.Ctx(), d.Enq, receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Done, jobs}, []any{p.State, p.Done})
		d.Drained(pool)
		ran := 0
		for _, n := range c.ran {
			assert.Equal(t, 1, n)
			ran += n
		}
		assert.Equal(t, jobs+1, ran)
	})
}
