package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/internal/excerpt"
)

// roster is which of its registered names a pool serves now. Serve and Withdraw write it; the fetcher of each worker
// brings what it fetches, and what Redis knows of it, in line with it: see duties.
type roster struct {
	mu      sync.Mutex
	version int64
	names   []string        // in order; another slice after each change
	wishes  map[string]bool // by name: whether it was served or withdrawn last; others are as Only says
	moved   chan struct{}   // closed at the next change of anything that somebody may wait for
}

// Serve has the pool serve registered names again that were withdrawn, or names that WorkerOptions.Only leaves out. It
// returns nil once every worker of the pool is known to Redis with them and asks for their jobs; what waits begins at
// once. Their limits are declared before. When ctx ends first the pool goes on with it.
//
// Names that are served already are fine. One that is not registered is an *[InvalidError], and nothing is changed:
// handlers are registered with Job, before Start. Before Start it says what Start is to serve; once the pool stops the
// error is [ErrStopping], then [ErrStopped]. The service that the pool belongs to, and its schedules, stay as they are.
// It may be called concurrently; where another call has undone it before it was done, the error is [ErrOverruled].
func (p *WorkerPool) Serve(ctx context.Context, names ...string) error {
	return p.appoint(ctx, names, true)
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
	return p.appoint(ctx, names, false)
}

// ErrOverruled is returned by Serve and Withdraw when another call meanwhile wanted the opposite for one of the names.
var ErrOverruled = errors.New("another call of Serve or Withdraw came in between, and its wish holds")

// appoint makes it the wish of the pool that these names are served, or not, and waits until that is so.
func (p *WorkerPool) appoint(ctx context.Context, names []string, serve bool) error {
	if err := p.mustKnow(names, serve); err != nil {
		return err
	}
	for {
		moved, state := p.roster.watch(), p.stateNow()
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
		version, ok := p.wish(state, names, serve)
		if !ok { // it was started or stopped meanwhile
			continue
		}
		if state == poolNew {
			return nil
		}
		return p.awaitWish(ctx, version, names, serve)
	}
}

// mustKnow refuses names for which no handler is registered.
func (p *WorkerPool) mustKnow(names []string, serve bool) error {
	known := sync.OnceValue(p.registeredNames)
	var unknown []error
	for _, name := range names {
		if p.registered[name] == nil {
			unknown = append(unknown, &InvalidError{
				What: "a name given to " + methodOf(serve), Value: quoted(name),
				Remedy: "no such job is registered: register it with Job before Start; there are " + known(),
			})
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
		return !serve || !registration.away.Load() || registration.options.Limit == (Limit{})
	})
	if len(names) == 0 {
		return nil
	}
	if err := p.declareLimitsOf(ctx, names); err != nil {
		return fmt.Errorf("nothing more is served: %w", err)
	}
	return nil
}

// wish changes the roster, if the pool is still in that state, and has the workers see it.
func (p *WorkerPool) wish(seen poolState, names []string, serve bool) (version int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != seen {
		return 0, false
	}
	version = p.roster.change(p.registered, names, serve)
	for _, w := range p.workers {
		w.alert()
	}
	return version, true
}

// change notes what is wanted. From here on nothing begins of what is withdrawn.
func (r *roster) change(registered map[string]*registration, names []string, serve bool) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wishes == nil {
		r.wishes = map[string]bool{}
	}
	for _, name := range names {
		r.wishes[name] = serve
		if away := registered[name].away; away != nil {
			away.Store(!serve)
		}
	}
	if r.version > 0 { // it was opened
		r.list(registered)
	}
	return r.version
}

// open makes the roster of a pool that is about to start: the names that were chosen, but for what was wished before.
func (r *roster) open(registered, chosen map[string]*registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, registration := range registered {
		serve, wished := r.wishes[name]
		registration.away = &atomic.Bool{} // another one for each start: a Twin begins with a copy of the registration
		registration.away.Store(wished && !serve || !wished && chosen[name] == nil)
	}
	r.list(registered)
}

func (r *roster) list(registered map[string]*registration) {
	names := make([]string, 0, len(registered))
	for name, registration := range registered {
		if !registration.away.Load() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	r.names = names
	r.version++
}

// now returns the names that are served, which nobody changes, and which version of the roster that is.
func (r *roster) now() (names []string, version int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names, r.version
}

// watch returns what is closed when the next thing happens that a wish may wait for.
func (r *roster) watch() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moved == nil {
		r.moved = make(chan struct{})
	}
	return r.moved
}

// tell has those who wait look again.
func (r *roster) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moved != nil {
		close(r.moved)
		r.moved = nil
	}
}

// overruled tells whether another wish for one of the names came later.
func (r *roster) overruled(names []string, serve bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(names, func(name string) bool { return r.wishes[name] != serve })
}

// awaitWish waits until every worker of the pool has followed a wish.
func (p *WorkerPool) awaitWish(ctx context.Context, version int64, names []string, serve bool) error {
	for {
		moved := p.roster.watch()
		if p.stateNow() == poolStopping {
			return p.tooLateTo(ctx, serve)
		}
		if p.roster.overruled(names, serve) {
			return ErrOverruled
		}
		if !slices.ContainsFunc(p.current(), func(w *worker) bool { return !w.duties.follow(version, names, serve) }) {
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

// unfinished says what a wish still waits for when its ctx ends.
func unfinished(names []string, serve bool, cause error) error {
	if serve {
		return fmt.Errorf("not every worker of the pool serves %s yet: %w", excerpt.Names(names), cause)
	}
	return fmt.Errorf("nothing of %s begins in this pool any more, but not all that it holds of them has ended: %w",
		excerpt.Names(names), cause)
}
