package pooltest

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
)

// Patience is how long a test waits for a signal before it gives up; nothing depends on it while all is well.
const Patience = 2 * time.Minute

// ErrLuck is an error of a handler or of a connection that means nothing.
var ErrLuck = errors.New("no luck")

// Spy is an Observer that keeps all events and lets a test wait for one.
type Spy struct {
	mu      sync.Mutex
	events  []event.Event
	changed chan struct{}
}

// NewSpy returns one that has seen nothing.
func NewSpy() *Spy { return &Spy{changed: make(chan struct{})} }

// Observe keeps the event.
func (s *Spy) Observe(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// All are the events so far, and a channel that is closed with the next one.
func (s *Spy) All() ([]event.Event, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]event.Event(nil), s.events...), s.changed
}

// Await returns the first event of that type that matches, waiting for it.
func Await[E event.Event](t *testing.T, s *Spy, matches func(E) bool) E {
	t.Helper()
	deadline := time.After(Patience)
	for {
		events, changed := s.All()
		for _, e := range events {
			if found, ok := e.(E); ok && (matches == nil || matches(found)) {
				return found
			}
		}
		select {
		case <-changed:
		case <-deadline:
			var wanted E
			require.FailNowf(t, "the event never came", "%T; there were %+v", wanted, events)
		}
	}
}

// Count is how many events of that type there were.
func Count[E event.Event](s *Spy) int { return len(Seen[E](s)) }

// Seen are the events of a type so far.
func Seen[E event.Event](s *Spy) (found []E) {
	events, _ := s.All()
	for _, e := range events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// OfJob matches events of one job.
func OfJob[E interface {
	event.Event
	Ref() event.JobRef
}](id string) func(E) bool {
	return func(e E) bool { return e.Ref().ID == id }
}

// Receive waits for a value.
func Receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// NoTrouble checks that nothing was reported but what took too long: a heartbeat may, on a machine that stalls.
func (k *Kit) NoTrouble(t *testing.T) {
	t.Helper()
	for _, e := range Seen[event.Trouble](k.Spy) {
		var slow net.Error
		if !errors.Is(e.Err, context.DeadlineExceeded) && (!errors.As(e.Err, &slow) || !slow.Timeout()) {
			assert.Fail(t, "there was trouble", "%+v", e)
		}
	}
	assert.Empty(t, Seen[event.LoopPanicked](k.Spy))
}

// SeenBy returns the events of the spy without their times, for those of one job.
func SeenBy(t *testing.T, s *Spy, id string) []event.Event {
	t.Helper()
	var seen []event.Event
	events, _ := s.All()
	for _, e := range events {
		if of, ok := e.(interface{ Ref() event.JobRef }); ok && of.Ref().ID == id {
			seen = append(seen, e)
		}
	}
	return seen
}

// Troubles are what was reported, but for what took too long: a heartbeat may, on a machine that stalls.
func Troubles(s *Spy) (all []event.Trouble) {
	for _, e := range Seen[event.Trouble](s) {
		var slow net.Error
		if !errors.Is(e.Err, context.DeadlineExceeded) && (!errors.As(e.Err, &slow) || !slow.Timeout()) {
			all = append(all, e)
		}
	}
	return all
}
