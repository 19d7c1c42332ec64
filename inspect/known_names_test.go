package inspect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestANameIsKnownToAQueueAWorkerAScheduleOrALimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.hands()
		k.standing(work.StateQueued, "enqueued")
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("served", func() error { return nil }))
		require.NoError(t, pool.Stop(k.Ctx()))
		k.Do("ZREM", "queues", "served") // as after 30 days
		require.NoError(t, i.AddSchedule(k.Ctx(), "@every 24h", "scheduled", work.PeriodicOptions{ID: "s"}))
		require.NoError(t, i.SetLimit(k.Ctx(), "limited", work.Limit{Concurrent: 1}))
		require.NoError(t, i.PauseAll(k.Ctx()))
		known := []string{"enqueued", "served", "scheduled", "limited"}
		require.NoError(t, i.CheckNames(k.Ctx(), known...))
		require.NoError(t, i.CheckNames(k.Ctx()))
		names, err := i.Names(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, []string{"enqueued", "limited", "scheduled", "served"}, names)

		for _, name := range known {
			err := i.CheckNames(k.Ctx(), "enqueued", name+"x")
			assert.Equal(t, &inspect.UnknownNameError{Name: name + "x", Nearest: name}, err)
		}
		err = i.CheckNames(k.Ctx(), "unheard-of")
		assert.EqualError(t, err, `no queue, worker, schedule or limit has the name "unheard-of"`)
		err = i.CheckNames(k.Ctx(), "enqeued")
		assert.EqualError(t, err,
			`no queue, worker, schedule or limit has the name "enqeued" (did you mean "enqueued"?)`)
		var invalid *work.InvalidError
		assert.ErrorAs(t, i.CheckNames(k.Ctx(), ""), &invalid)

		k.Do("UNLINK", "served")
		k.Do("SET", "served", "something else")
		require.NoError(t, i.CheckNames(k.Ctx(), "enqueued"))
		err = i.CheckNames(k.Ctx(), "enqeued")
		assert.ErrorContains(t, err, `it cannot be told whether there is the name "enqeued": `)
	})
}
