package joblog

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/workgroup"
)

// Component is what the flusher is called in events.
const Component = "log flusher"

const (
	flushInterval = 200 * time.Millisecond
	flushTimeout  = 10 * time.Second
	maxCalls      = 16
)

// Flusher brings the logs of a worker's jobs to Redis, those of all jobs together, as long as their attempts run.
type Flusher struct {
	Store *rdb.Store
	Clock *redisclock.Clock
	Emit  func(event.Event)
	Start func() // has Run called in a goroutine of its own; called whenever there is something to send

	health  healthreport.Reporter
	called  workgroup.Wakeup // there is something to send
	hurried workgroup.Wakeup // and it should not wait

	mu      sync.Mutex
	waiting map[*Log]bool // those with lines
}

// NewFlusher returns a flusher that has nothing to do. Start is to be set before somebody logs.
func NewFlusher(store *rdb.Store, clock *redisclock.Clock, emit func(event.Event)) *Flusher {
	return &Flusher{
		Store: store, Clock: clock, Emit: emit, health: healthreport.Reporter{Component: Component, Emit: emit},
		called: workgroup.NewWakeup(), hurried: workgroup.NewWakeup(), waiting: map[*Log]bool{},
	}
}

// expect notes that a log has lines.
func (f *Flusher) expect(l *Log, hurry bool) {
	f.wait(l)
	f.Start()
	f.called.Wake()
	if hurry {
		f.hurried.Wake()
	}
}

func (f *Flusher) wait(l *Log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[l] = true
}

// Run brings lines to Redis until ctx ends.
func (f *Flusher) Run(ctx context.Context) {
	f.called.Wake() // what a panic has left
	var failures backoff.Failures
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.called:
		}
		f.gather(ctx)
		err := f.flush(ctx)
		if ctx.Err() != nil {
			return
		}
		f.health.Report(err)
		if err == nil {
			failures = 0
			continue
		}
		f.called.Wake()
		failures.Pause(ctx)
	}
}

// gather lets a few lines come together.
func (f *Flusher) gather(ctx context.Context) {
	timer := time.NewTimer(flushInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-f.hurried:
	case <-timer.C:
	}
}

// flush sends all that there is. An error means that something is left, which is to be tried again later.
func (f *Flusher) flush(ctx context.Context) error {
	for {
		batches := f.batches()
		if len(batches) == 0 {
			return nil
		}
		if err := f.send(ctx, batches); err != nil {
			return err
		}
	}
}

// batches makes the calls of a pipeline. Logs that have nothing left, or are over, are forgotten.
func (f *Flusher) batches() []Batch {
	f.mu.Lock()
	logs := slices.Collect(maps.Keys(f.waiting))
	f.mu.Unlock()
	var batches []Batch
	for _, l := range logs {
		if len(batches) == maxCalls {
			break
		}
		f.forget(l) // first: a line that comes from now on makes it wait anew
		if b, some := l.next(f.Clock.Now()); some {
			batches = append(batches, b)
			f.wait(l)
		}
	}
	return batches
}

func (f *Flusher) forget(l *Log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, l)
}

func (f *Flusher) send(ctx context.Context, batches []Batch) error {
	calls := make([]redisconn.Call, len(batches))
	for i, b := range batches {
		calls[i] = b.Call
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	answers, err := f.Store.SendLogs(ctx, calls)
	if err != nil {
		return err
	}
	var left error
	for i, answer := range answers {
		b := batches[i]
		if b.taken(answer) {
			continue
		}
		lost, again := b.refused(answer.Err)
		if lost {
			defer f.Emit(b.log.Lost(answer.Err)) // last: an observer may end this goroutine
		}
		if again {
			left = excerpt.Join(left, answer.Err)
		}
	}
	return left
}

// Lost is the event that tells that lines of a log are lost.
func (l *Log) Lost(err error) event.Event {
	return event.Trouble{Component: Component + ", log of " + l.attempt.Named, Err: err}
}
