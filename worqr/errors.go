package worqr

import (
	"errors"
	"fmt"
)

// Errors that a program may test for with errors.Is.
var (
	// ErrEmpty is returned by StartTask and Peek when no task waits.
	ErrEmpty = errors.New("no task waits in the queue")
	// ErrNotStarted is returned by what needs a worker.
	ErrNotStarted = errors.New("the client has no worker: call Start first")
	// ErrStarted is returned by the second Start.
	ErrStarted = errors.New("the client has a worker already: Start it once")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("the client was closed")
	// ErrLapsed says that the worker's timer has lapsed or that it was failed: its tasks go to others. It is also the
	// cause with which the contexts of its processes end. The client registers again by itself.
	ErrLapsed = errors.New("the worker failed to stay alive, its tasks are given to others")
	// ErrCancelled is the cause with which the context of a process ends whose task was cancelled.
	ErrCancelled = errors.New("the task was cancelled")
	// ErrProcessEnded is the cause with which the context of a process ends that was finished or stopped.
	ErrProcessEnded = errors.New("the process has ended")
	// ErrProcessGone is what a [*ProcessError] is.
	ErrProcessGone = errors.New("no such process of this worker")
	// ErrWorkerUnknown is what a [*WorkerError] is for an id that no worker of this package has.
	ErrWorkerUnknown = errors.New("no such worker of this package")
	// ErrWorkerTaken is what a [*WorkerError] is for an id that another worker has.
	ErrWorkerTaken = errors.New("another worker has this id")
	// ErrServed is returned by a second Serve of one queue.
	ErrServed = errors.New("this client serves the queue already: raise Concurrency instead")
	// ErrRedisFull says that Redis refused to store tasks for lack of memory.
	ErrRedisFull = errors.New("no memory is left in Redis: nothing was stored")
)

// InvalidError refuses a value before anything is sent.
type InvalidError struct{ What, Value, Remedy string }

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s %s is not allowed: %s", e.What, e.Value, e.Remedy)
}

// ProcessError says that a process is not this worker's: it never was, it has ended, or it was taken away.
type ProcessError struct{ ID string }

func (e *ProcessError) Error() string {
	return fmt.Sprintf("process %.200q is not of this worker: it has ended, was taken away, or never was", e.ID)
}

// Is makes it ErrProcessGone.
func (*ProcessError) Is(target error) bool { return target == ErrProcessGone }

// NotWorkingError says that the worker does not serve a queue.
type NotWorkingError struct{ Queue string }

func (e *NotWorkingError) Error() string {
	return fmt.Sprintf("this worker does not work on queue %q: call StartWork first", e.Queue)
}

// WorkerError says what is wrong with the id of a worker.
type WorkerError struct {
	ID  string
	Err error // ErrWorkerUnknown or ErrWorkerTaken
}

func (e *WorkerError) Error() string { return fmt.Sprintf("worker %.200q: %v", e.ID, e.Err) }
func (e *WorkerError) Unwrap() error { return e.Err }

// EnqueueError says how far an enqueue came. Tasks are stored in their order, so the first Stored ones are there, the
// next Unknown ones may be, and the last NotStored ones are not.
type EnqueueError struct {
	Queue                      string
	Stored, Unknown, NotStored int
	Err                        error
}

func (e *EnqueueError) Error() string {
	return fmt.Sprintf("enqueue to %q: %d tasks stored, of %d it is not known, %d not stored: %v",
		e.Queue, e.Stored, e.Unknown, e.NotStored, e.Err)
}
func (e *EnqueueError) Unwrap() error { return e.Err }

// PanicError is the error of a task whose handler panicked.
type PanicError struct {
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
