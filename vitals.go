package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// vitals are a worker's signs of life, as far as they are known without asking Redis.
type vitals struct {
	mu       sync.Mutex
	answered time.Time // when Redis last said that the worker is registered
	round    time.Time // when the heartbeater last came round, answered or not
	err      error     // why no heartbeat was answered since
	loops    []*loopSigns
}

// loopSigns are those of one background loop.
type loopSigns struct {
	component string
	down      time.Time // since when it does not run although it was started; zero while it does
}

// registered notes that Redis knows the worker.
func (v *vitals) registered() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answered, v.round, v.err = time.Now(), time.Now(), nil
}

// beat notes what came of a heartbeat.
func (v *vitals) beat(err error) {
	if err == nil {
		v.registered()
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.round, v.err = time.Now(), err
}

// watched makes a loop's function one that leaves signs.
func (v *vitals) watched(component string, run func(context.Context)) func(context.Context) {
	signs := &loopSigns{component: component}
	v.mu.Lock()
	v.loops = append(v.loops, signs)
	v.mu.Unlock()
	set := func(down time.Time) {
		v.mu.Lock()
		defer v.mu.Unlock()
		signs.down = down
	}
	return func(ctx context.Context) {
		set(time.Time{})
		defer func() { set(time.Now()) }() // whatever ends it; once the worker stops nobody looks any more
		run(ctx)
	}
}

// vitalLimits are how old signs may be.
type vitalLimits struct{ answer, round, down time.Duration }

// liveLimits: a loop that panicked is started again within two seconds, and a heartbeater gives up an attempt after
// some seconds, so what lasts longer does not mend itself. How long Redis is away is no matter.
var liveLimits = vitalLimits{answer: maxAhead, round: 30 * time.Second, down: 10 * time.Second}

// healthyLimits: a worker whose heartbeat was not answered for as long as one lasts counts as dead for others.
func healthyLimits(life time.Duration) vitalLimits { return vitalLimits{answer: life, round: life} }

// problems are the signs that are worse than the limits allow.
func (v *vitals) problems(now time.Time, worker string, limits vitalLimits) []HealthProblem {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found []HealthProblem
	note := func(component string, since time.Time, err error) {
		found = append(found, HealthProblem{Worker: worker, Component: component, Since: since, Err: err})
	}
	switch {
	case v.err != nil && now.Sub(v.answered) > limits.answer:
		note("heartbeater", v.answered, fmt.Errorf("%w: %w", ErrUnanswered, v.err))
	case now.Sub(v.round) > limits.round:
		note("heartbeater", v.round, ErrStalled)
	}
	for _, signs := range v.loops {
		if !signs.down.IsZero() && now.Sub(signs.down) > limits.down {
			note(signs.component, signs.down, ErrLoopDown)
		}
	}
	return found
}

// What a [HealthProblem] may be, beside [ErrNotStarted], [ErrStopping] and [ErrStopped].
var (
	// ErrUnanswered: Redis has not answered the heartbeats of a worker lately. What they met with is wrapped beside it.
	ErrUnanswered = errors.New("redis has answered no heartbeat of this worker")
	// ErrStalled: the heartbeater itself does not come round: the process was paused, or is stuck.
	ErrStalled = errors.New("the heartbeater does not come round: the process was paused, or an observer or log handler " +
		"does not return")
	// ErrLoopDown: a background loop has panicked and is about to be started again. A LoopPanicked event has told why.
	ErrLoopDown = errors.New("this loop does not run: it has panicked, and is started again within seconds")
)
