package worktest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/265d0351/work/event"
)

// Spy is a work.Observer that keeps every event, for [WaitFor] and [CountOf]. It may be used concurrently.
type Spy struct {
	mu      sync.Mutex
	events  []event.Event
	changed chan struct{} // closed with the next event
}

// NewSpy makes a Spy, to be given to a pool as one of its Observers. That of a [Redis] is there already.
func NewSpy() *Spy { return &Spy{changed: make(chan struct{})} }

// Observe keeps an event.
func (s *Spy) Observe(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Events are all events so far, in the order in which they came.
func (s *Spy) Events() []event.Event {
	events, _ := s.since(0)
	return events
}

// since returns the events from the n-th on, and what is closed when there are more.
func (s *Spy) since(n int) ([]event.Event, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events[n:]), s.changed
}

// WaitFor returns the first event of type E for which matches is true, or the first of that type at all if matches is
// nil. It does not matter whether the event came before the call. When none has come after 20 seconds, or the test is
// over, it ends the test and names the events that came instead.
func WaitFor[E event.Event](t testing.TB, s *Spy, matches func(E) bool) E {
	t.Helper()
	return await(t, s, fmt.Sprintf("no %s came that matches", reflect.TypeFor[E]().Name()), matches)
}

// await is WaitFor with what to say when nothing comes.
func await[E event.Event](t testing.TB, s *Spy, complaint string, matches func(E) bool) E {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	for seen := 0; ; {
		events, changed := s.since(seen)
		seen += len(events)
		for _, e := range events {
			if found, ok := e.(E); ok && (matches == nil || matches(found)) {
				return found
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("worktest: %s. %s", complaint, listEvents(s.Events()))
		}
	}
}

// CountOf is how many events of type E have come so far.
func CountOf[E event.Event](s *Spy) int {
	n := 0
	for _, e := range s.Events() {
		if _, ok := e.(E); ok {
			n++
		}
	}
	return n
}

// maxListed is how many lines a failure lists at the most, the last ones.
const maxListed = 20

func listEvents(events []event.Event) string {
	if len(events) == 0 {
		return "There were no events: is the Spy among the Observers of the pool, and the pool started?"
	}
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = "\n  " + showEvent(e)
	}
	return "There were these events:" + strings.Join(lastOf(lines), "")
}

// showEvent is one line: the type, the job where it is about one, and the fields that are set.
func showEvent(e event.Event) string {
	fields := reflect.ValueOf(e)
	var text strings.Builder
	text.WriteString(fields.Type().Name())
	for i := range fields.NumField() {
		field, value := fields.Type().Field(i), fields.Field(i)
		switch shown := value.Interface().(type) {
		case event.JobRef:
			fmt.Fprintf(&text, " %s, attempt %d", shown, shown.Attempt)
		case json.RawMessage:
			if shown != nil {
				fmt.Fprintf(&text, ", %s: %s", field.Name, shown)
			}
		default:
			if !value.IsZero() {
				fmt.Fprintf(&text, ", %s: %v", field.Name, shown)
			}
		}
	}
	return text.String()
}

// lastOf are the last lines, after a line that says how many are left out.
func lastOf(lines []string) []string {
	more := len(lines) - maxListed
	if more <= 0 {
		return lines
	}
	return append([]string{fmt.Sprintf("\n  (%d more before these)", more)}, lines[more:]...)
}
