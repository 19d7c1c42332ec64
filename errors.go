package work

import (
	"errors"
	"fmt"
	"strings"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/retry"
	"github.com/265d0351/work/objects"
)

// Errors that a program may test for with errors.Is.
var (
	// ErrFenced is the cause with which a job's ctx ends when its worker was declared dead, so that the job runs
	// elsewhere; or when that may be so and nobody can tell: see WorkerOptions.FenceAfter.
	ErrFenced = errors.New("this worker was declared dead, or may have been: its jobs are given to others")
	// ErrShutdown is the cause with which a job's ctx ends when the pool stopped and ShutdownTimeout has passed.
	ErrShutdown = errors.New("the worker pool is shutting down")
	// ErrTimeout is the cause with which a job's ctx ends when its Timeout has passed.
	ErrTimeout = errors.New("the job's timeout has passed")
	// ErrCancelled is the cause with which a job's ctx ends when somebody has cancelled the job.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrDeadline is the cause with which a job's ctx ends when its Deadline has come.
	ErrDeadline = errors.New("the job's deadline has come")
	// ErrNotStarted is returned by what needs a running pool.
	ErrNotStarted = errors.New("the worker pool is not started: call Start or Run first")
	// ErrStopped is returned by Start when the pool was stopped: make a new one.
	ErrStopped = errors.New("the worker pool was stopped: a stopped pool cannot be started again")
	// ErrStopping is what is wrong with a pool that is about to end: see Healthy.
	ErrStopping = errors.New("the worker pool is stopping")
	// ErrStarted is returned by the second Start.
	ErrStarted = errors.New("the worker pool is started already")
)

// PanicError is the error of a job whose handler or middleware panicked.
type PanicError struct {
	Value any    // what was given to panic
	Stack string // of the panicking goroutine
}

// recovered is the error of what was given to panic, in the goroutine that recovers from it.
func recovered(value any) error {
	return &PanicError{Value: value, Stack: excerpt.PanicStack()}
}

func (e *PanicError) Error() string { return "panic: " + excerpt.Describe(e.Value) }

// Unwrap returns the panic's value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return errchain.Tame(err)
}

// GoexitError is the error of a job whose handler or middleware called runtime.Goexit, as t.FailNow does.
type GoexitError struct{}

func (*GoexitError) Error() string { return "the goroutine was ended with runtime.Goexit" }

// SetupError holds every mistake that was made while a pool was set up. errors.Is and errors.As look into each.
type SetupError struct{ Mistakes []error }

func (e *SetupError) Error() string { return excerpt.Cut(e.text()) }

func (e *SetupError) text() string {
	if len(e.Mistakes) == 1 {
		return "the worker pool cannot start: " + e.Mistakes[0].Error()
	}
	return fmt.Sprintf("the worker pool cannot start, there are %s mistakes:\n", excerpt.Count(len(e.Mistakes))) +
		excerpt.Lines(len(e.Mistakes), 2*excerpt.Whole-4*excerpt.Name, func(i int) string {
			return fmt.Sprintf("%3d. %s", i+1, excerpt.ErrorText(e.Mistakes[i]))
		})
}

// Unwrap returns the mistakes.
func (e *SetupError) Unwrap() []error { return e.Mistakes }

// StopError says what a stop could not end in good order. Nothing of it is lost: every job named here is, or will be
// within seconds, back in its queue.
type StopError struct {
	Released []event.JobRef // given back to the front of their queues: they were cut short
	// their handlers have not returned although their ctx ended; they run on beside their successors
	Stuck []event.JobRef
	Err   error // what else went wrong: Redis could not be reached, the ctx of Stop ended, ...; may be nil
}

func (e *StopError) Error() string { return excerpt.Cut(e.text()) }

