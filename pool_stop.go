package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// Stop ends the pool: no more jobs are fetched, Checkin answers true, running jobs may go on for ShutdownTimeout, then
// their ctx ends with ErrShutdown, and what has not returned a second later is given back. It returns nil when all
// ended in good order, else a *StopError. It returns within ctx whatever Redis or a handler does, then with everything
// cut short. Further calls wait for the same stop; a pool that was never started is stopped at once.
func (p *WorkerPool) Stop(ctx context.Context) error {
	room, patience, cancel := roomBefore(ctx)
	defer cancel()
	p.beginStop(patience, room)
	select {
	case <-p.stopped:
	case <-patience.Done():
		p.hurried.hurry(room)
		select {
		case <-p.stopped:
		case <-ctx.Done():
		}
	}
	select {
	case <-p.stopped:
		return p.stopErr
	default:
		return &StopError{Err: fmt.Errorf("the stop goes on, but nobody waits for it: %w",
			excerpt.Error(context.Cause(ctx)))}
	}
}

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
		defer context.AfterFunc(patience, func() { p.hurried.hurry(room) })()
		p.shutDown()
	case poolStarting:
		p.abort() // the start does the rest
	case poolStarted:
		p.detach()
		go p.shutDown()
	}
}

func (p *WorkerPool) shutDown() {
	defer close(p.stopped)
	if p.recruiting != nil {
		p.recruiting.Stop()
		<-p.recruiting.Done()
	}
	results := make([]*StopError, len(p.workers))
	var stops sync.WaitGroup
	for i, w := range p.workers {
		// unless it returns
		results[i] = &StopError{Err: errors.New("an observer ended the goroutine of the stop (runtime.Goexit)")}
		stops.Go(func() { results[i] = w.stop(p.hurried, p.options.ShutdownTimeout) })
	}
	stops.Wait()
	all := &StopError{}
	for _, one := range results {
		all.Stuck = append(all.Stuck, one.Stuck...)
		all.Released = append(all.Released, one.Released...)
		all.Err = excerpt.Join(all.Err, one.Err)
	}
	p.stopErr = all.orNil()
	p.closeConnection()
}

func (p *WorkerPool) closeConnection() {
	p.mu.Lock()
	p.closed = true
	enqueuer, driver, owned, objects := p.enqueuer, p.driver, p.owned, p.objects
	p.mu.Unlock()
	if enqueuer != nil {
		defer context.AfterFunc(p.hurried, enqueuer.core.lanes.cutOff)()
		_ = enqueuer.Close() // it is told by whoever still calls it
	}
	if owned {
		_ = driver.Close() // nothing uses it any more
	}
	if objects != nil {
		objects.cache.Close()
	}
}

// Run starts the pool, waits for ctx to end or for SIGINT or SIGTERM, and stops it. A second signal makes the stop
// hurry: handlers are not waited for any longer. It returns the error of Start or of Stop.
func (p *WorkerPool) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer onSignal(cancel, func() { p.hurried.hurry(hurriedBySignal) })()
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
