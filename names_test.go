package work

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// trips counts round trips, but for those that a pool makes all the time, whatever its names: they would count the time
// that a test takes. (Heartbeats and the wait for a token have connections of their own.)
type trips struct {
	rdb.Driver
	made atomic.Int64
	mine atomic.Int64 // those of whoever has marked its ctx, without what the pool does beside it

	mu      sync.Mutex
	scripts int // ids that one call named at the most
}

// markOfTrips marks a ctx.
type markOfTrips struct{}

func (d *trips) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	if ctx.Value(markOfTrips{}) != nil {
		d.mine.Add(1)
	}
	switch nameOf(calls[0]) {
	case "fetch", "due", "tick", "MGET", "SMEMBERS":
	default:
		d.made.Add(1)
	}
	d.mu.Lock()
	for _, call := range calls {
		if call.Script != nil {
			d.scripts = max(d.scripts, len(call.Keys), len(call.Args))
		}
	}
	d.mu.Unlock()
	return d.Driver.Pipeline(ctx, calls...)
}

// manyNames is a namespace in which a pool serves so many names.
type manyNames struct {
	*kit
	names []string
	pool  *WorkerPool
	trips *trips
	store *rdb.Store
}

func newManyNames(t *testing.T, s redistest.Server, n int, opts JobOptions) *manyNames {
	m := &manyNames{kit: newKit(t, s), names: make([]string, n)}
	options := m.options()
	options.Observers = nil
	m.pool = NewWorkerPool(nil, 2, options)
	for i := range m.names {
		m.names[i] = fmt.Sprintf("job-%05d", i)
		m.pool.JobWithOptions(m.names[i], opts, func() error { return nil })
	}
	require.NoError(t, m.pool.open())
	m.trips = &trips{Driver: m.pool.driver}
	m.store = rdb.NewStore(m.trips, m.namespace)
	m.pool.driver, m.pool.store = m.trips, m.store
	m.pool.tidying = time.Hour // the janitor and others would count
	m.pool.staffing = time.Hour
	return m
}

// counted is how many round trips it took.
func (m *manyNames) counted(do func()) int64 {
	before := m.trips.made.Load()
	do()
	return m.trips.made.Load() - before
}

// deed is something that is done about all names of a pool.
type deed struct {
	name string
	do   func(m *manyNames) error
}

// deeds are in the order in which they are done. All but the first and the last are done while the pool runs.
func deeds() []deed {
	dead := func(m *manyNames) *rdb.Worker {
		corpse := m.store.Worker(newWorkerID())
		_, _, err := corpse.Register(m.ctx(), rdb.Registration{Life: time.Millisecond, Epoch: "x", Queues: m.names})
		require.NoError(m.t, err)
		m.do("SREM", "workers", corpse.ID)
		m.do("SADD", "dead", corpse.ID)
		return corpse
	}
	inspect := func(m *manyNames) *Inspector {
		i := newInspector(m.store, defaultMorgueLimit)
		i.patience = time.Millisecond
		return i
	}
	first := func(m *manyNames) *worker { return m.pool.current()[0] }
	keeper := &ruleKeeper{rounds: recountRounds - 1}
	return []deed{
		{"start", func(m *manyNames) error { return m.pool.Start(m.ctx()) }},
		{"register again", func(m *manyNames) error {
			w := first(m)
			return w.register(m.ctx(), w.claimant(), "")
		}},
		{"declare limits again", func(m *manyNames) error { return m.pool.declareLimits(m.ctx()) }},
		{"withdraw all", func(m *manyNames) error { return m.pool.Withdraw(m.ctx(), m.names...) }},
		{"serve all", func(m *manyNames) error { return m.pool.Serve(m.ctx(), m.names...) }},
		{"pause all names", func(m *manyNames) error { return inspect(m).PauseQueue(m.ctx(), m.names...) }},
		{"resume all names", func(m *manyNames) error { return inspect(m).ResumeQueue(m.ctx(), m.names...) }},
		{"drain", func(m *manyNames) error { return m.pool.Drain(m.ctx()) }},
		{"pause and wait", func(m *manyNames) error { return inspect(m).PauseAndWait(m.ctx(), m.names...) }},
		{"call workers", func(m *manyNames) error { return m.store.Wake(m.ctx(), m.names) }},
		{"drop broken tokens", func(m *manyNames) error {
			_,
				err := m.store.DropBrokenTokens(m.ctx(), m.names)
			return err
		}},
		{"take a dead worker apart", func(m *manyNames) error {
			c := &corpse{Worker: m.store.Worker(dead(m).ID)}
			takeApart(m.ctx(), []*corpse{c}, map[string][]bequest{})
			return c.err
		}},
		{"keep rules", func(m *manyNames) error { return keeper.keep(m.ctx(), m.store) }},
		{"renew queues", func(m *manyNames) error { return (&janitor{worker: first(m)}).renewQueues(m.ctx()) }},
		{"inspect queues", func(m *manyNames) error { _, err := inspect(m).Queues(m.ctx()); return err }},
		{"inspect limits", func(m *manyNames) error { _, err := inspect(m).Limits(m.ctx()); return err }},
		{"inspect workers", func(m *manyNames) error { _, err := inspect(m).Workers(m.ctx()); return err }},
		{"inspect history", func(m *manyNames) error {
			_, err := inspect(m).History(m.ctx(), HistoryOptions{Names: m.names, Since: time.Now().Add(-time.Minute)})
			return err
		}},
		{"doctor", func(m *manyNames) error { _, err := inspect(m).Doctor(m.ctx(), DoctorOptions{}); return err }},
		{"stop", func(m *manyNames) error { return m.pool.Stop(m.ctx()) }},
	}
}

// walkedParts are the deeds that read part by part: a part is not asked for before the last one is there.
var walkedParts = map[string]bool{"keep rules": true, "renew queues": true, "inspect queues": true,
	"inspect limits":  true,
	"inspect history": true, "doctor": true, "drain": true}

// TestRoundTripsDoNotGrowWithNames counts what is sent, so that it is as true where a round trip takes 10 ms. What
// walks over a set, a hash or all names may read a part of a hundred names or more in each; all else has a few round
// trips more at the most. No script is given more names than a batch, with the five keys that a fetch has of each.
func TestRoundTripsDoNotGrowWithNames(t *testing.T) {
	t.Parallel()
	sizes := []int{10, 1_000}
	if os.Getenv("WORK_NAMES_LONG") == "1" {
		sizes = append(sizes, 10_000)
	}
	for name, opts := range map[string]JobOptions{"plain": {}, "limited": {Limit: Limit{Concurrent: 3}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				var few map[string]int64
				for _, n := range sizes {
					made := map[string]int64{}
					m := newManyNames(t, s, n, opts)
					for _, deed := range deeds() {
						made[deed.name] = m.counted(func() {
							begun := time.Now()
							require.NoError(t, deed.do(m), "%s, %d names", deed.name, n)
							t.Logf("%6d names %-26s %s", n, deed.name, time.Since(begun).Round(time.Millisecond))
						})
					}
					assert.LessOrEqual(t, m.trips.scripts, 5*rdb.MaxBatch)
					if few == nil {
						few = made
						continue
					}
					for deed, trips := range made {
						most := few[deed] + 12
						if walkedParts[deed] {
							most += int64(n) / 50
						}
						assert.LessOrEqual(t, trips, most, "%s: round trips for %d names; %d for %d", deed, n,
							few[deed], sizes[0])
					}
				}
			})
		})
	}
}
