package work

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// follow reads a log in a goroutine of its own, until the loop ends by itself.
func (k *kit) follow(ctx context.Context, id string) (lines <-chan LogLine, ended <-chan error) {
	inspector := k.inspector()
	read, over := make(chan LogLine, 10_000), make(chan error, 1)
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
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			for step := range steps {
				for i := range step {
					job.Logger().Info(fmt.Sprint(i + 1))
				}
				if job.Attempt == 1 && step == 70 {
					return RetryIn(0, errLuck)
				}
			}
			job.Logger().Info("the last words")
			return nil
		}))
		id := k.enqueue("long").ID
		steps <- 1
		k.logged(id, 1)
		lines, ended := k.follow(k.ctx(), id)
		assert.Equal(t, int64(1), receive(t, lines).Number)
		steps <- 300 // more than are sent at once, and than are looked at at once
		for n := range 300 {
			assert.Equal(t, int64(n+2), receive(t, lines).Number)
		}
		steps <- 70
		steps <- 1 // of the second attempt
		for n := range 71 {
			assert.Equal(t, int64(n+302), receive(t, lines).Number)
		}
		close(steps)
		last := receive(t, lines)
		assert.Equal(t, "the last words", last.Message)
		assert.Equal(t, 2, last.Attempt)
		require.NoError(t, receive(t, ended))
		k.drained(pool)
		_, err := k.inspector().Log(k.ctx(), id, 0)
		require.ErrorIs(t, err, ErrNotFound)
	})
}

func TestFollowingALogEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		run func(k *kit, waiting string) error
	}{
		"when there is no such job": {func(k *kit, _ string) error {
			_, ended := k.follow(k.ctx(), "nobody")
			err := receive(k.t, ended)
			if !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("it ended with %w", err)
			}
			return nil
		}},
		"when its ctx ends": {func(k *kit, waiting string) error {
			ctx, cancel := context.WithCancel(k.ctx())
			_, ended := k.follow(ctx, waiting)
			cancel()
			return receive(k.t, ended)
		}},
		"when the loop is left": {func(k *kit, waiting string) error {
			k.do("RPUSH", "log:"+waiting, "# 3 0 0 ", "1 {}", "2 {}")
			for line, err := range k.inspector().FollowLog(k.ctx(), waiting) {
				if err != nil || line.Number != 1 {
					return fmt.Errorf("it showed %v: %w", line, err)
				}
				break
			}
			return nil
		}},
		"when the job is deleted": {func(k *kit, waiting string) error {
			lines, ended := k.follow(k.ctx(), waiting)
			k.do("RPUSH", "log:"+waiting, "# 2 0 0 ", "1 no json\xff")
			line := receive(k.t, lines)
			k.do("HDEL", "jobs", waiting)
			k.do("UNLINK", "log:"+waiting)
			if line.Message != "no json\uFFFD" {
				return fmt.Errorf("it showed %v", line)
			}
			return receive(k.t, ended)
		}},
		"when Redis refuses": {func(k *kit, waiting string) error {
			k.do("SET", "log:"+waiting, "of another type")
			_, ended := k.follow(k.ctx(), waiting)
			if err := receive(k.t, ended); err == nil {
				return errors.New("it ended without an error")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				require.NoError(t, tt.run(k, k.enqueue("waits").ID))
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
		inspector, err := NewInspector(proxy.DSN(), Namespace(k.namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = inspector.Close() })
		release := make(chan struct{})
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			for i := range 500 {
				job.Logger().Info(fmt.Sprint(i))
			}
			<-release
			return nil
		}))
		id := k.enqueue("long").ID
		var shown, failures atomic.Int64
		for shown.Load() < 500 { // an error ends a loop: the program begins another one
			for line, err := range inspector.FollowLog(k.ctx(), id) {
				require.NoError(t, k.ctx().Err())
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
		k.drained(pool)
		t.Logf("%d loops ended with an error", failures.Load())
	})
}
