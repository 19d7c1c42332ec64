package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
)

func TestTopOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, args := range [][]string{{"top", "--once"}, {"top"}} { // without a terminal both are the same
		got := s.call(args...)
		require.Equal(t, said{out: got.out}, got)
		clitest.Golden(t, "top-once", strings.ReplaceAll(s.settled(got), strings.TrimPrefix(s.Server.DSN(), "redis://"),
			"REDIS"))
	}
}

func TestTopOnceInJSON(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, args := range [][]string{{"top", "--once", "--json"}, {"top", "--json"}} {
		got := s.call(args...)
		require.Equal(t, said{out: got.out}, got)
		require.Equal(t, 1, strings.Count(got.out, "\n"), "one object on one line")
		f := topSeen(t, got.out)
		assert.Equal(t, clitest.ShopNow, f.AsOf)
		assert.Equal(t, 3, f.Counts.Queued)
		require.Len(t, f.Queues, 4)
		assert.Equal(t, topSeenQueue{Name: "export",
			Limit: json.RawMessage(`{"concurrent":2,"rate":100,"per":"1m0s","burst":1}`)}, f.Queues[0].bare(t))
		assert.Equal(t, topSeenQueue{Name: "greet", Waiting: 3}, f.Queues[1].bare(t))
		assert.True(t, f.Queues[2].Paused)
		assert.Len(t, f.Errors, 2)
		assert.Len(t, f.Minutes, 60)
		assert.Equal(t, clitest.ShopNow.Truncate(time.Minute), f.Minutes[59].At)
		assert.Contains(t, got.out, `"last_minute":{"done":`)
	}
}

// topSeenFigures are figures as a program reads them.
type topSeenFigures struct {
	AsOf       time.Time                 `json:"as_of"`
	Counts     inspect.Counts            `json:"counts"`
	Processors struct{ Busy, Total int } `json:"processors"`
	Queues     []topSeenQueue
	Workers    []inspect.WorkerInfo
	Errors     []inspect.ErrorGroup
	Minutes    []struct{ At time.Time }
}

type topSeenQueue struct {
	Name    string
	Waiting int
	Paused  bool
	Limit   json.RawMessage
}

// bare has of the limit what is in force.
func (q topSeenQueue) bare(t *testing.T) topSeenQueue {
	t.Helper()
	if q.Limit != nil {
		var info struct{ Limit json.RawMessage }
		require.NoError(t, json.Unmarshal(q.Limit, &info))
		q.Limit = info.Limit
	}
	return q
}

func topSeen(t *testing.T, out string) (f topSeenFigures) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(out), &f), out)
	return f
}

// What has ended in the last minute, and who works, come from what workers tell.
func TestTopOnceWhileSomethingRuns(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Importing()
	f := topSeen(t, s.call("top", "--json").out)
	assert.Equal(t, struct{ Busy, Total int }{1, 3}, f.Processors)
	require.Len(t, f.Workers, 1)
	assert.Equal(t, "import", f.Workers[0].Running[0].Name)
	text := s.call("top", "--once").out
	assert.Contains(t, text, "busy 1/3   workers 1\n")
	assert.Regexp(t, `\S+:\d+ +1/3 .* at work +import`, text)
}

func TestTopOfNothing(t *testing.T) {
	t.Parallel()
	got := call("top", "--redis", clitest.Redis(t))
	assert.Zero(t, got.status)
	assert.Contains(t, got.out,
		"there are no queues: nothing was enqueued\n\nthere are no workers\n\nno errors were counted\n")
	got = call("top", "--json", "--redis", clitest.Redis(t))
	assert.Contains(t, got.out, `"queues":[],"workers":[],"errors":[],`, "lists, not null")
}

func TestTopWhoseReaderHasLeft(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	for _, args := range [][]string{{"top", "--redis", dsn}, {"top", "--redis", dsn, "--json"}} {
		var errOut strings.Builder
		assert.Equal(t, exit.Failure, execute(args, strings.NewReader(""), broken{syscall.EPIPE}, &errOut))
		assert.Empty(t, errOut.String())
	}
}

func TestTopMistakes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no Redis", nil, exit.Usage, "no Redis is named: give --redis"},
		{"too often", []string{"--redis", "redis://localhost", "--interval", "1ms"}, exit.Usage,
			"--interval is 1ms: give 100ms to 1h"},
		{"too seldom", []string{"--redis", "redis://localhost", "--interval", "2h"}, exit.Usage,
			"--interval is 2h0m0s: give 100ms to 1h"},
		{"an argument", []string{"export"}, exit.Usage, "work top takes no argument"},
		{"nobody there", []string{"--redis", "redis://127.0.0.1:1"}, exit.Failure,
			"cannot connect to Redis at 127.0.0.1:1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := call(append([]string{"top"}, row.args...)...)
			assert.Equal(t, row.status, got.status)
			assert.Empty(t, got.out)
			assert.Contains(t, got.err, row.want)
		})
	}
}
