package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/filetree"
	"github.com/265d0351/work/event"
)

// The job types of the demo.
const (
	jobMeasure   = "measure"
	jobFlaky     = "flaky"
	jobScheduled = "scheduled"
)

// retention is how long the demo's results stay in Redis: it reads them within seconds.
const retention = time.Hour

// ShutdownTimeout is how long a stop lets running jobs go on.
const ShutdownTimeout = 5 * time.Second

// handlers is the context of the demo's handlers.
type handlers struct {
	note noteFunc
	slow time.Duration // how much longer each run takes than it has to
}

// noteFunc is told when a run begins and ends, by many goroutines at a time. It may hold an end up.
type noteFunc func(mark)

// poolOptions are what a pool of the demo is made of, here or in a child process. They are sent there as JSON.
type poolOptions struct {
	Redis       string
	Namespace   string
	Concurrency int
	Slow        time.Duration
	// which run of a child process does not end, nor those behind it, until it is told to go on; 0 is none
	HoldAt int
}

// newPool makes the pool that runs the demo's jobs. Everything that happens is told to note.
func newPool(opts poolOptions, note noteFunc, logger *slog.Logger) *work.WorkerPool {
	return work.NewWorkerPool(handlers{note: note, slow: opts.Slow}, opts.Concurrency, work.WorkerOptions{
		Redis:           opts.Redis,
		Namespace:       opts.Namespace,
		ShutdownTimeout: ShutdownTimeout,
		Logger:          logger,
		Observers:       []work.Observer{lossObserver{note: note}},
	}).
		Middleware((*handlers).Note).
		JobWithOptions(jobMeasure, work.JobOptions{Priority: 4, Retries: 3, Retention: retention}, (*handlers).Measure).
		JobWithOptions(jobFlaky, work.JobOptions{Retention: retention}, (*handlers).Flaky).
		JobWithOptions(jobScheduled, work.JobOptions{Priority: 8, Retention: retention}, (*handlers).Scheduled)
}

// Note writes into the log of runs when each run began and how it ended.
func (c *handlers) Note(ctx context.Context, job *work.Job, next work.NextFunc) error {
	c.note(mark{What: begun, ID: job.ID, Name: job.Name, Attempt: job.Attempt, At: time.Now()})
	err := wait(ctx, c.slow)
	if err == nil {
		err = next(ctx)
	}
	end := mark{What: ended, ID: job.ID, Name: job.Name, Attempt: job.Attempt, At: time.Now()}
	if err != nil {
		end.Err = err.Error()
	}
	c.note(end)
	return err
}

// Measure reads one file. The parts of its path are bytes, which JSON carries as base64, since a JSON string could not
// hold a name that is not UTF-8.
func (c *handlers) Measure(ctx context.Context, job *work.Job, dir, path []byte) (filetree.Measurement, error) {
	m, err := measure(ctx, job, filepath.Join(string(dir), string(path)))
	if err == nil || ctx.Err() != nil {
		return m, err
	}
	problem, lasting := filetree.ProblemOf(err)
	if lasting || job.RetriesLeft == 0 {
		return filetree.Measurement{Problem: problem}, nil
	}
	return filetree.Measurement{}, work.RetryIn(200*time.Millisecond, err)
}

// measure streams a file through a counter. In a long one it looks up now and then whether the pool is stopping, and
// hands the job back then.
func measure(ctx context.Context, job *work.Job, path string) (filetree.Measurement, error) {
	f, err := filetree.OpenRegular(path)
	if err != nil {
		return filetree.Measurement{}, err
	}
	defer f.Close()
	const piece = 4 << 20
	sum := filetree.NewCounter()
	for {
		n, err := io.CopyN(sum, f, piece)
		if err == io.EOF {
			return sum.Result(), nil
		}
		if err != nil {
			return filetree.Measurement{}, err
		}
		if ctx.Err() != nil {
			return filetree.Measurement{}, context.Cause(ctx)
		}
		if n == piece && job.Checkin(fmt.Sprintf("%d bytes read", sum.Size)) {
			return filetree.Measurement{}, work.Release(nil)
		}
	}
}

// attempts is the result of a flaky job: how many it took.
type attempts struct {
	Taken int `json:"taken"`
}

// Flaky fails as often as it was told to and succeeds then.
func (c *handlers) Flaky(job *work.Job, failures int) (attempts, error) {
	if job.Attempt <= failures {
		return attempts{}, work.RetryIn(150*time.Millisecond, fmt.Errorf("attempt %d fails on purpose", job.Attempt))
	}
	return attempts{Taken: job.Attempt}, nil
}

// punctual is the result of a scheduled job: when it ran.
type punctual struct {
	Ran time.Time `json:"ran"`
}

// Scheduled tells the time.
func (c *handlers) Scheduled() (punctual, error) { return punctual{Ran: time.Now()}, nil }

// wait waits for d, or less if ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lossObserver is the observer that notes what no handler sees.
type lossObserver struct{ note noteFunc }

// Observe takes the events of jobs that will give no result, and of dead workers.
func (w lossObserver) Observe(e event.Event) {
	switch e := e.(type) {
	case event.JobBuried:
		w.note(mark{What: lost, ID: e.ID, Name: e.Name, Attempt: e.Attempt, At: time.Now(), Err: e.Reason})
	case event.JobDiscarded:
		w.note(mark{What: lost, ID: e.ID, Name: e.Name, Attempt: e.Attempt, At: time.Now(), Err: "discarded"})
	case event.WorkerReaped:
		w.note(mark{What: reaped, At: time.Now(), Count: e.Jobs})
	}
}
