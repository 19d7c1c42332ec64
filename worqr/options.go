package worqr

import (
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// Connection is a client for Redis that the program made itself, as work.Redigo returns it.
type Connection interface {
	Driver() (redisconn.Driver, error)
}

// Options are those of [Dial]. The zero value is ready; every field says what zero means.
type Options struct {
	// Connection is used instead of a DSN, which must then be empty. It is not closed by [Client.Close].
	Connection Connection
	// Prefix is what all keys and channels begin with; "" is "worqr". Clients of one prefix belong together.
	Prefix string
	// WorkerID is the id that [Client.Start] registers; "" is a random one. No two clients may use one at the same
	// time. It has no colon.
	WorkerID string
	// Permanent makes a worker without a timer: nobody but [Client.FailWorker] and its own Close ends it, so the tasks
	// of one that crashed stay where they are until then.
	Permanent bool

	HeartbeatEvery time.Duration // between two renewals of the timer; 0 is 1 s
	// how long the timer stands; 0 is three times HeartbeatEvery, and it is at least twice that
	HeartbeatLife time.Duration
	CleanupEvery  time.Duration // between two looks for dead workers; 0 is 10 s
	CallTimeout   time.Duration // how long a call tries to reach Redis when its ctx lasts longer; 0 is 10 s
	RetryAfter    time.Duration // how long [Client.Serve] waits after a handler or Redis has failed; 0 is 1 s
	// LookEvery is how long [Client.Serve] waits for a message before it looks at an empty queue again; 0 is 5 s. Tasks
	// that this package stores or puts back are told at once. Those that the released program puts back are not, so
	// that is how long one may wait beside an idle worker.
	LookEvery time.Duration
	// CancelledFor is how long a cancelled task that is being worked on is known to be cancelled, so that it ends where
	// it would be put back; 0 is 24 h. It should be longer than tasks take.
	CancelledFor time.Duration

	// Debug has the client tell of what its worker works on, by events [Debug], every DebugEvery; 0 is 1 s.
	Debug      bool
	DebugEvery time.Duration

	Concurrency int // how many tasks [Client.Serve] runs at a time; 0 is 1
	EventBuffer int // how many events wait for a slow reader of [Client.Events], then the oldest go; 0 is 1024
}

func (o Options) withDefaults() Options {
	orElse(&o.Prefix, "worqr")
	orElse(&o.HeartbeatEvery, time.Second)
	orElse(&o.HeartbeatLife, 3*o.HeartbeatEvery)
	orElse(&o.CleanupEvery, 10*time.Second)
	orElse(&o.CallTimeout, 10*time.Second)
	orElse(&o.RetryAfter, time.Second)
	orElse(&o.LookEvery, 5*time.Second)
	orElse(&o.CancelledFor, 24*time.Hour)
	orElse(&o.DebugEvery, time.Second)
	orElse(&o.Concurrency, 1)
	orElse(&o.EventBuffer, 1024)
	return o
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o Options) validate() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"HeartbeatEvery", o.HeartbeatEvery}, {"HeartbeatLife", o.HeartbeatLife}, {"CleanupEvery", o.CleanupEvery},
		{"CallTimeout", o.CallTimeout}, {"RetryAfter", o.RetryAfter}, {"CancelledFor", o.CancelledFor},
		{"LookEvery", o.LookEvery}, {"DebugEvery", o.DebugEvery},
	} {
		if d.value < time.Millisecond {
			return &InvalidError{What: d.name, Value: d.value.String(),
				Remedy: "use at least 1ms, or 0 for the default"}
		}
	}
	switch {
	case o.HeartbeatLife < 2*o.HeartbeatEvery:
		return &InvalidError{What: "HeartbeatLife", Value: o.HeartbeatLife.String(),
			Remedy: fmt.Sprintf("use at least %s, twice HeartbeatEvery", 2*o.HeartbeatEvery)}
	case o.Concurrency < 1:
		return &InvalidError{What: "Concurrency", Value: fmt.Sprint(o.Concurrency), Remedy: "use 1 or more"}
	case o.EventBuffer < 1:
		return &InvalidError{What: "EventBuffer", Value: fmt.Sprint(o.EventBuffer), Remedy: "use 1 or more"}
	case strings.Contains(o.WorkerID, ":") || len(o.WorkerID) > maxNameBytes:
		return &InvalidError{What: "WorkerID", Value: fmt.Sprintf("%.100q", o.WorkerID),
			Remedy: "use up to 512 bytes without a colon"}
	}
	return nil
}
