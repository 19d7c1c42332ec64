package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// follow reads a log in a goroutine of its own, until the loop ends by itself.
func (k *kit) follow(ctx context.Context, id string) (lines <-chan inspect.LogLine, ended <-chan error) {
	return follow(ctx, k.inspector(), id)
}

func follow(ctx context.Context, inspector *inspect.Inspector, id string) (<-chan inspect.LogLine, <-chan error) {
	read, over := make(chan inspect.LogLine, 10_000), make(chan error, 1)
	go func() {
		var last error
		for line, err := range inspector.FollowLog(ctx, id) {
			if last = err; err == nil {
				read <- line
			}
		}
		close(read)
		over <- last
	}()
	return read, over
}

func TestALogIsFollowedToItsLastLine(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		steps := make(chan int)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			for step := range steps {
				for i := range step {
					job.Logger().Info(fmt.Sprint(i + 1))
				}
				if job.Attempt == 1 && step == 70 {
					return work.RetryIn(0, pooltest.ErrLuck)
				}
			}
			job.Logger().Info("the last words")
			return nil
		}))
		id := k.Enqueue("long").ID
		steps <- 1
		k.Logged(id, 1)
		lines, ended := k.follow(k.Ctx(), id)
		assert.Equal(t, int64(1), pooltest.Receive(t, lines).Number)
		steps <- 300 // more than are sent at once, and than are looked at at once
		for n := range 300 {
			assert.Equal(t, int64(n+2), pooltest.Receive(t, lines).Number)
		}
		steps <- 70
		steps <- 1 // of the second attempt
		for n := range 71 {
			assert.Equal(t, int64(n+302), pooltest.Receive(t, lines).Number)
		}
		close(steps)
		last := pooltest.Receive(t, lines)
		assert.Equal(t, "the last words", last.Message)
		assert.Equal(t, 2, last.Attempt)
		require.NoError(t, pooltest.Receive(t, ended))
		k.Drained(pool)
		_, err := k.inspector().Log(k.Ctx(), id, 0)
		require.ErrorIs(t, err, work.ErrNotFound)
	})
}

func TestFollowingALogEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		run func(k *kit, waiting string) error
	}{
		"when there is no such job": {func(k *kit, _ string) error {
			_, ended := k.follow(k.Ctx(), "nobody")
			err := pooltest.Receive(k.T, ended)
			if !errors.Is(err, work.ErrNotFound) {
				return fmt.Errorf("it ended with %w", err)
			}
			return nil
		}},
		"when its ctx ends": {func(k *kit, waiting string) error {
			ctx, cancel := context.WithCancel(k.Ctx())
			_, ended := k.follow(ctx, waiting)
			cancel()
			return pooltest.Receive(k.T, ended)
		}},
		"when the loop is left": {func(k *kit, waiting string) error {
			k.Do("RPUSH", "log:"+waiting, "# 3 0 0 ", "1 {}", "2 {}")
			for line, err := range k.inspector().FollowLog(k.Ctx(), waiting) {
				if err != nil || line.Number != 1 {
					return fmt.Errorf("it showed %v: %w", line, err)
				}
				break
			}
			return nil
		}},
		"when the job is deleted": {func(k *kit, waiting string) error {
			lines, ended := k.follow(k.Ctx(), waiting)
			k.Do("RPUSH", "log:"+waiting, "# 2 0 0 ", "1 no json\xff")
			line := pooltest.Receive(k.T, lines)
			k.Do("HDEL", "jobs", waiting)
			k.Do("UNLINK", "log:"+waiting)
			if line.Message != "no json\uFFFD" {
				return fmt.Errorf("it showed %v", line)
			}
			return pooltest.Receive(k.T, ended)
		}},
		"when Redis refuses": {func(k *kit, waiting string) error {
			k.Do("SET", "log:"+waiting, "of another type")
			_, ended := k.follow(k.Ctx(), waiting)
			if err := pooltest.Receive(k.T, ended); err == nil {
				return errors.New("it ended without an error")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				require.NoError(t, tt.run(k, k.Enqueue("waits").ID))
			})
		})
	}
}

// TestAFollowerThatIsCutOffMissesNothing that the log still has.
func TestAFollowerThatIsCutOffMissesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		inspector, err := inspect.New(proxy.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = inspector.Close() })
		release := make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			for i := range 500 {
				job.Logger().Info(fmt.Sprint(i))
			}
			<-release
			return nil
		}))
		id := k.Enqueue("long").ID
		var shown, failures atomic.Int64
		for shown.Load() < 500 { // an error ends a loop: the program begins another one
			for line, err := range inspector.FollowLog(k.Ctx(), id) {
				require.NoError(t, k.Ctx().Err())
				if err != nil {
					failures.Add(1)
					break
				}
				if line.Number == shown.Load()+1 && shown.Add(1)%100 == 0 {
					proxy.Cut()
				}
				if shown.Load() == 500 {
					break
				}
			}
		}
		close(release)
		k.Drained(pool)
		t.Logf("%d loops ended with an error", failures.Load())
	})
}
