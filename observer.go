package work

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Observer receives every event of a pool. Observe is called by the goroutine in which the event happens, by many at
// once, so it must be quick and safe for concurrent use; a panic in it is reported and does not reach the job.
type Observer interface{ Observe(Event) }

// ObserverFunc makes an Observer of a function.
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// stream passes events to all observers, the log first.
type stream struct {
	log       *slog.Logger
	observers []Observer
	perJob    bool // somebody wants the events that every job has, so they are worth making
}

func newStream(log *slog.Logger, observers []Observer) *stream {
	return &stream{
		log: log, observers: observers,
		perJob: len(observers) > 0 || log.Enabled(context.Background(), slog.LevelDebug),
	}
}

func (s *stream) emit(e Event) {
	logEvent(s.log, e)
	for _, observer := range s.observers {
		s.tell(observer, e)
	}
}

func (s *stream) tell(observer Observer, e Event) {
	defer func() {
		if value := recover(); value != nil {
			s.log.Error("work: an observer panicked", "observer", fmt.Sprintf("%T", observer),
				"event", fmt.Sprintf("%T", e), "panic", describe(value))
		}
	}()
	observer.Observe(e)
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
		h.events.emit(Trouble{Component: h.component, Err: err})
	case err == nil && before > 0:
		h.events.emit(TroubleOver{Component: h.component, After: time.Since(since), Failures: before})
	}
}

// logEvent writes an event to the log: what ran well at Debug, what an operator should know at Info, what somebody
// should look into at Warn or Error.
func logEvent(log *slog.Logger, e Event) {
	level, message, attrs := describeEvent(e)
	if !log.Enabled(context.Background(), level) {
		return
	}
	log.LogAttrs(context.Background(), level, "work: "+message, attrs()...)
}
