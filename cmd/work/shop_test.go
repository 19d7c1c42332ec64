package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
)

// shop is a namespace in which something has happened, on a Redis whose clock is held.
type shop struct {
	t      *testing.T
	server *embedded.Server
	enq    *work.Enqueuer
	looked *work.Inspector
}

// The clock of the shop: jobs ran when it opened, and it is looked at 1 h 30 min 30 s later. The half minute is for
// what tests take: times that their programs estimate are that much late.
var (
	shopOpened = time.Date(2030, 1, 31, 9, 0, 0, 0, time.UTC)
	shopNow    = shopOpened.Add(90*time.Minute + 30*time.Second)
)

// openShop has run one job of each fate. What waits now is greet-1 to greet-3, what is due later mail-9; nobody serves
// any of it.
func openShop(t *testing.T) *shop {
	t.Helper()
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	server.SetTime(shopOpened)
	s := &shop{t: t, server: server}
	s.enq, err = work.NewEnqueuer(server.DSN(), work.EnqueueTimeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.enq.Close()) })
	s.looked, err = work.NewInspector(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.looked.Close()) })
	require.NoError(t, s.enq.SyncClock(t.Context()))
	s.work()
	server.SetTime(shopNow)
	require.NoError(t, s.enq.SyncClock(t.Context()))
	for n := range 3 {
		s.enqueue("greet", fmt.Sprint("greet-", n+1), 0, "Ann", n)
	}
	s.enqueue("mail", "mail-9", 14*time.Hour, "bob@example.org")
	require.NoError(t, s.looked.AddSchedule(t.Context(), "0 3 * * *", "report",
		work.PeriodicOptions{ID: "nightly", TZ: "Europe/Berlin"}, "all"))
	require.NoError(t, s.looked.AddSchedule(t.Context(), "@every 10m", "poll",
		work.PeriodicOptions{Overlap: work.OverlapSkip, Jitter: time.Second}))
	require.NoError(t, s.looked.SetLimit(t.Context(), "export", work.Limit{Concurrent: 2, Rate: 100, Per: time.Minute}))
	require.NoError(t, s.looked.PauseQueue(t.Context(), "mail"))
	return s
}

// work runs a pool for as long as there is something to do, and lets it bring what it has counted.
func (s *shop) work() {
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: s.server.DSN(), Logger: slog.New(slog.DiscardHandler)}).
		Job("mail", func(to string) error { return work.Bury(errors.New("there is no mailbox \x1b[31m" + to)) }).
		JobWithOptions("export", work.JobOptions{}, func(job *work.Job, _ int) error {
			job.Logger().Info("3 rows", "table", "orders")
			return work.RetryIn(24*time.Hour, errors.New("the disk is full"))
		}).
		JobWithOptions("report", work.JobOptions{Retention: 24 * time.Hour},
			func(kind string) (string, error) { return kind + " is done", nil })
	s.enqueue("mail", "mail-1", 0, "ann@example.org")
	s.enqueue("export", "export-1", 0, 42)
	s.enqueue("report", "report-1", 0, "all")
	require.NoError(s.t, pool.Start(s.t.Context()))
	require.NoError(s.t, pool.Drain(s.t.Context()))
	require.NoError(s.t, pool.Stop(context.Background()))
}

func (s *shop) enqueue(name, id string, in time.Duration, args ...any) {
	s.t.Helper()
	enq := s.enq.With(work.ID(id), work.Tags("eu"), work.Meta("user", "7"))
	receipts, err := enq.EnqueueMany(s.t.Context(), []work.Entry{{Name: name, Args: args, In: in, Source: 77}})
	require.NoError(s.t, err)
	require.Equal(s.t, id, receipts[0].ID)
}

// import starts a pool that runs import-1, which says that it has begun and waits until its ctx ends.
func (s *shop) importing() *work.WorkerPool {
	s.t.Helper()
	begun := make(chan struct{})
	pool := work.NewWorkerPool(nil, 3, work.WorkerOptions{Redis: s.server.DSN(), Logger: slog.New(slog.DiscardHandler),
		ShutdownTimeout: time.Millisecond}).
		Job("import", func(ctx context.Context, job *work.Job) error {
			job.Checkin("row 5 of 10")
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		})
	s.enqueue("import", "import-1", 0)
	require.NoError(s.t, pool.Start(context.Background()))
	s.t.Cleanup(func() { _ = pool.Stop(context.Background()) }) // some tests have it stopped
	select {
	case <-begun:
	case <-time.After(time.Minute):
		require.Fail(s.t, "the import did not begin")
	}
	require.Eventually(s.t, func() bool {
		job, err := s.looked.Job(s.t.Context(), "import-1")
		return err == nil && job.Checkin != nil
	}, time.Minute, 10*time.Millisecond, "what it said came with a heartbeat")
	return pool
}

