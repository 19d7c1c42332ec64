package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/lifecycle"
)

// How long a stop that has to hurry may take: outcomes still travel to Redis then, and jobs go back.
const (
	stopTimeAfterSignal = time.Second
	stopTimeAfterCtx    = 5 * time.Second // at most, and no more than a quarter of the time that there is

	// hurriedTurns is the share of it after which no worker waits for its turn to requeue: each turn is a round trip
	hurriedTurns = 0.1
)

// Stop ends the pool: no more jobs are fetched, Checkin answers true, running jobs may go on for ShutdownTimeout, then
// their ctx ends with ErrShutdown, and what has not returned a second later is given back. It returns nil when all
// ended in good order, else a *StopError. It returns within ctx whatever Redis or a handler does, then with everything
// cut short. Further calls wait for the same stop; a pool that was never started is stopped at once.
func (p *WorkerPool) Stop(ctx context.Context) error {
	room, patience, cancel := lifecycle.Reserve(ctx, stopTimeAfterCtx)
	defer cancel()
	p.beginStop(patience, room)
	select {
	case <-p.stopped:
	case <-patience.Done():
		p.deadline.Hurry(room)
		select {
		case <-p.stopped:
		case <-ctx.Done():
		}
	}
	return p.stopResult(ctx)
}

// StopNow ends the pool at once: no more jobs are fetched, the ctx of all that run ends with ErrShutdown, and their
// jobs go back to the front of their queues without using an attempt. A handler has a second, less where ctx leaves
// less than four, to return the error of its ctx. The job of one that has not returned by then is given back too: it
// is begun elsewhere while that handler runs on, so it runs twice, and what the first one returns counts for nothing.
// [event.JobStuck] and StopError.Stuck name these; the program should exit.
//
// It makes a Stop under way hurry, returns what Stop returns, an error wherever a job was cut short, and returns within
// ctx. What has ended by itself counts as in a Stop. A pool that was never started is stopped at once.
func (p *WorkerPool) StopNow(ctx context.Context) error {
	room := stopTimeAfterCtx
	if deadline, ok := ctx.Deadline(); ok {
		room = min(room, time.Until(deadline))
	}
	p.beginStop(ctx, room)
	p.deadline.Hurry(room)
	select {
	case <-p.stopped:
	case <-ctx.Done():
	}
	return p.stopResult(ctx)
}

// stopResult is what came of the stop, or that nobody waits for it any longer, since ctx has ended.
func (p *WorkerPool) stopResult(ctx context.Context) error {
	select {
	case <-p.stopped:
		return p.stopErr
	default:
		return &StopError{Err: fmt.Errorf("the stop goes on, but nobody waits for it: %w",
			excerpt.Error(context.Cause(ctx)))}
	}
}

// Done is closed once the pool has stopped: since somebody has called Stop, the ctx of Start ended, an operator wanted
// it, or nothing was there to do for IdleTimeout. Stop then returns at once how the stop went. Before Start it is open.
func (p *WorkerPool) Done() <-chan struct{} { return p.stopped }

// beginStop makes sure that the pool is stopped, or is being stopped.
func (p *WorkerPool) beginStop(patience context.Context, room time.Duration) {
	p.mu.Lock()
	before := p.state
	if before != poolStopping {
		p.state, p.stopsSince = poolStopping, time.Now()
	}
	p.mu.Unlock()
	switch before {
	case poolNew:
		defer context.AfterFunc(patience, func() { p.deadline.Hurry(room) })()
		p.shutDown()
	case poolStarting:
		p.abort() // the start does the rest
	case poolStarted:
		p.detach()
		go p.shutDown()
	}
}

// shutDown stops all workers side by side. The pool knows that it stops, so none joins or leaves any more; one that the
// scaler is adding or removing just now is waited for. The connection is closed last: until then outcomes go through
// it. p.stopErr may be read once p.stopped is closed.
func (p *WorkerPool) shutDown() {
	defer close(p.stopped)
	workers, groups := p.workers, p.groups // nobody changes them any more
	for _, w := range workers {            // all of them first: what one gives back none of the others takes
		w.requestStop()
	}
	loops := slices.DeleteFunc([]*lifecycle.Loop{p.scaling, p.joining, p.idling},
		func(loop *lifecycle.Loop) bool { return loop == nil })
	for _, loop := range loops {
		loop.Stop()
	}
	hurry, cancel := p.deadline.After(hurriedTurns)
	defer cancel()
	for _, s := range p.allSites() {
		defer context.AfterFunc(hurry, s.requeued.Hurry)()
	}
	all := p.stopWorkers(workers)
	for _, loop := range loops {
		<-loop.Done()
	}
	for _, g := range groups {
		g.close()
	}
	if p.members != nil {
		for _, one := range p.members.results() {
			all.add(one)
		}
	}
	p.stopErr = all.orNil()
	p.closeConnection()
}

// stopWorkers stops workers side by side. They have heard of it before.
func (p *WorkerPool) stopWorkers(workers []*worker) *StopError {
	results := make([]*StopError, len(workers))
	var stops sync.WaitGroup
	for i, w := range workers {
		// unless it returns
		results[i] = &StopError{Err: errors.New("code of the program ended the goroutine of the stop (runtime.Goexit)")}
		stops.Go(func() { results[i] = w.stop(p.deadline, p.options.ShutdownTimeout) })
	}
	stops.Wait()
	all := &StopError{}
	for _, one := range results {
		all.add(one)
	}
	return all
}

func (e *StopError) add(one *StopError) {
	e.Stuck = append(e.Stuck, one.Stuck...)
	e.Released = append(e.Released, one.Released...)
	e.Err = excerpt.Join(e.Err, one.Err)
}

// closeConnection closes what the pool opened itself. The enqueuer comes first: calls under way may end until the
// deadline of the stop, and are cut off then. A connection that the program gave stays open.
func (p *WorkerPool) closeConnection() {
	p.mu.Lock()
	p.closed = true
	enqueuer, driver, owned := p.enqueuer, p.driver, p.owned
	p.mu.Unlock()
	sites := p.allSites()
	if enqueuer != nil {
		defer context.AfterFunc(p.deadline, enqueuer.core.intake.CutOff)()
		_ = enqueuer.Close() // it is told by whoever still calls it
	}
	if owned {
		_ = driver.Close() // nothing uses it any more
	}
	for _, s := range sites {
		if s.objects != nil {
			s.objects.cache.Close()
		}
	}
}

// Run starts the pool, waits for ctx to end or for SIGINT or SIGTERM, and stops it. A second signal makes the stop
// hurry: handlers are not waited for any longer. It returns the error of Start or of Stop.
func (p *WorkerPool) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer onSignal(cancel, func() { p.deadline.Hurry(stopTimeAfterSignal) })()
	defer cancel()
	if err := p.Start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-p.stopped:
	}
	return p.Stop(context.Background())
}

// onSignal calls the first function at the first signal and the second one at the next, until the function that it
// returns is called.
func onSignal(first, next func()) (end func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for react := first; ; react = next {
			select {
			case <-signals:
				react()
			case <-ended:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(ended)
		listening.Wait()
	}
}
