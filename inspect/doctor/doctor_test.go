package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// soon is for how long the doctor watches what the test has left alone.
const soon = 200 * time.Millisecond

// ward is a namespace with a job in every kind of place, and a worker that is played by the test.
type ward struct {
	*kit
	store  *rdb.Store
	worker *rdb.Worker
	doctor *inspect.Inspector
	morgue int // how many dead jobs there should be; 0 is the default
}

// newWard makes: wait1 to wait3 in queue a, held with the worker, later in scheduled, again in retry, buried in the
// morgue, and the outcome of done.
func newWard(t *testing.T, s redistest.Server) *ward {
	w := &ward{kit: newKit(t, s)}
	doctor, err := inspect.New(s.DSN(), work.Namespace(w.Namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, doctor.Close()) })
	w.doctor, w.store = doctor, w.Raw()
	w.worker = w.register("a", "b", "x:broken:12")
	for _, id := range []string{"done", "again", "buried", "held"} {
		w.add("a", id)
	}
	fetched, err := w.worker.Fetch(w.Ctx(), 1, 10, false, []rdb.Share{{Queue: "a", Jobs: 10}})
	require.NoError(t, err)
	require.Len(t, fetched.Jobs, 4)
	claims := map[string]rdb.Claim{}
	for _, job := range fetched.Jobs {
		claims[job.ID] = job.Claim
	}
	w.settle(
		w.worker.Complete([]rdb.Ended{{Claim: claims["done"], ID: "done", Keep: time.Hour, Outcome: []byte(`{}`)}}),
		w.worker.Shelve(rdb.Shelved{Claim: claims["again"], Shelf: rdb.ShelfRetry, Delay: time.Hour,
			Trail: []byte(`{"fails":1}`)}),
		w.worker.Shelve(rdb.Shelved{Claim: claims["buried"], Shelf: rdb.ShelfMorgue, Trail: []byte(`{"fails":1}`)}),
	)
	for _, id := range []string{"wait1", "wait2", "wait3"} {
		w.add("a", id)
	}
	_, err = w.Enq.With(work.ID("later")).EnqueueIn(w.Ctx(), "a", time.Hour)
	require.NoError(t, err)
	return w
}

func (w *ward) register(queues ...string) *rdb.Worker {
	w.T.Helper()
	worker := w.store.Worker(ids.Worker())
	_, _, err := worker.Register(w.Ctx(),
		rdb.Registration{Life: time.Hour, Epoch: "epoch", Info: map[string]string{"host": "h"}, Queues: queues})
	require.NoError(w.T, err)
	return worker
}

func (w *ward) add(name, id string) {
	w.T.Helper()
	_, err := w.Enq.With(work.ID(id)).Enqueue(w.Ctx(), name)
	require.NoError(w.T, err)
}

func (w *ward) settle(calls ...redisconn.Call) {
	w.T.Helper()
	settled, err := w.worker.Settle(w.Ctx(), calls)
	require.NoError(w.T, err)
	for _, one := range settled {
		require.NoError(w.T, one.Err)
		require.Empty(w.T, one.Gone)
	}
}

func (w *ward) examine(repair bool) *Diagnosis {
	w.T.Helper()
	e := newDoctor(w.doctor, Options{Patience: soon, Repair: repair})
	if w.morgue != 0 {
		e.morgueLimit = w.morgue
	}
	require.NoError(w.T, e.examine(w.Ctx()))
	w.answered(e.diagnosis)
	return e.diagnosis
}

// answered removes what is found since nobody is there to answer for the ward's worker.
func (w *ward) answered(d *Diagnosis) {
	d.Findings = slices.DeleteFunc(d.Findings,
		func(f Finding) bool { return f.Check == CheckSilent && f.ID == w.worker.ID })
}

// inProcess is the key of the worker's list of queue a.
func (w *ward) inProcess() string { return "worker:" + w.worker.ID + ":inprocess:a" }

