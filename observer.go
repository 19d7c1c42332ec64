package work

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
)

// Observer receives every event of a pool. Observe is called by the goroutine in which the event happens, by many at
// once, so it must be quick and safe for concurrent use. A panic in it does not reach the job; the log tells of the
// first one, and then at most once a minute. A runtime.Goexit in it (t.FailNow, require) is survived in the same way,
// but the observers behind it miss that event.
type Observer interface{ Observe(event.Event) }

// ObserverFunc makes an Observer of a function.
type ObserverFunc func(event.Event)

// Observe calls f.
func (f ObserverFunc) Observe(e event.Event) { f(e) }

// stream passes events to all observers, the log first.
type stream struct {
	log       *slog.Logger
	observers []*observed
}

func newStream(log *slog.Logger, observers []Observer) *stream {
	s := &stream{log: log}
	for _, observer := range observers {
		s.observers = append(s.observers, &observed{observer: observer})
	}
	return s
}

// perJob tells whether somebody wants the events that every job has, so that they are worth making.
func (s *stream) perJob() bool {
	return len(s.observers) > 0 || s.log.Enabled(context.Background(), slog.LevelDebug)
}

func (s *stream) emit(e event.Event) {
	e = bounded(e)
	logEvent(s.log, e)
	for _, o := range s.observers {
		o.tell(s.log, e)
	}
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

func (o *observed) tell(log *slog.Logger, e event.Event) {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil {
			value = "runtime.Goexit"
		}
		o.complain(log, e, value, cutStack(string(debug.Stack())))
	}()
	o.observer.Observe(e)
	returned = true
}

func (o *observed) complain(log *slog.Logger, e event.Event, value any, stack string) {
	o.mu.Lock()
	o.panics++
	panics := o.panics
	due := o.told.IsZero() || time.Since(o.told) >= complaintInterval
	if due {
		o.told, o.panics = time.Now(), 0
	}
	o.mu.Unlock()
	if due {
		write(log, slog.LevelError, "an observer panicked", []slog.Attr{
			slog.String("observer", fmt.Sprintf("%T", o.observer)), slog.String("event", fmt.Sprintf("%T", e)),
			slog.String("panic", describe(value)), slog.Int("panics", panics), slog.String("stack", stack)})
	}
}

// health turns the results of one piece of background work into events: one when it begins to fail, one when it is
// over, none in between however often it is tried.
type health struct {
	component string
	events    *stream

	mu       sync.Mutex
	since    time.Time
	failures int
}

func (h *health) report(err error) {
	h.mu.Lock()
	before, since := h.failures, h.since
	if err != nil {
		h.failures++
		if before == 0 {
			h.since = time.Now()
		}
	} else {
		h.failures = 0
	}
	h.mu.Unlock()
	switch {
	case err != nil && before == 0:
		h.events.emit(event.Trouble{Component: h.component, Err: err})
	case err == nil && before > 0:
		h.events.emit(event.TroubleOver{Component: h.component, After: time.Since(since), Failures: before})
	}
}

// logEvent writes an event to the log: what ran well at Debug, what an operator should know at Info, what somebody
// should look into at Warn or Error.
func logEvent(log *slog.Logger, e event.Event) {
	level, message, attrs := describeEvent(e)
	if log.Enabled(context.Background(), level) {
		write(log, level, message, attrs())
	}
}

// write writes to the log. A slog.Handler is code of the program too: where it panics nobody is left to be told.
func write(log *slog.Logger, level slog.Level, message string, attrs []slog.Attr) {
	defer func() { _ = recover() }()
	for i, attr := range attrs {
		if attr.Value.Kind() == slog.KindString {
			most := excerpt.Whole
			if attr.Key == "stack" {
				most = maxStack
			}
			attrs[i].Value = slog.StringValue(excerpt.Text(attr.Value.String(), most))
		}
	}
	log.LogAttrs(context.Background(), level, "work: "+message, attrs...)
}
