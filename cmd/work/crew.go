package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/265d0351/work"
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

// crewPatience is how long a stop lets running jobs go on.
const crewPatience = 5 * time.Second

// crew is the context of the demo's handlers.
type crew struct {
	note noteFunc
	slow time.Duration // how much longer each run takes than it has to
}

// noteFunc is told when a run begins and ends, by many goroutines at a time. It may hold an end up.
type noteFunc func(mark)

// crewOptions are what a pool of the demo is made of, here or in a child process. They are sent there as JSON.
type crewOptions struct {
	Redis       string
	Namespace   string
	Concurrency int
	Slow        time.Duration
	// which run of a child process does not end, nor those behind it, until it is told to go on; 0 is none
	HoldAt int
}

// newPool makes the pool that runs the demo's jobs. Everything that happens is told to note.
func newPool(opts crewOptions, note noteFunc, logger *slog.Logger) *work.WorkerPool {
	return work.NewWorkerPool(crew{note: note, slow: opts.Slow}, opts.Concurrency, work.WorkerOptions{
		Redis:           opts.Redis,
		Namespace:       opts.Namespace,
		ShutdownTimeout: crewPatience,
		Logger:          logger,
		Observers:       []work.Observer{witness{note: note}},
	}).
		Middleware((*crew).Note).
		JobWithOptions(jobMeasure, work.JobOptions{Priority: 4, Retries: 3, Retention: retention}, (*crew).Measure).
		JobWithOptions(jobFlaky, work.JobOptions{Retention: retention}, (*crew).Flaky).
		JobWithOptions(jobScheduled, work.JobOptions{Priority: 8, Retention: retention}, (*crew).Scheduled)
}

// Note writes into the ledger when each run began and how it ended.
func (c *crew) Note(ctx context.Context, job *work.Job, next work.NextFunc) error {
	c.note(mark{What: begun, ID: job.ID, Name: job.Name, Attempt: job.Attempt, At: time.Now()})
	err := dawdle(ctx, c.slow)
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
func (c *crew) Measure(ctx context.Context, job *work.Job, dir, path []byte) (measurement, error) {
	m, err := measure(ctx, job, filepath.Join(string(dir), string(path)))
	if err == nil || ctx.Err() != nil {
		return m, err
	}
	problem, lasting := problemOf(err)
	if lasting || job.RetriesLeft == 0 {
		return measurement{Problem: problem}, nil
	}
	return measurement{}, work.RetryIn(200*time.Millisecond, err)
}

// measure streams a file through a tally. In a long one it looks up now and then whether the pool is stopping, and
// hands the job back then.
func measure(ctx context.Context, job *work.Job, path string) (measurement, error) {
	f, err := openRegular(path)
	if err != nil {
		return measurement{}, err
	}
	defer f.Close()
	const piece = 4 << 20
	sum := newTally()
	for {
		n, err := io.CopyN(sum, f, piece)
		if err == io.EOF {
			return sum.result(), nil
		}
		if err != nil {
			return measurement{}, err
		}
		if ctx.Err() != nil {
			return measurement{}, context.Cause(ctx)
		}
		if n == piece && job.Checkin(fmt.Sprintf("%d bytes read", sum.size)) {
			return measurement{}, work.Release(nil)
		}
	}
}

// attempts is the result of a flaky job: how many it took.
type attempts struct {
	Taken int `json:"taken"`
}

// Flaky fails as often as it was told to and succeeds then.
func (c *crew) Flaky(job *work.Job, failures int) (attempts, error) {
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
func (c *crew) Scheduled() (punctual, error) { return punctual{Ran: time.Now()}, nil }

// dawdle waits for d, or less if ctx ends.
func dawdle(ctx context.Context, d time.Duration) error {
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

// witness is the observer that notes what no handler sees.
type witness struct{ note noteFunc }

// Observe takes the events of jobs that will give no result, and of dead workers.
func (w witness) Observe(e event.Event) {
	switch e := e.(type) {
	case event.JobBuried:
		w.note(mark{What: lost, ID: e.ID, Name: e.Name, Attempt: e.Attempt, At: time.Now(), Err: e.Reason})
	case event.JobDiscarded:
		w.note(mark{What: lost, ID: e.ID, Name: e.Name, Attempt: e.Attempt, At: time.Now(), Err: "discarded"})
	case event.WorkerReaped:
		w.note(mark{What: reaped, At: time.Now(), Count: e.Jobs})
	}
}
