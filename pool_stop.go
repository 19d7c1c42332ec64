package work

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// hurryBefore is how long before the deadline of its ctx a stop stops waiting, so that it returns in time.
const hurryBefore = 250 * time.Millisecond

// Stop ends the pool: no more jobs are fetched, Checkin answers true, running jobs may go on for ShutdownTimeout, then
// their ctx ends with ErrShutdown, and what has not returned a second later is given back. It returns nil when all ended
// in good order, else a *StopError. It returns within ctx whatever Redis or a handler does, then with everything cut
// short. Further calls wait for the same stop; a pool that was never started is stopped at once.
func (p *WorkerPool) Stop(ctx context.Context) error {
	p.mu.Lock()
	switch p.state {
	case poolNew:
		p.state = poolStopping
		p.closeConnection()
		close(p.stopped)
	case poolStarted:
		p.state = poolStopping
		p.detach()
		go p.shutDown()
	}
	p.mu.Unlock()

	patience, cancel := withEarlierDeadline(ctx, hurryBefore)
	defer cancel()
	select {
	case <-p.stopped:
		return p.stopErr
	case <-patience.Done():
		p.hurry()
	}
	select {
	case <-p.stopped:
		return p.stopErr
	case <-ctx.Done():
		return &StopError{Err: context.Cause(ctx)}
	}
}

// withEarlierDeadline ends some time before ctx does, where that is known; at least half of the time is left.
func withEarlierDeadline(ctx context.Context, earlier time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(earlier, time.Until(deadline)/2)))
}

func (p *WorkerPool) shutDown() {
	defer close(p.stopped)
	results := make([]*StopError, len(p.workers))
	var stops sync.WaitGroup
	for i, w := range p.workers {
		stops.Go(func() { results[i] = w.stop(p.hurried, p.options.ShutdownTimeout) })
	}
	stops.Wait()
	all := &StopError{}
	for _, one := range results {
		all.Stuck = append(all.Stuck, one.Stuck...)
		all.Released = append(all.Released, one.Released...)
		all.Err = errors.Join(all.Err, one.Err)
	}
	p.stopErr = all.orNil()
	p.closeConnection()
}

func (p *WorkerPool) closeConnection() {
	if p.enqueuer != nil {
		_ = p.enqueuer.Close() // it is told by whoever still calls it
	}
	if p.owned && p.driver != nil {
		_ = p.driver.Close() // nothing uses it any more
	}
}

// Run starts the pool, waits for ctx to end or for SIGINT or SIGTERM, and stops it. A second signal makes the stop
// hurry. It returns the error of Start or of Stop.
func (p *WorkerPool) Run(ctx context.Context) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := p.Start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-signals:
	case <-p.stopped:
		return p.stopErr
	}
	hurried := make(chan struct{})
	defer close(hurried)
	go func() {
		select {
		case <-signals:
			p.hurry()
		case <-hurried:
		}
	}()
	return p.Stop(context.Background())
}
