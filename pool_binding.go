package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
)

// binding has the names with a limit that the pool declares live in one partition each: only there a limit holds. A
// start waits for that a little while. It takes all partitions, and one that is away would keep the pool from
// everything else: names that are not bound by then are not served until they are.
type binding struct {
	pool   *WorkerPool
	health healthreport.Reporter

	mu    sync.Mutex
	left  []string // that are still to be bound
	since time.Time
	err   error // of the last try
}

// The times of a binding.
const (
	startBinding = 2 * time.Second // how long a start waits
	bindingTry   = fetchTimeout    // how long one try takes, before it is told that it waits
)

func newBinding(p *WorkerPool) *binding {
	return &binding{pool: p, health: healthreport.Reporter{Component: bindingComponent, Emit: p.events.emit}}
}

// bindingComponent is how events and health name what waits to be bound.
const bindingComponent = "limits"

// start binds names before the pool works anywhere, and holds those back that cannot be bound now.
func (b *binding) start(ctx context.Context, names []string) {
	trying, cancel := context.WithTimeout(ctx, startBinding)
	defer cancel()
	for _, name := range names {
		if err := b.pool.bindLimited(trying, []string{name}); err != nil {
			b.left, b.since, b.err = append(b.left, name), time.Now(), err
		}
	}
	b.pool.serving.Hold(b.left)
	if b.err != nil {
		b.health.Report(b.problem())
	}
}

// followUp holds names back that are still to be bound once the workers have joined: the namespace was divided since
// start has looked, and no partition has declared a limit that would hold there alone.
func (b *binding) followUp(names []string) {
	unbound := slices.DeleteFunc(b.pool.unbound(names), func(name string) bool { return slices.Contains(b.left, name) })
	if len(unbound) == 0 {
		return
	}
	if b.err == nil {
		b.since, b.err = time.Now(), errDivided
	}
	b.left = append(b.left, unbound...)
	b.pool.serving.Hold(b.left)
}

var errDivided = errors.New("the namespace has just been divided")

// run binds what a start has left, one name after the other, and has it served then. It ends when all is done.
func (b *binding) run(ctx context.Context) {
	for ctx.Err() == nil {
		b.mu.Lock()
		left := slices.Clone(b.left)
		b.mu.Unlock()
		if len(left) == 0 {
			return
		}
		for _, name := range left {
			b.note(name, b.bind(ctx, name))
		}
		backoff.Pause(ctx, backoff.For(1))
	}
}

// bind binds one name, declares its limit, and has it served.
func (b *binding) bind(ctx context.Context, name string) error {
	trying, cancel := context.WithTimeout(ctx, bindingTry)
	defer cancel()
	if err := b.pool.bindLimited(trying, []string{name}); err != nil {
		return err
	}
	for _, s := range b.pool.workedSites() {
		if err := s.declareLimitsOf(trying, []string{name}); err != nil {
			return err
		}
	}
	b.pool.release(name)
	return nil
}

// note notes how a try went. A stop that has cut it off is no trouble.
func (b *binding) note(name string, err error) {
	if err != nil && b.pool.stateNow() != poolStarted {
		return
	}
	b.mu.Lock()
	if err == nil {
		b.left = slices.DeleteFunc(b.left, func(other string) bool { return other == name })
	} else {
		b.err = err
	}
	b.mu.Unlock()
	b.health.Report(b.problem())
}

// waits tells whether a name is still to be bound.
func (b *binding) waits(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.left, name)
}

// problem says what is not served, and why; nil where all is.
func (b *binding) problem() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) == 0 {
		return nil
	}
	return fmt.Errorf("jobs of %s will be served once the limit holds over all partitions, which takes each of them: "+
		"%w",
		excerpt.Names(b.left), b.err)
}

// problems is problem for Healthy.
func (b *binding) problems() []HealthProblem {
	if err := b.problem(); err != nil {
		return []HealthProblem{{Component: bindingComponent, Since: b.since, Err: err}}
	}
	return nil
}

// release has the workers serve a name that was held back.
func (p *WorkerPool) release(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serving.Release(name)
	for _, w := range p.workers {
		w.alert()
	}
}
