package work

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/eventlog"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb"
)

// Observer receives every event of a pool. What has happened waits until Observe returns, and many goroutines call it
// at once, so it must be quick and safe for concurrent use. A panic in it does not reach the job; the log tells of the
// first one, and then at most once a minute. A runtime.Goexit in it (t.FailNow, require) is survived in the same way,
// but the observers behind it miss that event.
type Observer interface{ Observe(event.Event) }

// ObserverFunc makes an Observer of a function.
type ObserverFunc func(event.Event)

// Observe calls f.
func (f ObserverFunc) Observe(e event.Event) { f(e) }

// stream passes events to all observers, the log first.
type stream struct {
	log       *eventlog.Log
	observers []*observed
}

func newStream(log *slog.Logger, observers []Observer) *stream {
	s := &stream{log: eventlog.New(log, stackOf)}
	for _, observer := range observers {
		s.observers = append(s.observers, &observed{observer: observer})
	}
	return s
}

// perJob tells whether somebody wants the events that every job has, so that they are worth making.
func (s *stream) perJob() bool {
	return len(s.observers) > 0 || s.log.Debug()
}

// emit tells of an event in a goroutine of its own, and returns once all have heard of it. An observer may end the
// goroutine in which it is called; whoever tells may have a lock, a processor or a place of a quota, or be in the midst
// of a stop, and goes on.
func (s *stream) emit(e event.Event) {
	lifecycle.Apart(func() { s.emitHere(e) })
}

// emitHere tells of an event in the goroutine of the caller. It is for the events that every job has, and for how its
// attempts end, since it costs less than emit. The caller must be ready to end here: nothing that must happen comes
// after it, but what is deferred.
func (s *stream) emitHere(e event.Event) {
	e = eventlog.Bounded(e)
	s.log.Event(e)
	for _, o := range s.observers {
		o.tell(s.log, e)
	}
}

// tellingFlows tells of flows that have ended.
func tellingFlows(emit func(event.Event)) func(rdb.FlowEnd) {
	return func(end rdb.FlowEnd) { emit(flowEnded(end)) }
}

func flowEnded(end rdb.FlowEnd) event.FlowEnded {
	return event.FlowEnded{Flow: end.Flow, How: event.FlowEnd(end.How), Generation: end.Generation, Jobs: end.Members,
		Took: end.Took}
}

// stackOf is the stack of the panic that an attempt ended with; empty for other errors.
func stackOf(err error) string {
	if p := errchain.Find[*PanicError](err); p != nil {
		return p.Stack
	}
	return ""
}

// complaintInterval is how often the log tells that an observer panics.
const complaintInterval = time.Minute

// observed is an Observer with what it did wrong.
type observed struct {
	observer Observer

	mu     sync.Mutex
	told   time.Time // when the log told of a panic
	panics int       // since then
}

// tell calls the observer in the goroutine that tells of the event. A panic ends here; after runtime.Goexit, which
// nobody can stop, the goroutine still ends.
func (o *observed) tell(log *eventlog.Log, e event.Event) {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil {
			value = "runtime.Goexit"
		}
		o.complain(log, e, value, excerpt.PanicStack())
	}()
	o.observer.Observe(e)
	returned = true
}

// complain counts the panics of the observer between two lines of the log: one that panics at each event would fill it.
func (o *observed) complain(log *eventlog.Log, e event.Event, value any, stack string) {
	o.mu.Lock()
	o.panics++
	panics := o.panics
	due := o.told.IsZero() || time.Since(o.told) >= complaintInterval
	if due {
		o.told, o.panics = time.Now(), 0
	}
	o.mu.Unlock()
	if due {
		log.Line(slog.LevelError, "an observer panicked", []slog.Attr{
			slog.String("observer", fmt.Sprintf("%T", o.observer)), slog.String("event", fmt.Sprintf("%T", e)),
			slog.String("panic", excerpt.Describe(value)), slog.Int("panics", panics), slog.String("stack", stack)})
	}
}
