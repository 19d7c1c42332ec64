package liveness

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/span"
)

// Signs are a worker's signs of life, as far as they are known without asking Redis. They may be used concurrently.
type Signs struct {
	mu       sync.Mutex
	answered time.Time // when Redis last said that the worker is registered
	round    time.Time // when the heartbeater last came round, answered or not
	err      error     // why no heartbeat was answered since
	loops    []*loop
}

// loop is one in the background.
type loop struct {
	component string
	down      time.Time // since when it does not run although it was started; zero while it does
}

// Registered notes that Redis knows the worker.
func (s *Signs) Registered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered, s.round, s.err = time.Now(), time.Now(), nil
}

// Beat notes what came of a heartbeat.
func (s *Signs) Beat(err error) {
	if err == nil {
		s.Registered()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round, s.err = time.Now(), err
}

// Watched makes the function of a loop one that leaves signs.
func (s *Signs) Watched(component string, run func(context.Context)) func(context.Context) {
	watched := &loop{component: component}
	s.mu.Lock()
	s.loops = append(s.loops, watched)
	s.mu.Unlock()
	set := func(down time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		watched.down = down
	}
	return func(ctx context.Context) {
		set(time.Time{})
		defer func() { set(time.Now()) }() // whatever ends it; once the worker stops nobody looks any more
		run(ctx)
	}
}

// Limits are how old signs may be.
type Limits struct {
	Answer time.Duration // since the last heartbeat that was answered
	Round  time.Duration // since the heartbeater came round
	Down   time.Duration // since a loop ended that should run
}

// Alive are the limits of a worker that mends itself: a loop that panicked is started again within two seconds, and a
// heartbeater gives up an attempt after some seconds, so what lasts longer does not. How long Redis is away is no
// matter.
var Alive = Limits{Answer: span.Longest, Round: 30 * time.Second, Down: 10 * time.Second}

// Healthy are the limits of a worker that runs jobs: one whose heartbeat was not answered for as long as one lasts
// counts as dead for others.
func Healthy(life time.Duration) Limits { return Limits{Answer: life, Round: life} }

// Heartbeater is the component whose problems are those of heartbeats.
const Heartbeater = "heartbeater"

// What a problem may be.
const (
	Unanswered Kind = iota // Redis has answered no heartbeat
	Stalled                // the heartbeater does not come round
	LoopDown               // a loop does not run
)

// Kind is what a problem is.
type Kind int

// Problem is a sign that is older than the limits allow.
type Problem struct {
	Kind      Kind
	Component string
	Since     time.Time // when it was last right
	Err       error     // with what the heartbeats that were not answered have met
}

// Problems are the signs that are older than the limits allow.
func (s *Signs) Problems(now time.Time, limits Limits) (found []Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil && now.Sub(s.answered) > limits.Answer:
		found = append(found, Problem{Kind: Unanswered, Component: Heartbeater, Since: s.answered, Err: s.err})
	case now.Sub(s.round) > limits.Round:
		found = append(found, Problem{Kind: Stalled, Component: Heartbeater, Since: s.round})
	}
	for _, loop := range s.loops {
		if !loop.down.IsZero() && now.Sub(loop.down) > limits.Down {
			found = append(found, Problem{Kind: LoopDown, Component: loop.component, Since: loop.down})
		}
	}
	return found
}

// Age makes the signs of a component older, as if the process had been stopped for so long: tests have no other way to
// let time pass.
func (s *Signs) Age(component string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if component == Heartbeater {
		s.answered, s.round = s.answered.Add(-by), s.round.Add(-by)
		return
	}
	for _, loop := range s.loops {
		if loop.component == component && !loop.down.IsZero() {
			loop.down = loop.down.Add(-by)
		}
	}
}
