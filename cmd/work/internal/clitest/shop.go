package clitest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
)

// Shop is a namespace in which something has happened, on a Redis whose clock is held.
type Shop struct {
	T      *testing.T
	Server *embedded.Server
	Enq    *work.Enqueuer
	Looked *inspect.Inspector
}

// The clock of the shop: jobs ran when it opened, and it is looked at 1 h 30 min 30 s later. The half minute is for
// what tests take: times that their programs estimate are that much late.
var (
	shopOpened = time.Date(2030, 1, 31, 9, 0, 0, 0, time.UTC)
	ShopNow    = shopOpened.Add(90*time.Minute + 30*time.Second)
)

// OpenShop has run one job of each kind of end. What waits now is greet-1 to greet-3, what is due later mail-9; nobody
// serves any of it.
func OpenShop(t *testing.T) *Shop {
	t.Helper()
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	server.SetTime(shopOpened)
	s := &Shop{T: t, Server: server}
	s.Enq, err = work.NewEnqueuer(server.DSN(), work.EnqueueTimeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Enq.Close()) })
	s.Looked, err = inspect.New(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Looked.Close()) })
	require.NoError(t, s.Enq.SyncClock(t.Context()))
	s.run()
	server.SetTime(ShopNow)
	require.NoError(t, s.Enq.SyncClock(t.Context()))
	for n := range 3 {
		s.Enqueue("greet", fmt.Sprint("greet-", n+1), 0, "Ann", n)
	}
	s.Enqueue("mail", "mail-9", 14*time.Hour, "bob@example.org")
	require.NoError(t, s.Looked.AddSchedule(t.Context(), "0 3 * * *", "report",
		work.PeriodicOptions{ID: "nightly", TZ: "Europe/Berlin"}, "all"))
	require.NoError(t, s.Looked.AddSchedule(t.Context(), "@every 10m", "poll",
		work.PeriodicOptions{Overlap: work.OverlapSkip, Jitter: time.Second}))
	require.NoError(t, s.Looked.SetLimit(t.Context(), "export", work.Limit{Concurrent: 2, Rate: 100, Per: time.Minute}))
	require.NoError(t, s.Looked.PauseQueue(t.Context(), "mail"))
	return s
}

// run runs a pool for as long as there is something to do, and lets it bring what it has counted.
func (s *Shop) run() {
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: s.Server.DSN(), Logger: slog.New(slog.DiscardHandler)}).
		Job("mail", func(to string) error { return work.Bury(errors.New("there is no mailbox \x1b[31m" + to)) }).
		JobWithOptions("export", work.JobOptions{}, func(job *work.Job, _ int) error {
			job.Logger().Info("3 rows", "table", "orders")
			return work.RetryIn(24*time.Hour, errors.New("the disk is full"))
		}).
		JobWithOptions("report", work.JobOptions{Retention: 24 * time.Hour},
			func(kind string) (string, error) { return kind + " is done", nil })
	s.Enqueue("mail", "mail-1", 0, "ann@example.org")
	s.Enqueue("export", "export-1", 0, 42)
	s.Enqueue("report", "report-1", 0, "all")
	require.NoError(s.T, pool.Start(s.T.Context()))
	require.NoError(s.T, pool.Drain(s.T.Context()))
	require.NoError(s.T, pool.Stop(context.Background()))
}

// Enqueue stores a job with a tag, a note and a source.
func (s *Shop) Enqueue(name, id string, in time.Duration, args ...any) {
	s.T.Helper()
	enq := s.Enq.With(work.ID(id), work.Tags("eu"), work.Meta("user", "7"))
	receipts, err := enq.EnqueueMany(s.T.Context(), []work.Entry{{Name: name, Args: args, In: in, Source: 77}})
	require.NoError(s.T, err)
	require.Equal(s.T, id, receipts[0].ID)
}

// Importing starts a pool that runs import-1, which says that it has begun and waits until its ctx ends.
func (s *Shop) Importing() *work.WorkerPool {
	s.T.Helper()
	begun := make(chan struct{})
	pool := work.NewWorkerPool(nil, 3, work.WorkerOptions{Redis: s.Server.DSN(), Logger: slog.New(slog.DiscardHandler),
		ShutdownTimeout: time.Millisecond}).
		Job("import", func(ctx context.Context, job *work.Job) error {
			job.Checkin("row 5 of 10")
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		})
	s.Enqueue("import", "import-1", 0)
	require.NoError(s.T, pool.Start(context.Background()))
	s.T.Cleanup(func() { _ = pool.Stop(context.Background()) }) // some tests have it stopped
	select {
	case <-begun:
	case <-time.After(time.Minute):
		require.Fail(s.T, "the import did not begin")
	}
	require.Eventually(s.T, func() bool {
		job, err := s.Looked.Job(s.T.Context(), "import-1")
		return err == nil && job.Checkin != nil
	}, time.Minute, 10*time.Millisecond, "what it said came with a heartbeat")
	return pool
}

// State is where a job is, "" where there is none.
func (s *Shop) State(id string) work.State {
	s.T.Helper()
	jobs, err := s.Looked.Jobs(s.T.Context(), id)
	require.NoError(s.T, err)
	if jobs[0] == nil {
		return ""
	}
	return jobs[0].State
}

// Worker is the id of the only worker.
func (s *Shop) Worker() string {
	s.T.Helper()
	workers, err := s.Looked.Workers(s.T.Context())
	require.NoError(s.T, err)
	require.Len(s.T, workers, 1)
	return workers[0].ID
}

// Group is the digest of the only group of errors of a name.
func (s *Shop) Group(name string) string {
	s.T.Helper()
	groups, err := s.Looked.Errors(s.T.Context(), name)
	require.NoError(s.T, err)
	require.Len(s.T, groups, 1)
	return groups[0].Digest
}
