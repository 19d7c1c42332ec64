package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// trial is a bench of 40 jobs that a test may put its hands into.
func trial(dsn string) (*bench, *bytes.Buffer) {
	var out bytes.Buffer
	return &bench{
		Options: Options{
			Jobs: 40, Concurrency: 4, Queues: 2, Enqueuers: 2, Redis: dsn, Namespace: "trial",
			Console: &console.Console{Out: &out, Err: io.Discard}, Logger: slog.New(slog.DiscardHandler),
			Hurry: context.Background(),
		},
	}, &out
}

func TestBenchFindsJobsThatRanTwiceOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		tamper func(id int64, count func(int64))
		want   string
	}{
		{"twice", func(id int64, count func(int64)) {
			count(id)
			if id == 79 { // the last of the single ones
				count(id)
			}
		}, "Of 80 jobs 0 did not run and 1 ran more than once."},
		{"as another", func(id int64, count func(int64)) {
			if id == 7 {
				id = 8
			}
			count(id)
		}, "Of 80 jobs 1 did not run and 1 ran more than once."},
		{"never stored", func(id int64, count func(int64)) {
			count(id)
			if id == 3 {
				count(80)
				count(-1)
			}
		}, "Of 80 jobs 0 did not run and 0 ran more than once; jobs that were never stored ran 2 times."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dsn := clitest.Redis(t)
			b, out := trial(dsn)
			b.tamper = row.tamper
			found, err := b.run(t.Context())
			require.NoError(t, err)
			require.ErrorIs(t, found.show(b.Console, false), errNotOnce)
			assert.Contains(t, out.String(), row.want)
			out.Reset()
			b.Console.Quiet = true
			require.ErrorIs(t, found.show(b.Console, false), errNotOnce)
			assert.Equal(t, row.want+"\n", out.String(), "also said where only what is wrong is to be said")
			assert.Empty(t, clitest.Keys(t, dsn))
		})
	}
}

func TestBenchRemovesItsNamespaceWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{phaseEnqueue, phaseProcess, phasePickup} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			dsn := clitest.Redis(t)
			enq, err := work.NewEnqueuer(dsn)
			require.NoError(t, err)
			_, err = enq.Enqueue(t.Context(), "greet")
			require.NoError(t, errors.Join(err, enq.Close()))
			before := clitest.Keys(t, dsn)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			b, _ := trial(dsn)
			var during []string
			b.reached = func(now string) {
				if now == phase {
					during = clitest.Keys(t, dsn)
					cancel(interrupt.Err)
				}
			}
			_, err = b.run(ctx)
			require.ErrorIs(t, err, interrupt.Err)
			assert.EqualError(t, err, "interrupted: namespace trial is removed")
			if phase != phaseEnqueue {
				assert.Greater(t, len(during), len(before), "there was something to remove")
			}
			assert.ElementsMatch(t, before, clitest.Keys(t, dsn))
		})
	}
}

// A namespace that cannot be removed is named: here a worker of somebody else is registered in it.
func TestBenchSaysWhatItLeaves(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	clitest.Command(t, dsn, "SADD", "{trial}:workers", "somebody")
	b, _ := trial(dsn)
	_, err := b.run(t.Context())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "left in Redis, in namespace trial: {trial} was not erased: workers are registered")

	ctx, cancel := context.WithCancelCause(t.Context())
	b.reached = func(string) { cancel(interrupt.Err) }
	_, err = b.run(ctx)
	require.ErrorIs(t, err, interrupt.Err)
	assert.Contains(t, err.Error(), "interrupted: the jobs of this run are left in Redis, in namespace trial")
}

func TestBenchStoresNoMoreThanFits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		options Options
		want    int
	}{
		{"a number", Options{Jobs: 7}, 7},
		{"a time", Options{Jobs: 7, Duration: 1}, mostJobs},
		{"a time and small arguments", Options{Duration: 1, ArgsBytes: 1}, mostJobs},
		{"a time and large arguments", Options{Duration: 1, ArgsBytes: 1 << 20}, 1024},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, row.options.mostJobs())
		})
	}
}

func TestOnceInWords(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Each of 1 job ran exactly once.", fmt.Sprint(once{Jobs: 1}))
	assert.Equal(t, "Each of 2,000 jobs ran exactly once.", fmt.Sprint(once{Jobs: 2000}))
}
