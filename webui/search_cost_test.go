package webui

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/find"
	"github.com/265d0351/work/webui/internal/format"
)

// TestASearchThroughManyJobsLeavesRoomForOthers runs one through jobs in four places, and asks for pages meanwhile.
// WORK_SEARCH_LONG=1 does so with 1,000,000, and says how long it takes to the first job that is found and to the end,
// how long the longest call of Redis takes, and how long pages do with it and without.
func TestASearchThroughManyJobsLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "it measures how long things take")
	many := 40_000
	if os.Getenv("WORK_SEARCH_LONG") == "1" {
		many = 1_000_000
	}
	server := redistest.Dedicated(t)
	k := newKit(t, server.Server())
	redistest.NewCrowd(t, server.Addr(), k.namespace, many/4)
	conn, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer conn.Close() //lint:ignore errcheck nothing is lost
	for _, id := range []string{redistest.CrowdID("q", many/40), redistest.CrowdID("m", many/4-1)} {
		_, err = conn.Do("HSET", "{"+k.namespace+"}:jobs", id, `{"jid":"","name":"n","args":["needle"],"t":1}`)
		require.NoError(t, err)
	}
	do := func(command string, args ...any) any {
		value, err := conn.Do(command, args...)
		require.NoError(t, err)
		return value
	}
	alone := k.visits(func() bool { return false })
	do("CONFIG", "SET", "slowlog-log-slower-than", 50, "slowlog-max-len", 100_000)
	do("SLOWLOG", "RESET")

	begun, over := time.Now(), make(chan struct{})
	var first, all time.Duration
	var last find.News
	go func() {
		defer close(over)
		question := find.Question{Selection: inspect.Selection{Text: "needle"}}
		failed := k.handler.(*site).shared.Searches.Follow(k.ctx(), question, func(n find.News) error {
			if last = n; first == 0 && n.Found > 0 {
				first = time.Since(begun)
			}
			return nil
		})
		all = time.Since(begun)
		assert.NoError(t, failed)
	}()
	beside := k.visits(func() bool {
		select {
		case <-over:
			return false
		default:
			return true
		}
	})
	<-over
	slow, err := redis.Values(do("SLOWLOG", "GET", -1), nil)
	require.NoError(t, err)
	longest, what := time.Duration(0), ""
	for _, entry := range slow {
		fields, err := redis.Values(entry, nil)
		require.NoError(t, err)
		took, err := redis.Int64(fields[2], nil)
		require.NoError(t, err)
		if of := time.Duration(took) * time.Microsecond; of > longest {
			words, err := redis.Strings(fields[3], nil)
			require.NoError(t, err)
			longest, what = of, words[0]
		}
	}
	assert.Equal(t, 2, last.Found)
	assert.Equal(t, many, last.Through)
	t.Logf("%s jobs: the first is found after %s, all looked through after %s; the longest call of Redis, %s, took %s",
		format.Count(many), format.Span(first), format.Span(all), what, format.Span(longest))
	t.Logf("other pages: median %s and longest %s, without a search %s and %s", format.Span(median(beside)),
		format.Span(slices.Max(beside)), format.Span(median(alone)), format.Span(slices.Max(alone)))
}

// visits asks for pages as others do, one after the other, as long as they go on, and says how long each took.
func (k *kit) visits(goOn func() bool) (took []time.Duration) {
	k.t.Helper()
	pages := []string{"", "queues", "queue?name=n", "jobs?state=dead", "jobs?state=queued&name=n", "errors", "workers"}
	for n := 0; n < 10*len(pages) || goOn(); n++ {
		begun := time.Now()
		k.get(pages[n%len(pages)])
		took = append(took, time.Since(begun))
	}
	return took
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