// snapshot is all that is in the namespace, but for the times at which queues were seen.
func (w *ward) snapshot() map[string]string {
	w.T.Helper()
	conn, err := redis.Dial("tcp", w.Server.Addr())
	require.NoError(w.T, err)
	defer conn.Close() // it was only read
	prefix := "{" + w.Namespace + "}:"
	keys, err := redis.Strings(conn.Do("KEYS", prefix+"*"))
	require.NoError(w.T, err)
	all := map[string]string{}
	for _, key := range keys {
		kind, err := redis.String(conn.Do("TYPE", key))
		require.NoError(w.T, err)
		read := map[string][]any{"string": {"GET", key}, "list": {"LRANGE", key, 0, -1}, "hash": {"HGETALL", key},
			"set": {"SMEMBERS", key}, "zset": {"ZRANGE", key, 0, -1, "WITHSCORES"}}[kind]
		if key == prefix+"queues" {
			read = []any{"ZRANGE", key, 0, -1}
		}
		value, err := conn.Do(read[0].(string), read[1:]...)
		require.NoError(w.T, err)
		if kind == "set" || kind == "hash" || key == prefix+"queues" {
			items, err := redis.Strings(value, nil)
			require.NoError(w.T, err)
			slices.Sort(items)
			value = items
		}
		all[strings.TrimPrefix(key, prefix)] = fmt.Sprintf("%s", value)
	}
	return all
}

// run lets everything run to its end in a pool, with all that is on shelves due now, and returns how often each ran.
func (w *ward) run() map[string]int {
	w.T.Helper()
	queues, err := w.worker.Queues(w.Ctx())
	require.NoError(w.T, err)
	for _, queue := range queues {
		lists, err := w.worker.InProcess(w.Ctx(), []string{queue}, rdb.MaxBatch)
		require.NoError(w.T, err)
		require.NoError(w.T, lists[0].Err)
		if elements := lists[0].Elements; len(elements) > 0 {
			_, err = w.worker.Settle(w.Ctx(),
				[]redisconn.Call{w.worker.Release(rdb.Released{Queue: queue, Elements: elements})})
			require.NoError(w.T, err)
		}
	}
	_, _, err = w.worker.Forget(w.Ctx(), queues, "")
	require.NoError(w.T, err)
	for _, shelf := range []string{"scheduled", "retry", "morgue"} {
		for _, id := range w.strings("ZRANGE", shelf, 0, -1) {
			w.Do("ZREM", shelf, id)
			w.Do("ZADD", "retry", 1, id)
		}
	}
	ran := make(chan string, 10_000)
	pool := work.NewWorkerPool(nil, 3, w.Options())
	for _, name := range []string{"a", "b", "x:broken:12"} {
		pool.Job(name, func(job *work.Job) error { ran <- job.ID; return nil })
	}
	w.Start(pool)
	require.NoError(w.T, pool.Drain(w.Ctx()))
	close(ran)
	times := map[string]int{}
	for id := range ran {
		times[id]++
	}
	return times
}

func (w *ward) strings(command, key string, args ...any) []string {
	w.T.Helper()
	list, err := redis.Strings(w.Do(command, key, args...), nil)
	require.NoError(w.T, err)
	return list
}

// checksOf are the checks with findings, but for what a repair has set aside on purpose.
func checksOf(d *Diagnosis) []Check {
	found := map[Check]bool{}
	for _, f := range d.Findings {
		if f.Check != CheckSetAside {
			found[f.Check] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// allJobs are those of a ward that have not ended.
var allJobs = []string{"again", "buried", "held", "later", "wait1", "wait2", "wait3"}

func TestDoctorFindsNothingWrongWithAHealthyNamespace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		w := newWard(t, s)
		before := w.snapshot()
		d := w.examine(true)
		assert.Empty(t, d.Findings)
		assert.True(t, d.Healthy())
		assert.Equal(t, Diagnosis{Jobs: 7, Queues: 1, Workers: 1, More: map[Check]int{}}, *d)
		assert.Equal(t, before, w.snapshot())
		ran := w.run()
		assert.ElementsMatch(t, allJobs, slices.Collect(maps.Keys(ran)))
	})
}

