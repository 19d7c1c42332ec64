package partitions_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestAnEmptyServerInPlaceOfOneThatIsGone for good: what was there is lost, which is told, and all else goes on as
// before. The map, what code declares, and what operators have said of queues are there again.
func TestAnEmptyServerInPlaceOfOneThatIsGone(t *testing.T) {
	for gone := range 3 {
		t.Run(fmt.Sprint(gone), func(t *testing.T) {
			each(t, func(t *testing.T, s redistest.Server) {
				d, shares, paused := newDivided(t, s, 3), newShares(), newShares()
				defer shares.Release()
				paused.Release()
				name := "narrow"
				for n := 0; d.m.At(partition.BucketOfName(name)) != gone; n++ {
					name = fmt.Sprint("narrow", n)
				}
				pool := d.Start(work.NewWorkerPool(nil, 6, d.Options()).
					JobWithOptions(name, work.JobOptions{Limit: work.Limit{Concurrent: 2}}, shares.handle).
					Job("paused", paused.handle).Job("load", pooltest.Nothing))
				i, err := inspect.New("", work.WithConnection(d.Options().Connection), work.Namespace(d.Namespace))
				require.NoError(t, err)
				defer i.Close()
				require.NoError(t, i.PauseQueue(d.Ctx(), "paused"))
				require.NoError(t, i.PauseQueue(d.Ctx(), "load"))
				require.NoError(t, i.ResumeQueue(d.Ctx(), "load"))
				d.m = d.now() // the name is bound
				version := d.m.Version

				d.wipe(gone)
				pooltest.Await[event.DataLost](t, d.Spy, nil)
				d.Until("it knows the map", func() bool { return d.mapAt(gone) == version })
				d.Until("it knows what code and operators say", func() bool {
					rules, err := d.store(gone).Rules(d.Ctx())
					require.NoError(t, err)
					return rules[name] != "" && rules["paused"] != ""
				})
				for range 12 {
					d.Enqueue("paused", 0)
					d.Enqueue("load", 0)
					d.Enqueue(name, 0)
				}
				shares.Began(t, 2)
				for range 10 {
					shares.Pass(t, 1)
					shares.Began(t, 1)
				}
				shares.Release()
				names, all, err := i.Paused(d.Ctx())
				require.NoError(t, err)
				assert.Equal(t, []string{"paused"}, names)
				assert.False(t, all)
				assert.Zero(t, paused.Most.Load(), "what is paused has begun")
				require.NoError(t, i.ResumeQueue(d.Ctx(), "paused"))
				d.Drained(pool)
				assert.Equal(t, int64(2), shares.Most.Load(), "its limit")
				assert.Equal(t, int64(12), paused.Done.Load())
			})
		})
	}
}