// call runs the program on this Redis.
func (s *shop) call(args ...string) said { return s.callWith("", args...) }

// callWith does so with somebody at the keyboard.
func (s *shop) callWith(in string, args ...string) said {
	var out, errOut bytes.Buffer
	status := execute(append(args, "--redis", s.server.DSN()), strings.NewReader(in), &out, &errOut)
	return said{status: status, out: out.String(), err: errOut.String()}
}

// state is where a job is, "" where there is none.
func (s *shop) state(id string) work.State {
	s.t.Helper()
	jobs, err := s.looked.Jobs(s.t.Context(), id)
	require.NoError(s.t, err)
	if jobs[0] == nil {
		return ""
	}
	return jobs[0].State
}

// settled is what a call printed, without what differs from run to run: ids, the machine, and the fractions of seconds
// that a test took.
func (s *shop) settled(got said) string {
	s.t.Helper()
	text := fmt.Sprintf("%s--- stderr\n%s--- status %d\n", got.out, got.err, got.status)
	workers, err := s.looked.Workers(s.t.Context())
	require.NoError(s.t, err)
	for _, w := range workers {
		text = strings.ReplaceAll(text, w.ID, "WORKER")
		text = strings.ReplaceAll(text, shortWorker(w.ID), "WORKER")
	}
	for _, change := range shopChanges {
		text = change.pattern.ReplaceAllString(text, change.with)
	}
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		if strings.Contains(line, "WORKER") || strings.Contains(line, "HOST") || strings.Contains(line, "TOOK") {
			lines[n] = regexp.MustCompile(` +`).ReplaceAllString(line, " ") // what it was as wide as differs
		}
	}
	return strings.Join(lines, "\n")
}

// shopChanges make moments of the shop what they would be if a test took no time.
var shopChanges = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`2030-01-31(.)09:00:[0-9]{2}(\.[0-9]+)?`), "2030-01-31${1}09:00:00"},
	{regexp.MustCompile(`2030-01-31(.)10:(30:[3-5][0-9]|31:[0-9]{2})(\.[0-9]+)?`), "2030-01-31${1}10:30:30"},
	{regexp.MustCompile(`2030-02-01(.)00:3[01]:[0-9]{2}(\.[0-9]+)?`), "2030-02-01${1}00:30:30"},
	{regexp.MustCompile(`2030-02-01(.)09:0[01]:[0-9]{2}(\.[0-9]+)?`), "2030-02-01${1}09:00:00"},
	{regexp.MustCompile(`"(mean|p50|p99|took)":[0-9.e-]+`), `"$1":TOOK`},
	{regexp.MustCompile(` [0-9.]+(ms|µs)\b`), " TOOK"},
	{regexp.MustCompile(`, (now|in [0-9]+s|[0-9]+s ago)\b`), ", now"},
	{regexp.MustCompile(`\b[0-9a-f]{48}\b`), "WORKER"},
	{regexp.MustCompile(`"(started|host|service|version|go)":"[^"]*"`), `"$1":"OF THE MACHINE"`},
	{regexp.MustCompile(`"pid":[0-9]+`), `"pid":0`},
	{regexp.MustCompile(`(?m)^(started|host|service|version|go|pid)  .*`), "$1  OF THE MACHINE"},
	{regexp.MustCompile(`(?m)^WORKER .*( [01]/3  [a-z]+( [a-z]+)?) .*  (import)$`),
		"WORKER  HOST  PID  UP $1  VERSION  $3"},
}

// fileName is that of the golden file of a command line.
func fileName(line string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(line, "-")
	return strings.Trim(name, "-")
}

// worker is the id of the only worker.
func (s *shop) worker() string {
	s.t.Helper()
	workers, err := s.looked.Workers(s.t.Context())
	require.NoError(s.t, err)
	require.Len(s.t, workers, 1)
	return workers[0].ID
}

// group is the digest of the only group of errors of a name.
func (s *shop) group(name string) string {
	s.t.Helper()
	groups, err := s.looked.Errors(s.t.Context(), name)
	require.NoError(s.t, err)
	require.Len(s.t, groups, 1)
	return groups[0].Digest
}
