package work

import (
	"fmt"
	"time"
)

// The defaults and limits of an Enqueuer.
const (
	defaultEnqueueTimeout = 10 * time.Second
	defaultMaxArgsSize    = 1 << 20
	maxMaxArgsSize        = 64 << 20
)

// EnqueuerOption is an option of [NewEnqueuer].
type EnqueuerOption func(*enqueuerSettings)

type enqueuerSettings struct {
	namespace  string
	connection Connection
	timeout    time.Duration
	maxArgs    int
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

// EnqueueTimeout is how long a call tries to reach Redis when its ctx does not end earlier; EnqueueMany does so for each
// of the parts in which it sends its entries. The default is 10 s.
func EnqueueTimeout(d time.Duration) EnqueuerOption {
	return func(s *enqueuerSettings) { s.timeout = d }
}

// MaxArgsSize is how many bytes the JSON of a job's arguments may have, at most 64 MiB. The default is 1 MiB.
func MaxArgsSize(bytes int) EnqueuerOption {
	return func(s *enqueuerSettings) { s.maxArgs = bytes }
}

func newEnqueuerSettings(opts []EnqueuerOption) (enqueuerSettings, error) {
	s := enqueuerSettings{namespace: defaultNamespace, timeout: defaultEnqueueTimeout, maxArgs: defaultMaxArgsSize}
	for i, opt := range opts {
		if opt == nil {
			return s, &InvalidError{What: fmt.Sprintf("option %d of the enqueuer", i+1), Value: "nil", Remedy: "leave it out"}
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
		return &InvalidError{What: "EnqueueTimeout", Value: s.timeout.String(), Remedy: "use a duration above zero, such as 10s"}
	}
	if s.maxArgs < 1 || s.maxArgs > maxMaxArgsSize {
		return &InvalidError{What: "MaxArgsSize", Value: fmt.Sprint(s.maxArgs), Remedy: "use 1 to 67108864 bytes (64 MiB)"}
	}
	return nil
}
