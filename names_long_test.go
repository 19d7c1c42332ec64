package work

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// TestAPoolOfTenThousandNamesStartsAndStopsSoon prints how long it takes, on a real Redis, plain and with a limit for
// each name.
func TestAPoolOfTenThousandNamesStartsAndStopsSoon(t *testing.T) {
	if os.Getenv("WORK_NAMES_LONG") != "1" {
		t.Skip("make names-long")
	}
	server := redistest.Dedicated(t)
	for _, limit := range []Limit{{}, {Concurrent: 3}} {
		for _, n := range []int{10, 1_000, 10_000} {
			pool := NewWorkerPool(nil, 2,
				WorkerOptions{Redis: server.DSN(), Namespace: fmt.Sprint("n", n, limit.Concurrent), Logger: silent()})
			for i := range n {
				pool.JobWithOptions(fmt.Sprintf("job-%05d", i), JobOptions{Limit: limit}, func() error { return nil })
			}
			begun := time.Now()
			err := pool.Start(t.Context())
			started := time.Since(begun)
			message := "it started"
			if err != nil {
				message = fmt.Sprintf("an error of %d bytes", len(err.Error()))
			}
			begun = time.Now()
			assert.NoError(t, pool.Stop(context.Background()))
			t.Logf("%6d names, limit %d: start %8s, stop %8s: %s", n, limit.Concurrent, started.Round(time.Millisecond),
				time.Since(begun).Round(time.Millisecond), message)
		}
	}
}

// TestWhatHistoryCosts prints what one of four workers costs Redis in a second in which all its names run, and what a
// minute of that takes in memory.
func TestWhatHistoryCosts(t *testing.T) {
	if os.Getenv("WORK_NAMES_LONG") != "1" {
		t.Skip("make names-long")
	}
	server := redistest.Dedicated(t)
	conn, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer conn.Close()
	spent := func() float64 {
		info, err := redis.String(conn.Do("INFO", "commandstats"))
		require.NoError(t, err)
		total := 0.0
		for line := range strings.Lines(info) {
			var calls, usec float64
			if strings.HasPrefix(line, "cmdstat_eval") {
				_, rest, _ := strings.Cut(line, ":")
				_, _ = fmt.Sscanf(rest, "calls=%f,usec=%f", &calls, &usec)
				total += usec
			}
		}
		return total
	}
	t.Log("| names | us of Redis per worker and second | names in a minute | bytes of the minute | bytes per name and " +
		"minute |")
	for _, names := range []int{1, 100, 1_000, 10_000} {
		namespace := fmt.Sprint("h", names)
		driver, err := rdb.Open(server.DSN())
		require.NoError(t, err)
		store := rdb.NewStore(driver, namespace)
		waitForRoom(t, store)
		before := spent()
		const workers, seconds = 4, 60
		for w := range workers {
			p := newPacedLedger(names)
			for range seconds {
				p.book(p.runs)
				p.now = p.now.Add(time.Second)
				for _, call := range historyCalls(p, store) {
					replies, err := driver.Pipeline(t.Context(), call)
					require.NoError(t, err)
					require.NoError(t, p.answered(replies), w)
				}
			}
		}
		cost := (spent() - before) / workers / seconds
		now, err := store.Time(t.Context())
		require.NoError(t, err)
		key := "{" + namespace + "}:stats:" + now.UTC().Format("2006-01-02T15:04")
		rows, err := redis.Int(conn.Do("HLEN", key))
		require.NoError(t, err)
		bytes, err := redis.Int(conn.Do("MEMORY", "USAGE", key, "SAMPLES", "0"))
		require.NoError(t, err)
		t.Logf("| %s | %.0f | %d | %d | %.0f |", grouped(names), cost, rows, bytes, float64(bytes)/float64(names))
		_ = driver.Close()
	}
}

// waitForRoom waits until a minute has at least 30 seconds left.
func waitForRoom(t *testing.T, store *rdb.Store) {
	require.Eventually(t, func() bool {
		now, err := store.Time(t.Context())
		return err == nil && now.Second() < 30
	}, patience, 100*time.Millisecond)
}

// historyCalls are those of one heartbeat. The ledger's clock runs ahead of Redis': the minute is that of Redis.
func historyCalls(p *pacedLedger, store *rdb.Store) []rdb.Call {
	if len(p.news(store, false)) == 0 {
		return nil
	}
	p.open.At = time.Now()
	return []rdb.Call{store.Tally(*p.open)}
}
