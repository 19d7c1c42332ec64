package work

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestAServerThatMayEvictIsReportedAtStartRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for policy, reported := range map[string]int{"allkeys-lru": 1, "noeviction": 0} {
			t.Run(policy, func(t *testing.T) {
				t.Parallel()
				server := redistest.Dedicated(t, "--maxmemory-policy", policy)
				spy := newSpy()
				pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: server.DSN(), Observers: []Observer{spy},
					Logger: silent()}).
					Job("any", func() error { return nil })
				require.NoError(t, pool.Start(t.Context()))
				require.Equal(t, reported, count[event.ServerUnfit](spy))
				if reported == 1 {
					assert.Contains(t, await[event.ServerUnfit](t, spy, nil).Problem, policy)
				}
				require.NoError(t, pool.Stop(t.Context()))
			})
		}
	})
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"5.0.0": true, "6.2.14": true, "6.99.9": true, "7.0.0": false, "7.0.15": false, "10.1": false, "": false,
		"unknown": false,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, old, rdb.ServerFacts{Version: version}.TooOld())
		})
	}
}
