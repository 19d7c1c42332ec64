package work

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/jobnames"
	"github.com/265d0351/work/internal/span"
	"github.com/265d0351/work/objects"
)

// The defaults and limits of an Enqueuer.
const (
	defaultEnqueueTimeout = 10 * time.Second
)

// EnqueuerOption is an option of [NewEnqueuer].
type EnqueuerOption func(*enqueuerSettings)

type enqueuerSettings struct {
	namespace  string
	connection Connection
	timeout    time.Duration
	maxArgs    int
	bounded    bool // maxArgs was given
	largeArgs  int  // 0 is the default
	home       objects.Home

	middlewares []EnqueueMiddleware

	codecs []Codec
	chain  *codec.Chain                   // of the codecs
	codec  func(name string) *codec.Chain // of the job's own options; may be nil

	observers []Observer
	log       *slog.Logger
	emit      func(event.Event) // of a pool, which has observers of its own; nil is theirs

	names       []string                             // of Names
	named       bool                                 // they were given
	servedNames bool                                 // others are asked for in Redis
	own         *jobnames.Rule                       // that of a pool, where these are not given
	check       func(name string, args []byte) error // may refuse the args of a job; its error need not name the job
	unique      func(name string) *UniqueOptions     // of the job's own options
	closed      error                                // what callers get after Close; nil is ErrClosed
}

// Namespace is what all keys in Redis begin with: enqueuers and pools of one namespace belong together. The default is
// "work". It has at most 100 bytes, no braces and no control characters.
func Namespace(ns string) EnqueuerOption {
	return func(s *enqueuerSettings) { s.namespace = ns }
}

// WithConnection uses a client that the program made, instead of a DSN, which must then be empty.
func WithConnection(c Connection) EnqueuerOption {
	return func(s *enqueuerSettings) { s.connection = c }
}

// EnqueueTimeout is how long a call tries to reach Redis when its ctx does not end earlier; EnqueueMany does so for
// each of the parts in which it sends its entries. The default is 10 s.
func EnqueueTimeout(d time.Duration) EnqueuerOption {
	return func(s *enqueuerSettings) { s.timeout = span.Capped(d) }
}

// MaxArgsSize is how many bytes the JSON of a job's arguments may have, at most 64 MiB, with those that are stored as
// objects (see [LargeArgs]). The default is 64 MiB, of which 1 MiB in the record.
func MaxArgsSize(bytes int) EnqueuerOption {
	return func(s *enqueuerSettings) { s.maxArgs, s.bounded = bytes, true }
}

// LargeArgs is above how many bytes of JSON an argument is stored as an object: once for all jobs that have the same,
// and not in their records. The default, 0, is 8 KiB; a negative number is never. Handlers see no difference.
func LargeArgs(bytes int) EnqueuerOption {
	return func(s *enqueuerSettings) { s.largeArgs = bytes }
}

// ObjectHome is where the contents of objects are kept, instead of Redis. All enqueuers and pools of a namespace must
// have the same one.
func ObjectHome(home objects.Home) EnqueuerOption {
	return func(s *enqueuerSettings) { s.home = home }
}

// Names are the names of jobs that the Enqueuer accepts; what is given again is added. It refuses others with an
// *[InvalidError] that suggests the nearest, and stores nothing. By default it accepts any.
func Names(names ...string) EnqueuerOption {
	return func(s *enqueuerSettings) { s.names, s.named = append(s.names, names...), true }
}

// ServedNames accepts, beside those of [Names], all names that some worker has served in the last 90 days, on any
// machine. Others are refused as Names refuses them. Redis is asked: once for a name that is known there, in a round
// trip for all new names of a call, and for one that is not once in 3 seconds. So start the workers of a new job before
// the programs that enqueue it.
//
// While Redis cannot be reached such a call tries as long as [EnqueueTimeout], and fails as if to store had failed. A
// Redis that answers without telling, since its user may not read the key, refuses nothing. Of jobs whose workers are
// older than this option it knows once one worker runs that is not.
func ServedNames() EnqueuerOption {
	return func(s *enqueuerSettings) { s.servedNames = true }
}

// rule says which names are accepted; nil is any.
func (s *enqueuerSettings) rule(core *enqueuerCore) *jobnames.Rule {
	switch {
	case s.servedNames:
		return jobnames.OfEnqueuer(s.names, jobnames.NewServed(servedAnywhere{core}, core.intake.Ask))
	case s.named:
		return jobnames.OfEnqueuer(s.names, nil)
	}
	return s.own
}

