package integration

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// stepRounds is how often each is measured.
const stepRounds = 3

// travels is what jobs do of which it is measured what it costs.
type travels struct {
	what string
	many int // steps and waits of a job
	jobs int
	naps int  // how often a job is put off, each time with an outcome of its own
	mail bool // each job has a message before it begins
	do   func(ctx context.Context) error
}

// TestWhatStepsCost measures what steps and waits cost Redis, beside jobs that have none, and writes the figures into
// the file that WORK_STEPS_FIGURES names. It lasts minutes, so WORK_STEPS_LONG=1 switches it on.
func TestWhatStepsCost(t *testing.T) {
	if os.Getenv("WORK_STEPS_LONG") != "1" {
		t.Skip("it lasts minutes: make steps")
	}
	rows := allTravels()
	rounds := make([][]travelCost, len(rows))
	before := loads()
	for range stepRounds { // one after the other, so that what else the machine does is in all rows
		for i := range rows {
			rounds[i] = append(rounds[i], rows[i].measure(t))
		}
	}
	figures := fmt.Sprintf("Measured %s by `make steps` on %d cores, %s/%s, whose load was %s before and %s after: "+
		"200 processors,\nresults of a few bytes; medians of %d rounds.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, before,
		loads(), stepRounds)
	figures += "| what a job does | jobs a second | Redis' CPU of a job | of each step or wait | " +
		"Redis' CPU of a `Send` |\n|---|--:|--:|--:|--:|\n"
	of := func(i int, figure func(c travelCost) float64) float64 {
		var all []float64
		for _, c := range rounds[i] {
			all = append(all, figure(c))
		}
		return median(all)
	}
	cpu := func(c travelCost) float64 { return micros(c.cpu) }
	for i, row := range rows {
		each, sent := "", ""
		if row.many > 0 {
			each = fmt.Sprintf("%.1f us", (of(i, cpu)-of(0, cpu))/float64(row.many))
		}
		if row.mail {
			sent = fmt.Sprintf("%.1f us", of(i, func(c travelCost) float64 { return micros(c.sent) }))
		}
		figures += fmt.Sprintf("| %s | %s | %.1f us | %s | %s |\n", row.what,
			redistest.Grouped(int(of(i, func(c travelCost) float64 { return c.rate }))), of(i, cpu), each, sent)
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_STEPS_FIGURES"); file != "" && !t.Failed() {
		redistest.WriteFigures(t, file, "steps", figures)
	}
}

func allTravels() []travels {
	walk := func(many int) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			for n := range many {
				if _, err := work.Step(ctx, fmt.Sprint("step ", n), func(context.Context) (int, error) {
					return n, nil
				}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return []travels{
		{what: "nothing", jobs: 20_000, do: walk(0)},
		{what: "1 step", many: 1, jobs: 20_000, do: walk(1)},
		{what: "10 steps", many: 10, jobs: 10_000, do: walk(10)},
		{what: "100 steps", many: 100, jobs: 2_000, do: walk(100)},
		{what: "a message that is there", many: 1, jobs: 20_000, mail: true, do: func(ctx context.Context) error {
			_, err := work.Receive[int](ctx, "ticket")
			return err
		}},
		{what: "a sleep of 1 ms", many: 1, naps: 1, jobs: 20_000, do: func(ctx context.Context) error {
			return work.Sleep(ctx, "rest", time.Millisecond)
		}},
	}
}

// loads is how busy the machine was in the last minute, as the system says.
func loads() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// travelCost is what was measured in one round.
type travelCost struct {
	rate float64       // jobs a second
	cpu  time.Duration // of Redis, for each job
	sent time.Duration // for each message
}

// measure stores the jobs, and then has a pool do them on a Redis of its own.
func (r travels) measure(t *testing.T) (c travelCost) {
	t.Helper()
	t.Run(r.what, func(t *testing.T) {
		server := redistest.Dedicated(t)
		d := divided{dsn: "redis://" + server.Addr(), nodes: []*redistest.Process{server}}
		ids := r.store(t, d.dsn)
		if r.mail {
			before := d.used(t)
			r.send(t, d.dsn, ids)
			c.sent = d.used(t).since(before).cpu / time.Duration(r.jobs)
		}
		s := &settled{first: make(chan struct{}), all: make(chan struct{}), jobs: int64(r.jobs * (1 + r.naps))}
		pool := work.NewWorkerPool(nil, 200, work.WorkerOptions{Redis: d.dsn, Logger: slog.New(slog.DiscardHandler),
			Observers: []work.Observer{work.ObserverFunc(s.observe)}}).Job("travel", r.do)
		before, began := d.used(t), time.Now()
		require.NoError(t, pool.Start(t.Context()))
		select {
		case <-s.all:
		case <-time.After(10 * patience):
			require.FailNow(t, "the jobs do not end", "%d have", s.count.Load())
		}
		c.rate = float64(r.jobs) / time.Since(began).Seconds()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, pool.Stop(ctx))
		c.cpu = d.used(t).since(before).cpu / time.Duration(r.jobs)
	})
	return c
}

func (r travels) store(t *testing.T, dsn string) (ids []string) {
	t.Helper()
	enq, err := work.NewEnqueuer(dsn, work.EnqueueTimeout(patience))
	require.NoError(t, err)
	defer func() { _ = enq.Close() }()
	entries := make([]work.Entry, 1000)
	for i := range entries {
		entries[i] = work.Entry{Name: "travel"}
	}
	for len(ids) < r.jobs {
		receipts, err := enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		for _, receipt := range receipts {
			ids = append(ids, receipt.ID)
		}
	}
	return ids
}

func (r travels) send(t *testing.T, dsn string, ids []string) {
	t.Helper()
	enq, err := work.NewEnqueuer(dsn, work.EnqueueTimeout(patience))
	require.NoError(t, err)
	defer func() { _ = enq.Close() }()
	for i, id := range ids {
		require.NoError(t, work.Send(t.Context(), enq, id, "ticket", i))
	}
}
