package rdb_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Each benchmark has a server of its own and reports the time of its processor per job, from INFO: that is what limits
// a fleet, whatever the machines of the workers do. Run them with -benchtime=2s; the first rounds only warm Redis up.

// benchmarkRecord is a record of 99 bytes, as in the budgets.
var benchmarkRecord = []byte(fmt.Sprintf("%-99s",
	`{"jid":"0123456789abcdef","name":"q0","args":[12345,67890],"t":1732100000000}`))

func BenchmarkRedisEnqueue(b *testing.B) {
	for _, batch := range []int{1, 20, 200} {
		b.Run(fmt.Sprint("batch", batch), func(b *testing.B) {
			s := newSite(b, redistest.Dedicated(b).DSN(), nil)
			fill := newFiller(s, 10)
			fill.enqueue(b, batch)
			b.ReportAllocs()
			b.ResetTimer()
			before, jobs := s.redisCPU(b), 0
			for b.Loop() {
				fill.enqueue(b, batch)
				jobs += batch
			}
			b.ReportMetric((s.redisCPU(b)-before)/float64(jobs), "redis-us/job")
		})
	}
}

func BenchmarkRedisEnqueueKeys(b *testing.B) {
	for _, keys := range []int{0, 1, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("keys%d", keys), func(b *testing.B) {
			s := newSite(b, redistest.Dedicated(b).DSN(), nil)
			fill := newFiller(s, 1)
			fill.keys = keys
			before, jobs := s.redisCPU(b), 0
			for b.Loop() {
				fill.enqueue(b, rdb.MaxBatch)
				jobs += rdb.MaxBatch
			}
			b.ReportMetric((s.redisCPU(b)-before)/float64(jobs), "redis-us/job")
		})
	}
}

func BenchmarkRedisFetchAndComplete(b *testing.B) {
	for _, queues := range []int{1, 10} {
		for _, batch := range []int{1, 20, 200} {
			b.Run(fmt.Sprintf("queues%d/batch%d", queues, batch), func(b *testing.B) {
				benchmarkFetchAndComplete(b, queues, batch, 0)
			})
		}
	}
}

// Jobs that have a key beside those that have none, with batches as large as they are in a pool that is busy; and with
// rules that are in nobody's way.
func BenchmarkRedisKeys(b *testing.B) {
	for _, keys := range []int{0, 1, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("keys%d", keys), func(b *testing.B) { benchmarkFetchAndComplete(b, 1, 200, keys) })
	}
	for name, rule := range map[string]string{"running": "1 500 - - - - -", "rate": "1 - 100000 1000 100000 - -",
		"ordered": "1 - - - - ohg -"} {
		b.Run(name, func(b *testing.B) { benchmarkFetchAndComplete(b, 1, 200, 1000, rule) })
	}
}

func benchmarkFetchAndComplete(b *testing.B, queues, batch, keys int, rules ...string) {
	s := newSite(b, redistest.Dedicated(b).DSN(), nil)
	fill := newFiller(s, queues)
	fill.keys = keys
	for _, rule := range rules {
		_, err := s.store.SetKeyRule(b.Context(), rdb.KeyRuleOf{Queue: fill.names[0]}, "", rule)
		require.NoError(b, err)
	}
	shares := make([]rdb.Share, queues)
	for i, name := range fill.names {
		shares[i] = rdb.Share{Queue: name, Jobs: batch / queues}
	}
	w := s.worker(b, strings.Repeat("w", rdb.MinWorkerID), fill.names...)
	waiting, jobs, spent := 0, 0, 0.0
	number, before := int64(0), s.redisCPU(b)
	b.ReportAllocs()
	for b.Loop() {
		if waiting < 2*batch*queues { // what filling costs does not count
			b.StopTimer()
			spent += s.redisCPU(b) - before
			for range 200 {
				fill.enqueue(b, rdb.MaxBatch)
				waiting += rdb.MaxBatch
			}
			before = s.redisCPU(b)
			b.StartTimer()
		}
		number++
		fetched, err := w.Fetch(b.Context(), number, batch, false, shares)
		require.NoError(b, err)
		done := make([]rdb.Ended, len(fetched.Jobs))
		for i := range done {
			done[i] = rdb.Ended{Claim: fetched.Jobs[i].Claim, ID: fetched.Jobs[i].ID, Keyed: keys > 0}
		}
		settled, err := w.Settle(b.Context(), []redisconn.Call{w.Complete(done)})
		require.NoError(b, err)
		require.NoError(b, settled[0].Err)
		waiting, jobs = waiting-len(done), jobs+len(done)
	}
	spent += s.redisCPU(b) - before
	b.ReportMetric(spent/float64(jobs), "redis-us/job")
}

