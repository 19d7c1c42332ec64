package rights

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/redisconn"
)

// Start asks for the rights of a worker before a pool writes anything into a partition. Its fields are set first; it
// may be used concurrently.
type Start struct {
	Driver    redisconn.Driver
	Namespace string
	Partition int
	Replicas  bool // outcomes wait for replicas
	Emit      func(event.Event)

	answered atomic.Bool
}

// Ask returns what is missing, or why it cannot be known now: that passes.
func (s *Start) Ask(ctx context.Context) error {
	answer, err := Worker.Ask(ctx, s.Driver, s.Namespace)
	if err != nil {
		return err
	}
	if s.Replicas && slices.Contains(answer.Lacks, "WAIT") {
		return &RefusedError{Namespace: s.Namespace, Role: Worker, Commands: []string{"WAIT"}}
	}
	if !s.answered.Swap(true) {
		Unchecked(s.Emit)(s.Partition, answer.Lacks)
	}
	return nil
}

// Once asks unless that was answered.
func (s *Start) Once(ctx context.Context) error {
	if s.answered.Load() {
		return nil
	}
	return s.Ask(ctx)
}

// Unchecked tells what of a server was not checked, by what its user lacks.
func Unchecked(emit func(event.Event)) func(partition int, lacks []string) {
	return func(partition int, lacks []string) {
		if slices.Contains(lacks, "INFO") {
			emit(event.ServerUnfit{Partition: partition, Remedy: "grant the user +info, see docs/security.md",
				Problem: "its user may not run INFO, so neither its version nor its maxmemory-policy was checked"})
		}
	}
}

// A worker asks for its rights along with a heartbeat, so often; each heartbeat asks while some are missing or a call
// was refused for them. In a large fleet it asks more rarely: what each of many asks adds up.
const (
	watchInterval      = 5 * time.Second
	watchIntervalFleet = time.Minute
)

// Watch knows whether the user of a worker may do what a worker needs. The heartbeater feeds it; Refused and Doubt may
// be called concurrently. It never decides what becomes of jobs.
type Watch struct {
	namespace string
	changed   func()
	health    healthreport.Reporter

	refused atomic.Pointer[error] // nil while nothing is missing
	doubted atomic.Bool           // a call was refused, or another Redis may answer

	asked time.Time // when the last answer came
	noted bool      // Redis was told of what is missing
}

// NewWatch makes the watch of a worker in a namespace. emit is told of changes as of the component "rights"; changed is
// called before.
func NewWatch(namespace string, emit func(event.Event), changed func()) *Watch {
	return &Watch{namespace: namespace, changed: changed,
		health: healthreport.Reporter{Component: "rights", Emit: emit}}
}

// Refused is what is missing, or nil.
func (w *Watch) Refused() error {
	if refused := w.refused.Load(); refused != nil {
		return *refused
	}
	return nil
}

// Doubt notes the error of a call: a refusal for a lack of rights has the next heartbeat ask.
func (w *Watch) Doubt(err error) {
	if Denied(err) {
		w.doubted.Store(true)
	}
}

// Moved notes that another Redis may answer from now on.
func (w *Watch) Moved() { w.doubted.Store(true) }

// Calls are those that the next heartbeat takes along: the question where it is due, or none.
func (w *Watch) Calls(fleet bool) []redisconn.Call {
	interval := watchInterval
	if fleet {
		interval = watchIntervalFleet
	}
	if w.doubted.Load() || w.refused.Load() != nil || time.Since(w.asked) >= interval {
		return []redisconn.Call{Worker.Question(w.namespace)}
	}
	return nil
}

// Ask asks by a call of its own, where a heartbeat was refused with this error.
func (w *Watch) Ask(ctx context.Context, on redisconn.Conn, worker string, err error) {
	if Denied(err) {
		if replies, err := on.Pipeline(ctx, Worker.Question(w.namespace)); err == nil {
			w.Answered(ctx, on, worker, replies)
		}
	}
}

// Answered takes the replies to [Watch.Calls], and has Redis know what the worker lacks, for the doctor. What passes
// says nothing.
func (w *Watch) Answered(ctx context.Context, on redisconn.Conn, worker string, replies []redisconn.Reply) {
	if len(replies) == 0 {
		return
	}
	w.asked = time.Now()
	_, err := Worker.Answered(w.namespace, replies[0])
	if redisconn.Passes(err) {
		return
	}
	w.doubted.Store(false)
	before := w.refused.Load()
	switch {
	case err != nil:
		w.refused.Store(&err)
	case before != nil:
		w.refused.Store(nil)
	default:
		return
	}
	w.changed()
	w.health.Report(err)
	var refused *RefusedError
	if text := ""; errors.As(err, &refused) || w.noted {
		if refused != nil {
			text = refused.What()
		}
		replies, failed := on.Pipeline(ctx, NoteCall(w.namespace, worker, text)) // the user may lack what that takes
		w.noted = refused != nil || failed != nil || replies[0].Err != nil
	}
}