func (e *StopError) text() string {
	var parts []string
	if n := len(e.Stuck); n > 0 {
		parts = append(parts, fmt.Sprintf("handlers that did not return (%d): %s", n, list(e.Stuck)))
	}
	if n := len(e.Released); n > 0 {
		parts = append(parts, fmt.Sprintf("jobs given back (%d): %s", n, list(e.Released)))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return "the worker pool did not stop in good order: " + strings.Join(parts, "; ")
}

// Unwrap returns Err.
func (e *StopError) Unwrap() error { return e.Err }

// list names the first few jobs.
func list(refs []event.JobRef) string {
	const most = 5
	names := make([]string, 0, most+1)
	for _, ref := range refs[:min(len(refs), most)] {
		names = append(names, excerpt.Text(ref.String(), 2*excerpt.Name))
	}
	if more := len(refs) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %s more", excerpt.Count(more)))
	}
	return strings.Join(names, ", ")
}

// SignatureError says that a function cannot be a handler or a middleware, or a value not the prototype of a pool. It
// is found once, when the pool starts; nothing was run.
type SignatureError struct {
	Role     string // "handler", "middleware" or "prototype"
	Function string // readable name, file and line of the function; for what is no function, its type
	Found    string // what is wrong with it, to be read after Function: "returns nothing"
	Wanted   string // what it should be instead
	Remedy   string // what to change
}

// Error is one sentence: what was found in which function, what was wanted, what to change.
func (e *SignatureError) Error() string { return (*handler.Refusal)(e).Error() }

// signatureError is why the handler's compiler refuses something, as programs may test for it.
func signatureError(err error) error {
	if refusal, is := err.(*handler.Refusal); is {
		return (*SignatureError)(refusal)
	}
	return err
}

// ArgumentError says that a job's arguments do not fit its handler. Trying again would not help: either the enqueuer or
// the handler has to change. Its text, and that of the reason, have nothing of the arguments in them, which may be
// secret while errors go to logs, to the trail of the job and to pages: see Excerpt and Verbatim.
type ArgumentError struct {
	Handler string // readable name, file and line of the handler
	Index   int    // which argument, the first is 0 (Error counts from 1); -1 when it is about the list as a whole
	Want    string // the Go type of the parameter; for the list, how many and which
	Err     error  // why it does not fit, in words that quote nothing

	json     []byte // the beginning of the argument's, or of the list's
	verbatim error  // Err as it came

	// uncalled: this is about the job that ran, whose handler was therefore not called. A handler that enqueues can
	// itself get an ArgumentError, about that other job, and return it: then this is false, and its own job may be
	// tried again.
	uncalled bool
}

// argumentError is what a compiled handler found wrong with arguments, as programs may test for it. It leaves alone
// what the program's function returned.
func argumentError(err error, uncalled bool) error {
	wrong, is := err.(*handler.ArgumentError)
	if !is {
		return err
	}
	return &ArgumentError{Handler: wrong.Handler, Index: wrong.Index, Want: wrong.Want, Err: wrong.Err,
		json: wrong.JSON, verbatim: wrong.Verbatim, uncalled: uncalled}
}

// Error names the handler, the argument, what kind of JSON it is, the type it should fit and the reason.
func (e *ArgumentError) Error() string {
	return (&handler.ArgumentError{Handler: e.Handler, Index: e.Index, Want: e.Want, Err: e.Err, JSON: e.json}).Error()
}

// Unwrap returns Err. errors.Is and errors.As find in it the error of encoding/json or of the type's own UnmarshalJSON.
func (e *ArgumentError) Unwrap() error { return e.Err }

// Excerpt is the beginning of the argument's JSON, or of the list's: valid UTF-8, cut to 200 bytes, empty when there
// was none. It is for those who may see args.
func (e *ArgumentError) Excerpt() string { return excerpt.Start(string(e.json), handler.MaxExcerpt) }

// Verbatim is the reason as encoding/json, or the type's own UnmarshalJSON, gave it: such errors quote values. It is
// for those who may see args.
func (e *ArgumentError) Verbatim() error { return e.verbatim }

// The limits of what ends up in the names of keys.
const (
	maxNameBytes      = invalid.MaxName
	maxNamespaceBytes = 100
)

