package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
)

// Serve has the pool serve registered names again that were withdrawn, or names that WorkerOptions.Only leaves out. It
// returns nil once every worker of the pool is known to Redis with them and asks for their jobs; what waits begins at
// once. Their limits are declared before. When ctx ends first the pool goes on with it.
//
// Names that are served already are fine. One that is not registered is an *[InvalidError], and nothing is changed:
// handlers are registered with Job, before Start. Before Start it says what Start is to serve; once the pool stops the
// error is [ErrStopping], then [ErrStopped]. The service that the pool belongs to, and its schedules, stay as they are.
// It may be called concurrently; where another call has undone it before it was done, the error is [ErrOverruled].
func (p *WorkerPool) Serve(ctx context.Context, names ...string) error {
	return p.setServed(ctx, names, true)
}

// Withdraw has the pool serve these names no longer: from now on no job of them begins here. What was fetched and has
// not begun goes back to the front of its queue, in its old order, for other workers; handlers that run go on to their
// end, and count. It returns nil once the last of them has ended and Redis lists the names with no worker of the pool.
// When ctx ends first it returns an error that wraps its cause; the withdrawal stands, and is completed when the last
// job ends.
//
// Names that are not served are fine, and so are all of them: the pool then runs nothing, and is alive. Jobs of theirs
// wait until some worker serves them, their schedules go on, and their limits hold. Names that are not registered,
// calls before Start and concurrent calls are as for [WorkerPool.Serve]; a pool that stops withdraws everything, so it
// is waited for and there is no error.
func (p *WorkerPool) Withdraw(ctx context.Context, names ...string) error {
	return p.setServed(ctx, names, false)
}

// ErrOverruled is returned by Serve and Withdraw when another call meanwhile wanted the opposite for one of the names.
var ErrOverruled = errors.New("another call of Serve or Withdraw came in between, and its wish holds")

// setServed has the pool serve these names, or not, and waits until that is so.
func (p *WorkerPool) setServed(ctx context.Context, names []string, serve bool) error {
	if err := p.checkRegistered(names, serve); err != nil {
		return err
	}
	for {
		moved, state := p.serving.Moved(), p.stateNow()
		switch state {
		case poolStarting:
			if err := p.awaitMove(ctx, moved); err != nil {
				return fmt.Errorf("the worker pool has not started yet: %w", err)
			}
			continue
		case poolStopping:
			return p.tooLateTo(ctx, serve)
		case poolStarted:
			if err := p.declareFor(ctx, names, serve); err != nil {
				return err
			}
		}
		version, ok := p.changeServed(state, names, serve)
		if !ok { // it was started or stopped meanwhile
			continue
		}
		if state == poolNew {
			return nil
		}
		return p.awaitServed(ctx, version, names, serve)
	}
}

// checkRegistered refuses names for which no handler is registered.
func (p *WorkerPool) checkRegistered(names []string, serve bool) error {
	known := sync.OnceValue(p.registeredNames)
	var unknown []error
	for _, name := range names {
		if p.registered[name] == nil {
			unknown = append(unknown, unregistered("a name given to "+methodOf(serve), excerpt.Brief(name),
				": register it with Job before Start", known))
		}
	}
	return excerpt.Join(unknown...)
}

// registeredNames are the names of all jobs that are registered, the first few of them.
func (p *WorkerPool) registeredNames() string {
	return excerpt.Names(slices.Sorted(maps.Keys(p.registered)))
}

func methodOf(serve bool) string {
	if serve {
		return "Serve"
	}
	return "Withdraw"
}

func (p *WorkerPool) stateNow() poolState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// tooLateTo is what comes of a call while the pool stops, or has stopped.
func (p *WorkerPool) tooLateTo(ctx context.Context, serve bool) error {
	switch {
	case p.hasStopped() && serve:
		return ErrStopped
	case serve:
		return ErrStopping
	}
	select {
	case <-p.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the worker pool has not stopped yet: %w", excerpt.Error(context.Cause(ctx)))
	}
}

// declareFor puts the limits of names into force that are about to be served. They are those of this service, as if
// Only had named them.
func (p *WorkerPool) declareFor(ctx context.Context, names []string, serve bool) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		registration := p.registered[name]
		return !serve || !registration.withdrawn.Load() ||
			!registration.options.limited() && registration.options.Queue == ""
	})
	if len(names) == 0 {
		return nil
	}
	err := p.declareShared(ctx, names)
	if err == nil {
		err = p.declareEverywhere(ctx, names)
	}
	for err == nil && len(p.unbound(names)) > 0 { // the namespace was divided meanwhile
		err = p.declareEverywhere(ctx, names)
	}
	if err != nil {
		return fmt.Errorf("nothing more is served: %w", err)
	}
	return nil
}

// declareEverywhere has names live where their limits hold, and declares these.
func (p *WorkerPool) declareEverywhere(ctx context.Context, names []string) error {
	err := p.bindLimited(ctx, names)
	for _, s := range p.workedSites() {
		if err == nil {
			err = s.declareLimitsOf(ctx, names)
		}
	}
	return err
}

// changeServed changes what is served, if the pool is still in that state, and has the workers see it.
func (p *WorkerPool) changeServed(seen poolState, names []string, serve bool) (version int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != seen {
		return 0, false
	}
	version = p.serving.Change(names, serve)
	for _, w := range p.workers {
		w.alert()
	}
	return version, true
}

// awaitServed waits until every worker of the pool has followed a version of what is served.
func (p *WorkerPool) awaitServed(ctx context.Context, version int64, names []string, serve bool) error {
	for {
		moved := p.serving.Moved()
		if p.stateNow() == poolStopping {
			return p.tooLateTo(ctx, serve)
		}
		if p.serving.Overruled(names, serve) {
			return ErrOverruled
		}
		if !slices.ContainsFunc(p.current(),
			func(w *worker) bool {
				return !w.queues.listing.Follows(version, names, serve) || !serve && w.holdsAny(names)
			}) {
			return nil
		}
		if err := p.awaitMove(ctx, moved); err != nil {
			return unfinished(names, serve, err)
		}
	}
}

// awaitMove waits until something has happened.
func (p *WorkerPool) awaitMove(ctx context.Context, moved <-chan struct{}) error {
	select {
	case <-moved:
	case <-p.stopped:
	case <-ctx.Done():
		return excerpt.Error(context.Cause(ctx))
	}
	return nil
}

// unfinished says what is still waited for when a ctx ends.
func unfinished(names []string, serve bool, cause error) error {
	if serve {
		return fmt.Errorf("not every worker of the pool serves %s yet: %w", excerpt.Names(names), cause)
	}
	return fmt.Errorf("nothing of %s begins in this pool any more, but not all that it holds of them has ended: %w",
		excerpt.Names(names), cause)
}
