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

// A flow of a partition that was given up is retried when there are as many partitions as before again: what was dead
// runs, what was done does not, and what of it is in the morgue elsewhere goes.
func TestAFlowIsRetriedWhenItsPartitionIsBack(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		const flows = 12
		pool := c.flows(d)
		for i := range flows {
			f := flow.New(fmt.Sprint("f", i)).OnDone("end").OnDeath("end")
			first := f.Job("ok").Named("first")
			f.Job("ok").Named("third").After(f.Job("dies").Named("second").After(first))
			_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
			require.NoError(t, err)
		}
		for i := range flows {
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, flow.DeadEnded, p.State)
		}
		d.Drained(pool)
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(t, resize.To(d.Ctx(), directory, 1, nil))
		assert.Equal(t, flows, d.Number("ZCARD", "morgue"))
		var away []string // they are in partitions that are closed
		for i := range flows {
			id := fmt.Sprint("f", i)
			_, err := flow.Retry(d.Ctx(), d.Enq, id)
			var refused *work.InvalidError
			if err != nil {
				require.ErrorAs(t, err, &refused)
				away = append(away, id)
			}
		}
		require.NotEmpty(t, away)

		require.NoError(t, resize.To(d.Ctx(), directory, 3, nil))
		for _, id := range away {
			_, err := flow.Retry(d.Ctx(), d.Enq, id)
			require.NoError(t, err)
		}
		for i := range flows {
			id := fmt.Sprint("f", i)
			p, err := flow.Wait(d.Ctx(), d.Enq, id)
			require.NoError(t, err)
			assert.Equal(t, flow.Done, p.State)
			assert.Equal(t, []int{1, 1, 1}, []int{c.of(id + "/first"), c.of(id + "/second"), c.of(id + "/third")}, id)
		}
		d.Drained(pool)
		require.NoError(t, resize.To(d.Ctx(), directory, 1, nil))
		assert.Zero(t, d.Number("ZCARD", "morgue"), "where all that is dead would be now")
	})
}