// validateName refuses what cannot be the name of a job.
func validateName(name string) error { return asInvalid(invalid.JobName(name)) }

// validateID refuses what cannot be the id of a job.
func validateID(id string) error { return asInvalid(invalid.JobID(id)) }

// validateWord refuses what is empty, too long or not plain text.
func validateWord(what, word string, most int) error {
	return asInvalid(invalid.Word(what, word, most))
}

// validateNamespace refuses what cannot stand in front of every key. Braces mark what a cluster hashes of a key, so
// inside of them there can be no others.
func validateNamespace(ns string) error {
	if err := validateWord("namespace", ns, maxNamespaceBytes); err != nil {
		return err
	}
	if strings.ContainsAny(ns, "{}") {
		return &InvalidError{What: "namespace", Value: excerpt.Brief(ns), Remedy: "use one without { and }"}
	}
	return nil
}

// Errors of an Enqueuer that a program may test for with errors.Is.
var (
	// ErrClosed is what an Enqueuer answers after its Close.
	ErrClosed = errors.New("the enqueuer is closed: make a new one")
	// ErrRedisFull says that Redis has reached its maxmemory, so it takes no new jobs until some have ended.
	ErrRedisFull = retry.ErrFull
	// ErrLostInFailover says that a job was stored, and is not proven to be there: the server that answers after a
	// failover, or after a loss of data, does not know the call that stored it. A worker may have begun it. Where it
	// may run twice enqueue it again with the same [ID]: a job that is there all the same is then a duplicate, and
	// not a second one. See WaitReplicas.
	ErrLostInFailover = intake.ErrLost
	// ErrGone says that no outcome of a job is kept.
	ErrGone = errors.New("no outcome is kept")
	// ErrOutdated says that a newer program has changed the namespace in a way that this one does not know. It is what
	// everything that uses the namespace returns then, workers too; nothing was stored. See docs/compatibility.md.
	ErrOutdated = rdb.ErrOutdated
)

// ReplicasError says that a job, or an outcome, is stored, but that fewer replicas have confirmed it than
// [WaitReplicas] or WorkerOptions.WaitReplicas asked for. A *[PartitionError] around it says where, in a namespace of
// several partitions: each has replicas of its own.
type ReplicasError struct {
	Wanted, Confirmed int
	Err               error // what was in the way of asking; nil where there were too few in time
}

func (e *ReplicasError) Error() string {
	text := fmt.Sprintf("%d of %d replicas have confirmed it in time", e.Confirmed, e.Wanted)
	if e.Err != nil {
		text += ": " + excerpt.ErrorText(e.Err)
	}
	return text
}

// Unwrap returns what was in the way, which may be nil.
func (e *ReplicasError) Unwrap() error { return e.Err }

// InvalidError says that something given by the program cannot be used. Nothing was stored.
type InvalidError struct {
	What   string // the thing: "job name", "delay"
	Value  string // what was given, as it is to be shown
	Remedy string // what to give instead
	Err    error  // the cause, where there is one
}

func (e *InvalidError) Error() string { return (*invalid.Error)(e).Error() }

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// unregistered is what is wrong where a program names a job that its pool has no handler for. known tells the names of
// those that it has, and is asked for each mistake: see [WorkerPool.registeredNames].
func unregistered(what, value, remedy string, known func() string) *InvalidError {
	remedy = "no such job is registered" + remedy + "; there are " + known()
	return &InvalidError{What: what, Value: value, Remedy: remedy}
}

// asInvalid is an error as programs may test for it: one in which an internal package has found something invalid has
// an *InvalidError. Its text stays.
func asInvalid(err error) error {
	if err == nil {
		return nil // most calls: nothing is allocated for them
	}
	var found *invalid.Error
	if !errors.As(err, &found) {
		return err
	}
	public := (*InvalidError)(found)
	if err == error(found) {
		return public
	}
	return &invalidWithin{err, public}
}

// invalidWithin is an error with an *InvalidError somewhere below it.
type invalidWithin struct {
	error
	invalid *InvalidError
}

