package requeue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/requeue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// What a worker does not hold any more has its place among what others of the pool have requeued, whoever comes first.
func TestWhatIsNotHeldIsRequeuedInItsPlace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, driver.Close()) })
		store := rdb.NewStore(driver, redistest.Namespace(t))
		now := func() int64 {
			at, err := store.Time(t.Context())
			require.NoError(t, err)
			return at.UnixMilli()
		}
		var workers []*rdb.Worker
		var elements [][]string
		var ids []string
		for n := range 3 { // each fetches two in a millisecond of its own
			w := store.Worker(fmt.Sprintf("worker-%041d", n))
			_, _, err := w.Register(t.Context(),
				rdb.Registration{Life: time.Minute, Epoch: "epoch", Queues: []string{"q"}})
			require.NoError(t, err)
			jobs := []rdb.NewJob{{ID: fmt.Sprint(n, "a")}, {ID: fmt.Sprint(n, "b")}}
			for i := range jobs {
				jobs[i].Queue, jobs[i].Place, jobs[i].Record = "q", rdb.Back, []byte("{}")
				ids = append(ids, jobs[i].ID)
			}
			_, err = store.Enqueue(t.Context(), "lane", int64(n+1), jobs)
			require.NoError(t, err)
			for before := now(); now() == before; {
			}
			fetched, err := w.Fetch(t.Context(), int64(n+1), 2, false, []rdb.Share{{Queue: "q", Jobs: 2}})
			require.NoError(t, err)
			require.Len(t, fetched.Jobs, 2)
			workers = append(workers, w)
			elements = append(elements, []string{fetched.Jobs[0].Element, fetched.Jobs[1].Element})
		}
		o := requeue.NewOrder(0)
		for _, n := range []int{0, 2, 1} {
			jobs, err := o.Requeue(t.Context(), workers[n], "q", elements[n])
			require.NoError(t, err)
			assert.Equal(t, 2, jobs)
		}
		again, err := o.Requeue(t.Context(), workers[1], "q", elements[1])
		require.NoError(t, err)
		assert.Zero(t, again, "nothing is requeued twice")
		stands, err := store.QueueAhead(t.Context(), "q", 0)
		require.NoError(t, err)
		assert.Equal(t, ids, stands)
	})
}

// What is given back while a fetch is under way, and is brought again by that one, is not newer than what it stood
// before.
func TestWhatWasFetchedAgainIsRequeuedInItsFormerPlace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, driver.Close()) })
		for name, calls := range map[string][][]string{
			"first":     {{"2:b"}, {"1:a", "1:c", "1:d"}},
			"last":      {{"1:a", "1:c", "1:d"}, {"2:b"}},
			"with them": {{"1:a", "1:c", "1:d", "2:b"}},
		} {
			t.Run(name, func(t *testing.T) {
				store := rdb.NewStore(driver, redistest.Namespace(t))
				w := store.Worker(fmt.Sprintf("worker-%041d", 1))
				_, _, err := w.Register(t.Context(),
					rdb.Registration{Life: time.Minute, Epoch: "epoch", Queues: []string{"q"}})
				require.NoError(t, err)
				jobs := []rdb.NewJob{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
				for i := range jobs {
					jobs[i].Queue, jobs[i].Place, jobs[i].Record = "q", rdb.Back, []byte("{}")
				}
				_, err = store.Enqueue(t.Context(), "lane", 1, jobs)
				require.NoError(t, err)
				fetch := func(number int64, most int, want ...string) {
					fetched, err := w.Fetch(t.Context(), number, most, false, []rdb.Share{{Queue: "q", Jobs: most}})
					require.NoError(t, err)
					require.Len(t, fetched.Jobs, len(want))
					for i, job := range fetched.Jobs {
						require.Equal(t, want[i], job.Element)
					}
				}
				orders := map[string]int64{"1:a": 1, "1:b": 2, "1:c": 3, "1:d": 4, "2:b": 5}
				o := requeue.NewOrder(0)
				giveBack := func(elements ...string) {
					places := make([]requeue.Place, len(elements))
					for i, element := range elements {
						places[i] = requeue.Place{ID: element[2:], Worker: w.ID, Number: int64(element[0] - '0'),
							Order: orders[element]}
					}
					call, err := o.Call(t.Context(), w, rdb.Released{Queue: "q", Elements: elements}, places)
					require.NoError(t, err)
					settled, err := w.Settle(t.Context(), []redisconn.Call{call})
					require.NoError(t, err)
					require.NoError(t, settled[0].Err)
					require.Empty(t, settled[0].Gone)
				}

				fetch(1, 4, "1:a", "1:b", "1:c", "1:d")
				giveBack("1:b")
				fetch(2, 4, "2:b")
				for _, elements := range calls {
					giveBack(elements...)
				}
				stands, err := store.QueueAhead(t.Context(), "q", 0)
				require.NoError(t, err)
				assert.Equal(t, []string{"a", "b", "c", "d"}, stands)
			})
		}
	})
}
