package work

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// The variables that make this test binary a program of its own, which runs a pool until a signal comes.
const (
	runRedis     = "WORK_TEST_RUN_REDIS"
	runNamespace = "WORK_TEST_RUN_NAMESPACE"
)

// TestRunOfAChild is that program; as a test it does nothing.
func TestRunOfAChild(t *testing.T) {
	if os.Getenv(runRedis) == "" {
		t.Skip("it is run by TestRunEndsWithASignal")
	}
	job := func(wait func(context.Context)) func(context.Context, *Job) error {
		return func(ctx context.Context, job *Job) error {
			fmt.Println("entered")
			wait(ctx)
			fmt.Println(context.Cause(ctx), job.Checkin(""))
			return ctx.Err()
		}
	}
	pool := NewWorkerPool(nil, 2, WorkerOptions{
		Redis: os.Getenv(runRedis), Namespace: os.Getenv(runNamespace), Logger: silent(), ShutdownTimeout: time.Hour,
		Observers: []Observer{ObserverFunc(func(e event.Event) {
			if released, ok := e.(event.JobReleased); ok {
				fmt.Println("released", released.Name)
			}
		})},
	})
	pool.Job("until stopping", job(func(context.Context) { <-untilStopping(pool) }))
	pool.Job("until its ctx ends", job(func(ctx context.Context) {
		<-untilStopping(pool)
		fmt.Println("stopping")
		<-ctx.Done()
	}))
	err := pool.Run(context.Background())
	var stop *StopError
	fmt.Println("ended:", err == nil, errors.As(err, &stop) && len(stop.Released) == 1)
}

func TestRunEndsWithASignal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]struct {
			job     string
			signals []os.Signal
			said    []string // after each signal
			end     []string
		}{
			"SIGTERM": {"until stopping", []os.Signal{syscall.SIGTERM}, nil,
				[]string{"<nil> true", "ended: true false"}},
			"SIGINT": {"until stopping", []os.Signal{os.Interrupt}, nil, []string{"<nil> true", "ended: true false"}},
			"a second one hurries": {"until its ctx ends", []os.Signal{syscall.SIGTERM, syscall.SIGTERM},
				[]string{"stopping"},
				[]string{ErrShutdown.Error() + " true", "released until its ctx ends", "ended: false true"}},
		} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				child, says := startRunner(t, k)
				k.enqueue(row.job)
				require.Equal(t, "entered", receive(t, says))
				for i, signal := range row.signals {
					require.NoError(t, child.Process.Signal(signal))
					if i < len(row.said) {
						require.Equal(t, row.said[i], receive(t, says))
					}
				}
				for _, line := range row.end {
					assert.Equal(t, line, receive(t, says))
				}
				k.noWorker()
			})
		}
	})
}

// startRunner starts the program and returns what it prints, line by line.
func startRunner(t *testing.T, k *kit) (*exec.Cmd, <-chan string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestRunOfAChild$")
	child.Env = append(os.Environ(), runRedis+"="+k.server.DSN(), runNamespace+"="+k.namespace)
	output, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := make(chan string, 100)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = child.Process.Kill() // it has ended, unless the test failed
		<-read
		_ = child.Wait()
	})
	return child, lines
}
