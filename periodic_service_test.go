package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// declaring is a pool of a service that declares schedules, by their ids, all with that spec.
func (k *kit) declaring(service, spec string, ids ...string) *WorkerPool {
	opts := k.options()
	opts.Service = service
	pool := NewWorkerPool(nil, 1, opts).Job("export", func() error { return nil })
	for _, id := range ids {
		pool.PeriodicWithOptions(spec, "export", PeriodicOptions{ID: id})
	}
	return pool
}

// run starts a pool that the test stops.
func (k *kit) run(p *WorkerPool) *WorkerPool {
	k.t.Helper()
	require.NoError(k.t, p.Start(k.t.Context()))
	return p
}

func (k *kit) has(ids ...string) {
	k.t.Helper()
	all := k.schedules()
	assert.Len(k.t, all, len(ids))
	for _, id := range ids {
		assert.Contains(k.t, all, id)
	}
}

func TestAScheduleGoesWhenItsServiceStartsWithoutIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		require.NoError(t, k.inspector().AddSchedule(k.ctx(), "@yearly", "anything", PeriodicOptions{ID: "by hand"}))
		require.NoError(t, k.stop(k.run(k.declaring("shop", "@yearly", "a", "b"))))
		require.NoError(t, k.stop(k.run(k.declaring("blog", "@yearly", "c"))))
		k.has("a", "b", "c", "by hand") // with no worker alive they stay

		require.NoError(t, k.stop(k.run(k.declaring("blog", "@yearly"))))
		k.has("a", "b", "by hand") // other services' are not touched
		assert.Equal(t, event.PeriodicRemoved{Schedule: "c", Service: "blog"},
			await[event.PeriodicRemoved](t, k.spy, nil))

		old := k.run(k.declaring("shop", "@yearly", "a", "b"))
		newer := k.start(k.declaring("shop", "@yearly", "b"))
		k.has("a", "b", "by hand") // one that runs declares it
		require.NoError(t, k.stop(old))
		k.has("a", "b", "by hand")
		require.NoError(t, k.stop(k.run(k.declaring("shop", "@yearly", "b"))))
		k.has("b", "by hand")
		assert.False(t, k.pending(old), "it wanted nothing to go")
		assert.True(t, k.pending(newer), "it would have looked again")
	})
}

// pending tells whether a pool still looks for a chance to remove schedules.
func (k *kit) pending(p *WorkerPool) bool {
	e := p.workers[0].daemons.periodic
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pending
}

// In a rolling deployment the old processes stop after the new ones have started.
func TestAScheduleGoesAfterARollingDeployment(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		old := k.run(k.declaring("shop", "@yearly", "a", "b"))
		newer := k.start(k.declaring("shop", "@yearly", "b"))
		k.has("a", "b")
		require.NoError(t, k.stop(old))
		e := newer.workers[0].daemons.periodic
		e.mu.Lock()
		e.withdrew = time.Time{} // half a minute later
		e.mu.Unlock()
		e.hint()
		await(t, k.spy, func(e event.PeriodicRemoved) bool { return e.Schedule == "a" })
		k.has("b")
		k.until("it looks no more", func() bool { return !k.pending(newer) })
	})
}

func TestTheLaterDeclarationWinsAndIsTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.start(k.declaring("shop", "@yearly", "a"))
		k.lastTick("a", time.Now().Add(-300*24*time.Hour))
		k.start(k.declaring("shop", "@yearly", "a"))
		assert.Zero(t, count[event.PeriodicChanged](k.spy), "it is the same")
		k.start(k.declaring("shop", "@monthly", "a"))
		assert.Equal(t, event.PeriodicChanged{Schedule: "a", Spec: "@monthly", Service: "shop", FormerSpec: "@yearly",
			FormerService: "shop"},
			await[event.PeriodicChanged](t, k.spy, nil))
		assert.Equal(t, "@monthly", k.schedules()["a"].Spec)
		assert.WithinDuration(t, time.Now(), k.schedules()["a"].Last, time.Minute, "no tick of the new spec was missed")
	})
}

func TestAPauseOutlivesADeclaration(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.start(k.declaring("shop", "@yearly", "a"))
		require.NoError(t, k.inspector().PauseSchedule(k.ctx(), "a"))
		k.start(k.declaring("shop", "@monthly", "a"))
		assert.True(t, k.schedules()["a"].Paused)
		assert.Equal(t, "@monthly", k.schedules()["a"].Spec)
	})
}

func TestAnIDOfAnotherServiceThatRunsIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		owner, other string
		stopped      bool
		refused      bool
	}{
		"another one that runs":               {"shop", "blog", false, true},
		"one without a name, against another": {"shop", "", false, true},
		"another one that has stopped":        {"shop", "blog", true, false},
		"one without a name that runs":        {"", "blog", false, false},
		"the same":                            {"shop", "shop", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				owner := k.run(k.declaring(row.owner, "@yearly", "a"))
				if row.stopped {
					require.NoError(t, k.stop(owner))
				} else {
					defer func() { require.NoError(t, k.stop(owner)) }()
				}
				other := k.declaring(row.other, "@monthly", "a")
				err := other.Start(t.Context())
				if !row.refused {
					require.NoError(t, err)
					require.NoError(t, k.stop(other))
					assert.Equal(t, "@monthly", k.schedules()["a"].Spec)
					return
				}
				var invalid *InvalidError
				require.ErrorAs(t, err, &invalid)
				assert.Contains(t, err.Error(), `schedule "a" (added at periodic_service_test.go:`)
				assert.Contains(t, err.Error(), `that of a schedule of service "shop", which runs: give it another ID`)
				assert.Equal(t, "@yearly", k.schedules()["a"].Spec)
				assert.Equal(t, 1, k.number("SCARD", "workers"), "what has not started is not registered")
				require.NoError(t, k.stop(other))
			})
		})
	}
}
