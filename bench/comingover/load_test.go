package comingover_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// pool runs jobs on this side until the test ends.
func pool(t *testing.T, dsn string, c *counts, names ...string) {
	t.Helper()
	p := work.NewWorkerPool(struct{}{}, 4, work.WorkerOptions{Redis: dsn, Namespace: namespace,
		Logger: slog.New(slog.DiscardHandler)})
	for _, name := range names {
		p.Job(name, func(old Old) error {
			c.note(c.new, old.ID)
			return nil
		})
	}
	require.NoError(t, p.Start(t.Context()))
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
}

// load has the old side enqueue and work, and a pool here, while the bridge between them is killed again and again.
// Then the old workers are stopped, more is enqueued, and a bridge that nobody kills brings over what is left. Each id
// that was enqueued must have run once, on either side.
type load struct {
	*testing.T
	bridge    bridge
	counts    *counts
	figures   *figures
	enqueue   func(from, to int) (ids []string)
	stopOld   func()
	meanwhile func(n int) // happens in each wave; nil is nothing
}

// long makes the waves many: see make coming-over.
func long() bool { return os.Getenv("WORK_COMING_LONG") != "" }

func (l *load) run() {
	l.Helper()
	const each = 150
	kills := 16
	if long() {
		kills = 300
	}
	var ids []string
	done, begun := 0, time.Now()
	for n := range kills {
		var enqueuing sync.WaitGroup
		enqueuing.Go(func() { ids = append(ids, l.enqueue(n*each, (n+1)*each)...) })
		if killed(l.T, l.bridge.command(l.T, "--follow"), 250*time.Millisecond) {
			done++
		}
		enqueuing.Wait()
		if l.meanwhile != nil {
			l.meanwhile(n)
		}
	}
	assert.Positive(l, done, "it was killed")
	l.stopOld()
	ids = append(ids, l.enqueue(kills*each, (kills+1)*each)...) // for this side alone
	r, status := run(l.T, l.bridge.command(l.T, "--follow", "--idle", "1s"))
	assert.Zero(l, status)
	assert.True(l, r.Complete, "%+v", r)
	assert.Zero(l, r.Twins)
	require.Eventually(l, func() bool { return l.counts.ran() == len(ids) }, patience, 10*time.Millisecond)
	l.counts.onceEach(l.T, ids)
	assert.NotEmpty(l, l.counts.old, "the old side has run some")
	assert.NotEmpty(l, l.counts.new, "and this side")
	l.Logf("%d ran there, %d here; killed %d times", len(l.counts.old), len(l.counts.new), done)
	l.figures.note(fmt.Sprintf("| %s | %s | %d | %s | %s | %d s |", l.bridge.library, redistest.Grouped(len(ids)), done,
		redistest.Grouped(len(l.counts.old)), redistest.Grouped(len(l.counts.new)), int(time.Since(begun).Seconds())))
}

// TestJobsRunOnceWhileTheBridgeIsKilled does so for both libraries. What it saw it writes into the file that
// WORK_COMING_FIGURES names.
func TestJobsRunOnceWhileTheBridgeIsKilled(t *testing.T) {
	t.Parallel()
	var f figures
	t.Cleanup(func() {
		f.write(t, "load",
			"| library | jobs | kills of the bridge | ran there | ran here | lasted |\n|---|---|---|---|---|---|\n")
	})
	t.Run("asynq", func(t *testing.T) {
		t.Parallel()
		asynqUnderLoad(t, &f)
	})
	t.Run("gocraft", func(t *testing.T) {
		t.Parallel()
		gocraftUnderLoad(t, &f)
	})
}

// TestHowFastJobsComeOver has 100,000 jobs wait, and nobody who works. It lasts a minute, so WORK_COMING_LONG=1
// switches it on.
func TestHowFastJobsComeOver(t *testing.T) {
	if !long() {
		t.Skip("it lasts: WORK_COMING_LONG=1 switches it on")
	}
	const jobs = 100_000
	var f figures
	for _, library := range []string{"asynq", "gocraft"} {
		redis := redistest.Dedicated(t)
		b := bridge{dsn: redis.DSN(), library: library}
		if library == "asynq" {
			client := asynq.NewClient(asynq.RedisClientOpt{Addr: redis.Addr()})
			for n := range jobs {
				_, err := client.Enqueue(asynq.NewTask("count", fmt.Appendf(nil, `{"id":"n%d"}`, n)))
				require.NoError(t, err)
			}
			require.NoError(t, client.Close())
		} else {
			b.flags = []string{"--from-namespace", "app"}
			g := newGocraft(t, redis.Addr(), newCounts())
			for n := range jobs {
				g.do("LPUSH", gocraftSpace+"jobs:count", (&oldJob{Name: "count", ID: fmt.Sprint("n", n)}).encode())
			}
		}
		begun := time.Now()
		r, status := run(t, b.command(t))
		lasted := time.Since(begun)
		assert.Zero(t, status)
		assert.Equal(t, jobs, r.Total)
		f.rows = append(f.rows, fmt.Sprintf("| %s | %s | %.1f s | %s |", library, redistest.Grouped(jobs),
			lasted.Seconds(), redistest.Grouped(int(jobs/lasted.Seconds())/100*100)))
	}
	f.write(t, "rates", "| library | jobs that wait | lasts | jobs per second |\n|---|---|---|---|\n")
}

// figures are rows of a table.
type figures struct {
	mutex sync.Mutex
	rows  []string
}

func (f *figures) note(row string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.rows = append(f.rows, row)
}

func (f *figures) write(t *testing.T, of, head string) {
	file := os.Getenv("WORK_COMING_FIGURES")
	if file == "" || t.Failed() {
		return
	}
	slices.Sort(f.rows)
	redistest.WriteFigures(t, file, of, head+strings.Join(f.rows, "\n")+"\n")
}