// WithEnqueueMiddleware puts middleware around every enqueue, the first one outermost. What is given again comes behind
// what was given before. Package inspect has no use for it.
func WithEnqueueMiddleware(middlewares ...EnqueueMiddleware) EnqueuerOption {
	return func(s *enqueuerSettings) { s.middlewares = append(s.middlewares, middlewares...) }
}

// WithObserver has an observer told when Redis has lost jobs that it had acknowledged to this Enqueuer: an
// [event.DataLost] names them in Enqueued, and flows in Flows. A failover to a replica that was behind loses what came
// last. The Enqueuer notices it with its next call, or looks half a minute after its last one. It stores nothing again
// by itself: a worker may have begun such a job before. Who wants it stored enqueues it again, with its [ID], or the
// same flow. What package flow does with this Enqueuer is told as well: [event.FlowStored], [event.FlowEnded] and
// [event.FlowReopened]. Nothing else is. What is given again is added. The Enqueuer of a pool tells the pool's
// observers.
func WithObserver(o Observer) EnqueuerOption {
	return func(s *enqueuerSettings) { s.observers = append(s.observers, o) }
}

// WithLogger is where the Enqueuer says what it tells observers: see [WithObserver]. The default is slog.Default(). The
// Enqueuer of a pool writes to the log of the pool.
func WithLogger(log *slog.Logger) EnqueuerOption {
	return func(s *enqueuerSettings) { s.log = log }
}

// teller is who hears of a loss. The log is taken when there is something to tell: the program may set it later.
func (s *enqueuerSettings) teller() func(event.Event) {
	if s.emit != nil {
		return s.emit
	}
	observers, log := s.observers, s.log
	stream := sync.OnceValue(func() *stream { return newStream(cmp.Or(log, slog.Default()), observers) })
	return func(e event.Event) { stream().emit(e) }
}

// dataLost is the event that tells of a loss.
func dataLost(loss intake.Loss) event.DataLost {
	named := loss.IDs[:min(len(loss.IDs), event.MaxLostIDs)]
	flows := loss.Flows[:min(len(loss.Flows), event.MaxLostIDs)]
	return event.DataLost{Failover: loss.Failover, Enqueued: named, EnqueuedMore: len(loss.IDs) - len(named),
		Flows: flows, FlowsMore: len(loss.Flows) - len(flows), Err: loss.Err}
}

// defaultNamespace is that of enqueuers, pools and inspectors.
const defaultNamespace = "work"

func newEnqueuerSettings(opts []EnqueuerOption) (enqueuerSettings, error) {
	s := enqueuerSettings{namespace: defaultNamespace, timeout: defaultEnqueueTimeout}
	for i, opt := range opts {
		if opt == nil {
			return s, &InvalidError{What: fmt.Sprintf("option %d of the enqueuer", i+1), Value: "nil",
				Remedy: "leave it out"}
		}
		opt(&s)
	}
	return s, s.validate()
}

func (s *enqueuerSettings) validate() error {
	if err := validateNamespace(s.namespace); err != nil {
		return err
	}
	if s.timeout <= 0 {
		return &InvalidError{What: "EnqueueTimeout", Value: s.timeout.String(),
			Remedy: "use a duration above zero, such as 10s"}
	}
	if s.bounded && (s.maxArgs < 1 || s.maxArgs > jobargs.Most) {
		return &InvalidError{What: "MaxArgsSize", Value: fmt.Sprint(s.maxArgs),
			Remedy: "use 1 to 67108864 bytes (64 MiB)"}
	}
	var err error
	if s.chain, err = newCodecs("option Codecs", s.codecs); err != nil {
		return err
	}
	for _, name := range s.names {
		if err := validateName(name); err != nil {
			return fmt.Errorf("option Names: %w", err)
		}
	}
	for i, observer := range s.observers {
		if function, is := observer.(ObserverFunc); observer == nil || is && function == nil {
			return &InvalidError{What: fmt.Sprintf("observer %d of the enqueuer", i+1), Value: "nil",
				Remedy: "leave WithObserver out"}
		}
	}
	for i, m := range s.middlewares {
		if m == nil {
			return &InvalidError{What: fmt.Sprintf("enqueue middleware %d", i+1), Value: "nil", Remedy: "leave it out"}
		}
	}
	return nil
}

// Codecs are how the args of this Enqueuer's jobs and the messages that it sends are stored, each codec in turn:
// compress before you seal. What others have stored it opens by the same codecs, whichever of them are named on it.
// What is given again replaces what was given before. JobOptions.Codecs of a [Kind] beat them. Give the codecs to the
// workers first.
func Codecs(codecs ...Codec) EnqueuerOption {
	return func(s *enqueuerSettings) { s.codecs = codecs }
}