// Unwrap returns both, so that errors.Is and errors.As find all that they found before.
func (e *invalidWithin) Unwrap() []error { return []error{e.error, e.invalid} }

// indices are those of so many entries.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// ObjectError says that an argument of a job is stored as an object and that the worker could not have it. Where that
// can pass, the job waits for a while without using an attempt, as after [Release]. Where it cannot, since the object
// has vanished or is not what was stored, the job goes to the morgue with this as its reason.
type ObjectError struct {
	Argument int          // 1 is the first
	Hash     objects.Hash // as the record has it
	Err      error        // such as *objects.VanishedError, *objects.MismatchError
	final    bool
}

func (e *ObjectError) Error() string { return excerpt.Cut(e.text()) }

func (e *ObjectError) text() string {
	return fmt.Sprintf("argument %d, the object %.64q, cannot be had: %s", e.Argument, string(e.Hash),
		excerpt.ErrorText(e.Err))
}

// Unwrap returns why.
func (e *ObjectError) Unwrap() error { return e.Err }

// repeatable is what is known of steps that may be repeated: a connection and a home of objects may be the program's.
var repeatable = retry.Steps{Panicked: recovered, Final: isFinal}

// isFinal tells whether an object is not there, or not what it should be, or its home panics, so that asking again is
// of no use.
func isFinal(err error) bool {
	var vanished *objects.VanishedError
	var mismatch *objects.MismatchError
	var noHash *objects.HashError
	return errchain.Find[*PanicError](err) != nil || errors.As(err, &vanished) || errors.As(err, &mismatch) ||
		errors.As(err, &noHash)
}

// ClaimGoneError says that the job was taken from its worker, which was declared dead, or that Redis has lost it. The
// handler should come to an end: whatever it returns does not count any more. Nothing was written.
type ClaimGoneError struct{ event.JobRef }

func (e *ClaimGoneError) Error() string { return excerpt.Cut(e.text()) }

func (e *ClaimGoneError) text() string {
	return "job " + e.String() + " was taken from worker " + e.Worker + ": it runs elsewhere, or Redis has lost it"
}

// ResultError is the error of an attempt whose result was to be kept (see Retention) and cannot be: it does not encode
// as JSON, has text that is not UTF-8, has more than 64 MiB, or more than 1 MiB and could not be stored. The attempt
// counts as failed.
type ResultError struct {
	Handler string // readable name, file and line of the handler
	Err     error  // why: the encoder's error, or a *PanicError of a MarshalJSON
}

func (e *ResultError) Error() string {
	return excerpt.Cut("the result of " + e.Handler + " cannot be kept: " + excerpt.ErrorText(e.Err))
}

// Unwrap returns why.
func (e *ResultError) Unwrap() error { return e.Err }

// PartitionError says which partition of the namespace an error is about, where it has several: one that is away, for
// instance. What is bound to it (jobs of a name with a limit, with [Unique], [Once] or an [ID] of their own) cannot be
// stored meanwhile; other jobs go elsewhere. See docs/scale.md.
type PartitionError struct {
	Partition int // its number, from 0 on
	Err       error
}

func (e *PartitionError) Error() string { return (*partition.Error)(e).Error() }

// Unwrap returns what went wrong there.
func (e *PartitionError) Unwrap() error { return e.Err }

// asPartition is an error as programs may test for it: one that is about a partition has a *PartitionError. Its text
// stays.
func asPartition(err error) error {
	if err == nil {
		return nil
	}
	var found *partition.Error
	if !errors.As(err, &found) {
		return err
	}
	public := (*PartitionError)(found)
	if err == error(found) {
		return public
	}
	return &partitionWithin{err, public}
}

// partitionWithin is an error with a *PartitionError somewhere below it.
type partitionWithin struct {
	error
	partition *PartitionError
}

// Unwrap returns both, so that errors.Is and errors.As find all that they found before.
func (e *partitionWithin) Unwrap() []error { return []error{e.error, e.partition} }