func TestDoctorMendsEachDamageAndSparesWhatOnlyLooksLikeIt(t *testing.T) {
	t.Parallel()
	for _, row := range damages() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				t.Run("damage", func(t *testing.T) {
					t.Parallel()
					w := newWard(t, s)
					row.damage(w)
					checkMended(t, w, row)
				})
				t.Run("near miss", func(t *testing.T) {
					t.Parallel()
					w := newWard(t, s)
					row.spare(w)
					before := w.snapshot()
					assert.Empty(t, w.examine(true).Findings)
					assert.Equal(t, before, w.snapshot())
				})
			})
		})
	}
}

// checkMended: to look changes nothing, a repair leaves nothing to find, and then every job runs to its end, once.
func checkMended(t *testing.T, w *ward, row damage) {
	t.Helper()
	before := w.snapshot()
	looked := w.examine(false)
	require.Equal(t, []Check{row.check}, checksOf(looked), "%+v", looked.Findings)
	assert.Equal(t, before, w.snapshot(), "a look changes nothing")
	severity := looked.Findings[0].Severity
	assert.Equal(t, severity != SeverityError, looked.Healthy())
	for _, f := range looked.Findings {
		assert.False(t, f.Repaired)
		assert.NotEmpty(t, f.Remedy)
		assert.NotEmpty(t, f.Detail)
	}

	mended := w.examine(true)
	assert.Equal(t, []Check{row.check}, checksOf(mended), "%+v", mended.Findings)
	if row.reported {
		assert.Equal(t, []Check{row.check}, checksOf(w.examine(true)), "it can only be reported")
		return
	}
	for _, f := range mended.Findings {
		assert.True(t, f.Repaired, "%+v", f)
	}
	assert.True(t, mended.Healthy())
	assert.Empty(t, checksOf(w.examine(true)), "nothing is left to find")

	want := map[string]int{}
	for _, id := range allJobs {
		if !slices.Contains(row.lost, id) {
			want[id] = 1
		}
	}
	for _, id := range row.more {
		want[id] = 1
	}
	assert.Equal(t, want, w.run())
}

func TestDoctorTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		w := newWard(t, s)
		var seen [][2]int
		_, err := Examine(w.Ctx(), w.doctor, Options{Patience: soon,
			Progress: func(done, total int) { seen = append(seen, [2]int{done, total}) }})
		require.NoError(t, err)
		last := seen[len(seen)-1]
		assert.Equal(t, last[0], last[1])
		assert.True(t, slices.IsSortedFunc(seen, func(a, b [2]int) int { return a[0] - b[0] }))
		assert.Zero(t, seen[0][0])
	})
}

func TestDoctorOfAPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { return nil }))
		d, err := Examine(k.Ctx(), inspect.Of(pool), Options{})
		require.NoError(t, err)
		assert.Empty(t, d.Findings)
		assert.Equal(t, 1, d.Workers)
		require.NoError(t, inspect.Of(pool).Close())
	})
}

func TestInspectorSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	_, err := inspect.New("")
	require.ErrorContains(t, err, "no Redis is named")
	_, err = inspect.New("redis://localhost", work.Namespace("{"))
	require.ErrorContains(t, err, "namespace")
	_, err = Examine(context.Background(),
		inspect.Of(work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "nonsense"})), Options{})
	require.ErrorContains(t, err, "nonsense")
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost"})
	require.NoError(t, pool.Stop(context.Background()))
	_, err = Examine(context.Background(), inspect.Of(pool), Options{})
	require.ErrorIs(t, err, work.ErrClosed)
}

func TestDoctorOfARedisThatRemovesKeys(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Dedicated(t, "--maxmemory-policy", "allkeys-lru")
		doctor, err := inspect.New(server.DSN())
		require.NoError(t, err)
		defer doctor.Close() // it only looked
		d, err := Examine(t.Context(), doctor, Options{})
		require.NoError(t, err)
		assert.False(t, d.Healthy())
		require.Len(t, d.Findings, 1)
		assert.Contains(t, d.Findings[0].Detail, "allkeys-lru")
	})
}