// filler enqueues jobs over some queues in turn.
type filler struct {
	s     *site
	names []string
	jobs  []rdb.NewJob
	calls int64
	made  int
	keys  int // of the jobs, in turn; 0 is none
}

func newFiller(s *site, queues int) *filler {
	f := &filler{s: s, jobs: make([]rdb.NewJob, rdb.MaxBatch)}
	for q := range queues {
		f.names = append(f.names, fmt.Sprint("q", q))
	}
	return f
}

func (f *filler) enqueue(b *testing.B, batch int) {
	f.calls++
	for i := range f.jobs[:batch] {
		f.made++
		f.jobs[i] = rdb.NewJob{
			Queue: f.names[f.made%len(f.names)], ID: fmt.Sprintf("%016x", f.made), Place: rdb.Back,
			Record: benchmarkRecord,
		}
		if f.keys > 0 {
			f.jobs[i].Turn = rdb.Turn{Key: "customer-" + strconv.Itoa(f.made%f.keys)}
		}
	}
	_, err := f.s.store.Enqueue(b.Context(), "lane", f.calls, f.jobs[:batch])
	require.NoError(b, err)
}

// redisCPU is the time that the server's processor has worked, in microseconds.
func (s *site) redisCPU(b *testing.B) float64 {
	replies, err := s.driver.Pipeline(b.Context(), redisconn.Call{Command: "INFO", Args: []any{"cpu"}})
	require.NoError(b, err)
	spent := 0.0
	for _, line := range strings.Split(text(replies[0].Value), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err)
			spent += seconds * 1e6
		}
	}
	return spent
}

// BenchmarkRedisRelease reports how long one call that gives jobs back holds Redis, by how many it gives back and how
// many older ones it names, all of which stand in front of a queue of 20,000.
func BenchmarkRedisRelease(b *testing.B) {
	for _, released := range []int{1, rdb.MaxBatch} {
		for _, older := range []int{0, 10, 500, 1000} {
			b.Run(fmt.Sprintf("released%d/older%d", released, older), func(b *testing.B) {
				benchmarkRelease(b, released, older)
			})
		}
	}
}

func benchmarkRelease(b *testing.B, released, older int) {
	s := newSite(b, redistest.Dedicated(b).DSN(), nil)
	fill := newFiller(s, 1)
	for range 40 {
		fill.enqueue(b, rdb.MaxBatch)
	}
	w := s.worker(b, strings.Repeat("w", rdb.MinWorkerID), fill.names...)
	release := func(r rdb.Released) {
		settled, err := w.Settle(b.Context(), []redisconn.Call{w.Release(r)})
		require.NoError(b, err)
		require.NoError(b, settled[0].Err)
		require.Empty(b, settled[0].Gone)
	}
	number, spent := int64(0), 0.0
	take := func(wanted int) (elements, ids []string) {
		for wanted > len(elements) {
			number++
			fetched, err := w.Fetch(b.Context(), number, min(wanted-len(elements), rdb.MaxBatch), false,
				[]rdb.Share{{Queue: "q0", Jobs: min(wanted-len(elements), rdb.MaxBatch)}})
			require.NoError(b, err)
			for _, job := range fetched.Jobs {
				elements, ids = append(elements, job.Element), append(ids, job.ID)
			}
		}
		return elements, ids
	}
	for b.Loop() {
		inFront, ids := take(older)
		call := rdb.Released{Queue: "q0"}
		call.Elements, _ = take(released)
		for _, id := range ids {
			call.Older = append(call.Older, rdb.Older{ID: id, Before: 1})
		}
		for end := len(inFront); end > 0; end -= rdb.MaxBatch {
			release(rdb.Released{Queue: "q0", Elements: inFront[max(0, end-rdb.MaxBatch):end]})
		}
		before := s.scriptTime(b)
		release(call)
		spent += s.scriptTime(b) - before
	}
	b.ReportMetric(spent/float64(b.N), "redis-us/call")
}

// scriptTime is for how long the server has run scripts, in microseconds.
func (s *site) scriptTime(b *testing.B) float64 {
	replies, err := s.driver.Pipeline(b.Context(), redisconn.Call{Command: "INFO", Args: []any{"commandstats"}})
	require.NoError(b, err)
	_, stats, _ := strings.Cut(text(replies[0].Value), "cmdstat_evalsha:")
	_, stats, _ = strings.Cut(stats, "usec=")
	stats, _, _ = strings.Cut(stats, ",")
	spent, err := strconv.ParseFloat(stats, 64)
	require.NoError(b, err)
	return spent
}
