package demo

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/clitest"
)

// startTestFleet starts processes and gives them jobs that last as long as slow says.
func startTestFleet(t *testing.T, n int, slow time.Duration, jobs int) (*fleet, *runLog) {
	t.Helper()
	opts := poolOptions{Redis: clitest.Redis(t), Namespace: "fleet", Concurrency: 2, Slow: slow}
	log := newRunLog()
	f, err := startFleet(n, opts, log)
	require.NoError(t, err)
	t.Cleanup(func() { f.stop(cancelledContext()) })
	enq, err := work.NewEnqueuer(opts.Redis, work.Namespace(opts.Namespace))
	require.NoError(t, err)
	defer enq.Close()
	for range jobs {
		_, err := enq.Enqueue(t.Context(), jobScheduled)
		require.NoError(t, err)
	}
	return f, log
}

// await waits until the log of runs is as it should be.
func await(t *testing.T, log *runLog, want func() bool) {
	t.Helper()
	timeout := time.After(time.Minute)
	for !want() {
		select {
		case <-log.changed:
		case <-timeout:
			require.Fail(t, "it did not happen")
		}
	}
}

func TestFleetStopsInGoodOrder(t *testing.T) {
	t.Parallel()
	f, log := startTestFleet(t, 2, 0, 4)
	done := 0
	await(t, log, func() bool { done += len(log.takeFresh()); return done == 4 })
	assert.NoError(t, f.failure())
	f.stop(context.Background())
	for _, m := range f.processes {
		assert.True(t, f.dead(m.number))
		assert.NoError(t, m.err)
		assert.Empty(t, m.stderr.String())
	}
	assert.NoError(t, f.failure(), "they were told to")
}

func TestFleetIsKilledInAHurry(t *testing.T) {
	t.Parallel()
	f, log := startTestFleet(t, 2, time.Hour, 4)
	await(t, log, func() bool { return len(log.held(1)) == 2 && len(log.held(2)) == 2 })
	f.stop(cancelledContext())
	for _, m := range f.processes {
		assert.EqualError(t, m.err, "signal: killed")
		assert.NotNil(t, m.cmd.ProcessState, "it was waited for")
	}
}

func TestFleetTellsWhyAProcessEnded(t *testing.T) {
	t.Parallel()
	f, err := startFleet(1, poolOptions{Redis: "redis://localhost", Namespace: "a{b", Concurrency: 1}, newRunLog())
	require.NoError(t, err)
	<-f.ended
	require.Error(t, f.failure())
	assert.Regexp(t, `^worker process 1 \(pid \d+\) ended by itself, exit status 1: work: .*a\{b`, f.failure().Error())
	f.stop(context.Background())
}

func TestMemberDropsALineThatAKillCutOff(t *testing.T) {
	t.Parallel()
	log := newRunLog()
	m := &process{number: 3, stderr: &tail{}}
	m.readMarks(strings.NewReader(`{"what":"begun","id":"a"}`+"\nnonsense\n"+`{"what":"begun","id":"b"`), log)
	assert.Equal(t, []string{"a"}, log.held(3))
	assert.Equal(t, `not a mark: "nonsense\n"`, m.stderr.String())
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var end tail
	fmt.Fprint(&end, strings.Repeat("a", 3000))
	fmt.Fprint(&end, "b")
	assert.Equal(t, strings.Repeat("a", 2047)+"b", end.String())
}
