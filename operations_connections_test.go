package work

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// TestConnectionsOfAPool counts, on a Redis of its own, what a pool has open: at work, as many as there ever were, and
// at rest. docs/operations.md says how many there can be.
func TestConnectionsOfAPool(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{20, 1000} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			t.Parallel()
			server := redistest.Dedicated(t)
			k := newKit(t, server.Server())
			jobs := 20 * concurrency
			entries := make([]Entry, jobs)
			for i := range entries {
				entries[i] = Entry{Name: []string{"a", "b", "c"}[i%3]}
			}
			_, err := k.enq.EnqueueMany(k.ctx(), entries)
			require.NoError(t, err)
			require.NoError(t, k.enq.Close())

			admin, err := redis.Dial("tcp", server.Addr())
			require.NoError(t, err)
			defer admin.Close()
			most := map[string]int{}
			look := func() map[string]int {
				now := connectionsBeside(t, admin)
				for kind, n := range now {
					most[kind] = max(most[kind], n)
				}
				return now
			}
			require.Zero(t, look()["all"], "the enqueuer has closed its own")

			var done atomic.Int64
			handler := func() error { done.Add(1); return nil }
			pool := k.start(NewWorkerPool(nil, concurrency, k.options()).Job("a", handler).Job("b", handler).
				Job("c", handler))
			workers := 1
			k.until("all are done", func() bool {
				look()
				workers = max(workers, len(pool.current()))
				return done.Load() == int64(jobs)
			})
			require.NoError(t, pool.Drain(k.ctx()))
			rest := look()
			t.Logf("concurrency %d, %d workers: at most %v, after the work %v", concurrency, workers, most, rest)

			assert.Equal(t, 1, most["subscribe"], "one worker listens for all")
			assert.LessOrEqual(t, most["all"], poolSizeOfThePage(t)+1+2*workers,
				"each worker beats on one of its own, and sleeps on another")
			assert.LessOrEqual(t, workers, (concurrency+maxPerWorker-1)/maxPerWorker)
		})
	}
}

// poolSizeOfThePage is the default of pool_size, as docs/operations.md says it.
func poolSizeOfThePage(t *testing.T) (n int) {
	t.Helper()
	page, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?m)^\\| `pool_size` \\| (\\d+) \\|").FindStringSubmatch(string(page))
	require.NotNil(t, found)
	_, err = fmt.Sscan(found[1], &n)
	require.NoError(t, err)
	return n
}

// connectionsBeside counts all other connections, and those of them that wait for messages or whose last command waited
// for a token.
func connectionsBeside(t *testing.T, admin redis.Conn) map[string]int {
	t.Helper()
	own, err := redis.Int(admin.Do("CLIENT", "ID"))
	require.NoError(t, err)
	list, err := redis.String(admin.Do("CLIENT", "LIST"))
	require.NoError(t, err)
	kinds := map[string]int{}
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, fmt.Sprintf("id=%d ", own)) {
			continue
		}
		kinds["all"]++
		for _, command := range []string{"subscribe", "blpop"} {
			if strings.Contains(line, " cmd="+command+" ") {
				kinds[command]++
			}
		}
		if strings.Contains(line, " sub=1 ") && !strings.Contains(line, " cmd=subscribe ") { // it was probed last
			kinds["subscribe"]++
		}
	}
	return kinds
}
