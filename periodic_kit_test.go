package work

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// inspector looks into the namespace of the kit.
func (k *kit) inspector() *Inspector {
	k.t.Helper()
	i, err := NewInspector(k.server.DSN(), Namespace(k.namespace))
	require.NoError(k.t, err)
	k.t.Cleanup(func() { require.NoError(k.t, i.Close()) })
	return i
}

// schedules are all of the namespace, by id.
func (k *kit) schedules() map[string]ScheduleInfo {
	k.t.Helper()
	list, err := k.inspector().Schedules(k.ctx())
	require.NoError(k.t, err)
	all := map[string]ScheduleInfo{}
	for _, one := range list {
		all[one.ID] = one
	}
	return all
}

// lastTick has Redis believe that a schedule has moved on up to then.
func (k *kit) lastTick(id string, at time.Time) {
	k.t.Helper()
	k.do("HSET", "ticks", id, rdbEntry(at, ""))
}

func rdbEntry(at time.Time, job string) string {
	text, _ := json.Marshal(at.UnixMilli())
	return string(text) + " " + job
}

// clockwork are periodic enqueuers without a pool around them, of several workers on one Redis. Time passes when the
// test says so, which the embedded Redis follows; the heartbeats are those of the test.
type clockwork struct {
	*kit
	store *rdb.Store
	now   time.Time
}

// clockworkStart is a moment of no special meaning.
var clockworkStart = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newClockwork(t *testing.T) *clockwork {
	t.Helper()
	c := &clockwork{kit: newKit(t, redistest.Embedded(t))}
	driver, err := rdb.Open(c.server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	c.store = rdb.NewStore(driver, c.namespace)
	c.set(clockworkStart)
	return c
}

func (c *clockwork) set(now time.Time) {
	c.now = now
	c.server.Embedded().SetTime(now)
}

// enqueuer is that of one worker.
func (c *clockwork) enqueuer() *periodicEnqueuer { return c.enqueuerOn(c.store.Driver()) }

// enqueuerOn is one whose driver the test may tamper with.
func (c *clockwork) enqueuerOn(driver rdb.Driver) *periodicEnqueuer {
	store := rdb.NewStore(driver, c.namespace)
	pool := NewWorkerPool(nil, 1, c.options()).Job("export", func() error { return nil })
	pool.store = store
	return &periodicEnqueuer{
		pool: pool, store: store, events: pool.events, nudge: make(chan struct{}, 1),
		health: health{component: "periodic enqueuer", events: pool.events},
	}
}

// beat tells an enqueuer what a heartbeat would.
func (c *clockwork) beat(e *periodicEnqueuer) {
	revision, err := rdb.Do(c.t.Context(), c.store.Driver(),
		rdb.Call{Command: "GET", Args: []any{"{" + c.namespace + "}:schedules:revision"}})
	require.NoError(c.t, err)
	text, _ := revision.([]byte)
	e.told(rdb.Pulse{Time: c.now, Leased: true, Revision: string(text)})
}

// round is a heartbeat and what the enqueuer does then.
func (c *clockwork) round(e *periodicEnqueuer) error {
	c.beat(e)
	_, err := e.round(c.t.Context())
	return err
}

// add adds a schedule of the job "export" by hand.
func (c *clockwork) add(spec string, opts PeriodicOptions) *schedule {
	c.t.Helper()
	require.NoError(c.t, c.inspector().AddSchedule(c.ctx(), spec, "export", opts))
	return planned(c.t, spec, opts)
}

// ids are those of all jobs that live, in no order.
func (c *clockwork) ids() []string {
	c.t.Helper()
	return c.texts("HKEYS", "jobs")
}
