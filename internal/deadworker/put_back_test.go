package deadworker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/deadworker"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Workers that fetched by turns are found dead one in each look, the one with the newest jobs last or first: the queue
// has its order again, also where more stands in front than one call may name.
func TestWhatWorkersHeldStandsInTheOrderOfTheFetches(t *testing.T) {
	t.Parallel()
	const each = rdb.MaxBatch + 12
	rows := map[string]struct {
		fetches [][2]int // worker, jobs
		found   [][]int  // in each look
	}{
		"by turns":                 {[][2]int{{0, 2}, {1, 2}, {0, 2}, {1, 2}}, [][]int{{0}, {1}}},
		"by turns, found together": {[][2]int{{0, 2}, {1, 2}, {0, 2}, {1, 2}}, [][]int{{0, 1}}},
		"the newest at last":       {[][2]int{{0, each}, {1, 5}}, [][]int{{0}, {1}}},
		"the newest at first":      {[][2]int{{0, each}, {1, 5}}, [][]int{{1}, {0}}},
		"the newest behind as many as a call names": {[][2]int{{0, 500}, {1, 500}, {2, each}},
			[][]int{{0}, {1}, {2}}},
		"found together behind others": {[][2]int{{0, each}, {1, 400}, {2, 300}, {1, 100}, {2, 50}},
			[][]int{{0}, {2, 1}}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				f := newFleet(t, s)
				for _, fetch := range row.fetches {
					f.fetch(fetch[0], fetch[1])
				}
				given := deadworker.Given{}
				for _, look := range row.found {
					f.putBack(given, look...)
				}
				assert.Equal(t, f.ids, f.queue())
			})
		})
	}
}

// Those who stand in front may have been fetched since: they are not counted among those that a call names.
func TestWhatWasFetchedSinceIsNotNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		f := newFleet(t, s)
		for worker := range 3 {
			f.fetch(worker, rdb.MaxBatch)
		}
		f.fetch(3, 5)
		given := deadworker.Given{}
		f.putBack(given, 0, 1, 2)
		again := f.again(rdb.MaxBatch) // a living worker takes the oldest
		f.putBack(given, 3)
		assert.Equal(t, f.ids[len(again):], f.queue())
	})
}

// Where more than a call may name stand in front, those that it names stand before the newest, and none of them changes
// places with another.
func TestBehindMoreThanACallNamesTheOthersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		f := newFleet(t, s)
		for worker := range 3 {
			f.fetch(worker, rdb.MaxBatch)
		}
		f.fetch(3, 5)
		given := deadworker.Given{}
		f.putBack(given, 0, 1, 2)
		f.putBack(given, 3)
		const others = 3 * rdb.MaxBatch
		assert.Equal(t, slices.Concat(f.ids[:rdb.MaxOlder], f.ids[others:], f.ids[rdb.MaxOlder:others]), f.queue())
	})
}

// fleet are workers that fetch from a queue and die.
type fleet struct {
	*testing.T
	store   *rdb.Store
	workers map[int]*rdb.Worker
	number  int64
	ids     []string // in the order in which they were fetched
}

func newFleet(t *testing.T, s redistest.Server) *fleet {
	driver, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	return &fleet{T: t, store: rdb.NewStore(driver, redistest.Namespace(t)), workers: map[int]*rdb.Worker{}}
}

// fetch has a worker fetch jobs that are enqueued for it, in a millisecond of its own.
func (f *fleet) fetch(worker, jobs int) {
	f.Helper()
	if f.workers[worker] == nil {
		f.workers[worker] = f.store.Worker(fmt.Sprintf("worker-%041d", worker))
		f.register(f.workers[worker])
	}
	before := f.now()
	for f.now() == before {
	}
	for jobs > 0 {
		some := make([]rdb.NewJob, min(jobs, rdb.MaxBatch))
		for i := range some {
			id := fmt.Sprintf("%06d", len(f.ids))
			f.ids = append(f.ids, id)
			some[i] = rdb.NewJob{Queue: "q", ID: id, Place: rdb.Back, Record: fmt.Appendf(nil, `{"jid":%q}`, id)}
		}
		f.number++
		_, err := f.store.Enqueue(f.Context(), "lane", f.number, some)
		require.NoError(f, err)
		f.take(f.workers[worker], len(some))
		jobs -= len(some)
	}
}

// again has one more worker fetch from what stands in the queue.
func (f *fleet) again(jobs int) []string {
	w := f.store.Worker(fmt.Sprintf("living-%041d", 1))
	f.register(w)
	f.number++
	return f.take(w, jobs)
}

func (f *fleet) register(w *rdb.Worker) {
	f.Helper()
	_, _, err := w.Register(f.Context(),
		rdb.Registration{Life: time.Minute, Epoch: "epoch", Queues: []string{"q"}})
	require.NoError(f, err)
}

func (f *fleet) take(w *rdb.Worker, jobs int) (ids []string) {
	f.Helper()
	fetched, err := w.Fetch(f.Context(), f.number, jobs, false, []rdb.Share{{Queue: "q", Jobs: jobs}})
	require.NoError(f, err)
	require.Len(f, fetched.Jobs, jobs)
	for _, job := range fetched.Jobs {
		ids = append(ids, job.ID)
	}
	return ids
}

// putBack takes workers apart that are found dead in one look.
func (f *fleet) putBack(given deadworker.Given, workers ...int) {
	f.Helper()
	var dead []*deadworker.Dead
	for _, worker := range workers {
		dead = append(dead, &deadworker.Dead{Worker: f.workers[worker]})
	}
	deadworker.PutBack(f.Context(), dead, given)
	for _, d := range dead {
		require.NoError(f, d.Err)
		require.Positive(f, d.Jobs)
	}
}

func (f *fleet) now() int64 {
	at, err := f.store.Time(f.Context())
	require.NoError(f, err)
	return at.UnixMilli()
}

// queue are the ids that wait, in the order in which they will be fetched.
func (f *fleet) queue() (ids []string) {
	for from := 0; ; from += rdb.MaxBatch {
		page, err := f.store.QueueAhead(f.Context(), "q", from)
		require.NoError(f, err)
		ids = append(ids, page...)
		if len(page) < rdb.MaxBatch {
			return ids
		}
	}
}
