package worqr

import (
	"context"
	"iter"
	"sync"
)

// audience is everybody who reads events. Nobody who tells one waits for a reader.
type audience struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

func (a *audience) tell(e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range a.listeners {
		l.tell(e)
	}
}

// join lets a listener hear everything from now on.
func (a *audience) join(limit int) *listener {
	l := newListener(limit)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listeners == nil {
		a.listeners = map[*listener]struct{}{}
	}
	a.listeners[l] = struct{}{}
	return l
}

func (a *audience) leave(l *listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.listeners, l)
}

// listener keeps events for one reader.
type listener struct {
	limit int
	news  chan struct{}

	mu     sync.Mutex
	events []Event
	missed int
}

func newListener(limit int) *listener {
	return &listener{limit: limit, news: make(chan struct{}, 1)}
}

func (l *listener) tell(e Event) {
	l.mu.Lock()
	if len(l.events) == l.limit {
		l.events = append(l.events[:0], l.events[1:]...)
		l.missed++
	}
	l.events = append(l.events, e)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *listener) next() (Event, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.missed > 0 {
		e := Missed{Count: l.missed}
		l.missed = 0
		return e, true
	}
	if len(l.events) == 0 {
		return nil, false
	}
	e := l.events[0]
	l.events = append(l.events[:0], l.events[1:]...)
	return e, true
}

// all yields events until ctx or life ends.
func (l *listener) all(ctx, life context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for ctx.Err() == nil && life.Err() == nil {
			if e, ok := l.next(); ok {
				if !yield(e) {
					return
				}
				continue
			}
			select {
			case <-l.news:
			case <-ctx.Done():
			case <-life.Done():
			}
		}
	}
}
