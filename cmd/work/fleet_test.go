package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

// manyFiles makes n files of different contents.
func manyFiles(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		write(t, dir, fmt.Sprintf("%03d", i), strings.Repeat("word\n", i))
	}
	return dir
}

func TestAKilledProcessChangesNothing(t *testing.T) {
	t.Parallel()
	dir := manyFiles(t, 90)
	rows := func(args ...string) (printed, *kill) {
		got := call(append([]string{"demo", "--json", dir}, args...)...)
		require.Equal(t, exitOK, got.status, got.err)
		var said printed
		require.NoError(t, json.Unmarshal([]byte(got.out), &said))
		var more struct {
			Summary struct {
				Kill *struct{ Held, Process, PID int }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &more))
		if more.Summary.Kill == nil {
			return said, nil
		}
		return said, &kill{Held: more.Summary.Kill.Held, Process: more.Summary.Kill.Process, PID: more.Summary.Kill.PID}
	}
	calm, none := rows()
	require.Nil(t, none)
	killed, victim := rows("--workers", "3", "--kill", "--concurrency", "5", "--slow", "100ms")
	require.NotNil(t, victim)
	assert.Equal(t, calm.Files, killed.Files)
	assert.Positive(t, victim.Held, "it was running jobs when it was killed")
	assert.GreaterOrEqual(t, killed.Summary.Runs, calm.Summary.Runs+victim.Held, "these were run again")
}

// startTestFleet starts processes and gives them jobs that last as long as slow says.
func startTestFleet(t *testing.T, n int, slow time.Duration, jobs int) (*fleet, *ledger) {
	t.Helper()
	opts := crewOptions{Redis: startRedis(t), Namespace: "fleet", Concurrency: 2, Slow: slow}
	book := newLedger()
	f, err := startFleet(n, opts, book)
	require.NoError(t, err)
	t.Cleanup(func() { f.stop(cancelledContext()) })
	enq, err := work.NewEnqueuer(opts.Redis, work.Namespace(opts.Namespace))
	require.NoError(t, err)
	defer enq.Close()
	for range jobs {
		_, err := enq.Enqueue(t.Context(), jobScheduled)
		require.NoError(t, err)
	}
	return f, book
}

// await waits until the ledger is as it should be.
func await(t *testing.T, book *ledger, want func() bool) {
	t.Helper()
	timeout := time.After(time.Minute)
	for !want() {
		select {
		case <-book.changed:
		case <-timeout:
			require.Fail(t, "it did not happen")
		}
	}
}

func TestFleetStopsInGoodOrder(t *testing.T) {
	t.Parallel()
	f, book := startTestFleet(t, 2, 0, 4)
	done := 0
	await(t, book, func() bool { done += len(book.takeFresh()); return done == 4 })
	assert.NoError(t, f.failure())
	f.stop(context.Background())
	for _, m := range f.members {
		assert.True(t, f.dead(m.number))
		assert.NoError(t, m.err)
		assert.Empty(t, m.stderr.String())
	}
	assert.NoError(t, f.failure(), "they were told to")
}

func TestFleetIsKilledInAHurry(t *testing.T) {
	t.Parallel()
	f, book := startTestFleet(t, 2, time.Hour, 4)
	await(t, book, func() bool { return len(book.held(1)) == 2 && len(book.held(2)) == 2 })
	f.stop(cancelledContext())
	for _, m := range f.members {
		assert.EqualError(t, m.err, "signal: killed")
		assert.NotNil(t, m.cmd.ProcessState, "it was waited for")
	}
}

func TestFleetTellsWhyAProcessEnded(t *testing.T) {
	t.Parallel()
	f, err := startFleet(1, crewOptions{Redis: "redis://localhost", Namespace: "a{b", Concurrency: 1}, newLedger())
	require.NoError(t, err)
	<-f.ended
	require.Error(t, f.failure())
	assert.Regexp(t, `^worker process 1 \(pid \d+\) ended by itself, exit status 1: work: .*a\{b`, f.failure().Error())
	f.stop(context.Background())
}

func TestMemberDropsALineThatAKillCutOff(t *testing.T) {
	t.Parallel()
	book := newLedger()
	m := &member{number: 3, stderr: &tail{}}
	m.readMarks(strings.NewReader(`{"what":"begun","id":"a"}`+"\nnonsense\n"+`{"what":"begun","id":"b"`), book)
	assert.Equal(t, []string{"a"}, book.held(3))
	assert.Equal(t, `not a mark: "nonsense\n"`, m.stderr.String())
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var end tail
	fmt.Fprint(&end, strings.Repeat("a", 3000))
	fmt.Fprint(&end, "b")
	assert.Equal(t, strings.Repeat("a", 2047)+"b", end.String())
}
