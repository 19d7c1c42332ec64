package history_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

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
	t.Log("| names | us of Redis per worker and second | names in a minute | bytes of the minute | bytes per name " +
		"and minute |")
	for _, names := range []int{1, 100, 1_000, 10_000} {
		namespace := fmt.Sprint("h", names)
		driver, err := redisconn.Open(server.DSN())
		require.NoError(t, err)
		store := rdb.NewStore(driver, namespace)
		waitForRoom(t, store)
		before := spent()
		const workers, seconds = 4, 60
		for w := range workers {
			p := newPacedKit(names)
			p.Reporter.Lane = fmt.Sprint("lane ", w) // each worker has its own
			for range seconds {
				p.Count(p.attempts)
				p.now = p.now.Add(time.Second)
				for _, call := range reportNow(p, store) {
					replies, err := driver.Pipeline(t.Context(), call)
					require.NoError(t, err)
					p.Answered(replies)
					require.NoError(t, p.trouble, w)
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
		t.Logf("| %s | %.0f | %d | %d | %.0f |", excerpt.Count(names), cost, rows, bytes, float64(bytes)/float64(names))
		_ = driver.Close()
	}
}

// waitForRoom waits until a minute has at least 30 seconds left.
func waitForRoom(t *testing.T, store *rdb.Store) {
	require.Eventually(t, func() bool {
		now, err := store.Time(t.Context())
		return err == nil && now.Second() < 30
	}, time.Minute, 100*time.Millisecond)
}

// reportNow is what one heartbeat reports. The clock of the kit runs ahead of Redis': the minute is that of Redis.
func reportNow(p *pacedKit, store *rdb.Store) []redisconn.Call {
	calls := p.Calls(false)
	if len(calls) == 0 {
		return nil
	}
	tally := tallyOf(calls[0])
	tally.At = time.Now()
	return []redisconn.Call{store.Tally(tally)}
}
