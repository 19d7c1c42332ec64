package redisconn

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// Driver is a Redis as this package sees it: pipelines on pooled connections, and connections of one's own.
// All methods may be called concurrently. The package drivertest has what each of them must do.
type Driver interface {
	// Pipeline sends the calls in one write on a pooled connection and returns one reply per call, in their order.
	// An error means that some replies were not read: whether Redis executed those calls is not known, except when
	// the error is a [*DialError], in which case nothing was sent. Pipeline never sends a call twice, except what
	// Redis says it did not run: a script that it answered NOSCRIPT for, and calls that were all answered MOVED or ASK.
	//
	// All keys of the calls are in one slot, where there are slots; a driver may refuse others.
	Pipeline(ctx context.Context, calls ...Call) ([]Reply, error)

	// Dial opens a connection outside the pool and outside its limit: for calls that block, and for the heartbeat,
	// which must not queue behind work. It is the caller's to close.
	Dial(ctx context.Context) (Conn, error)

	// Subscribe listens to what scripts and [Publish] tell on the channel, with a connection of its own, until ctx ends
	// (then it returns nil) or the connection is lost, or the channel's slot is another server's (then it returns the
	// error). It calls ready once the subscription stands, and receive for each message, both in the calling goroutine.
	Subscribe(ctx context.Context, channel string, ready func(), receive func(message []byte)) error

	// SubscribeAll is the same for several channels of other programs, which use PUBLISH: ready is called once all
	// subscriptions stand, and receive is told the channel of each message.
	SubscribeAll(ctx context.Context, channels []string, ready func(),
		receive func(channel string, message []byte)) error

	// SubscribePatterns is SubscribeAll for all channels that match one of the patterns, in Redis' glob style. A
	// message comes once for each pattern that its channel matches.
	SubscribePatterns(ctx context.Context, patterns []string, ready func(),
		receive func(channel string, message []byte)) error

	// Close frees the pooled connections, where they are ours. A given pool is left to its owner.
	Close() error
}

// Conn is a connection of one's own. One goroutine uses it at a time; Close may be called from any, and ends a call
// under way with an error.
type Conn interface {
	Pipeline(ctx context.Context, calls ...Call) ([]Reply, error)

	// Broken tells whether every further call fails. A ctx that ends breaks the connection, and may do so when the
	// replies have just been read: then Pipeline returns them, and no error.
	Broken() bool

	Close() error
}

// Call is one command or one script with its arguments.
type Call struct {
	Script  *Script // nil for a plain command
	Command string  // "BLPOP"; empty for a script
	Keys    []string
	// string, []byte, int, int64 or bool; or a pointer to one of the first two, which needs no allocation
	Args   []any
	InFull bool          // a script is sent by its text: what stands behind it must not come before it
	Last   bool          // it must not come before what stands ahead of it: it is made again with what was not run
	Block  time.Duration // how long Redis may hold the answer back (BLPOP), on top of the read timeout
}

// Reply is what Redis answered to one call.
type Reply struct {
	Value any   // nil, int64, []byte, string (a status) or []any of these
	Err   error // *ServerError: Redis refused the call, or the script failed
}

// Values are those of replies. It gives up at the first refusal, though the calls beside it were made: it is for reads.
func Values(replies []Reply) ([]any, error) {
	values := make([]any, len(replies))
	for i, reply := range replies {
		if reply.Err != nil {
			return nil, reply.Err
		}
		values[i] = reply.Value
	}
	return values, nil
}

// ServerError is an error that Redis sent as an answer: the call is known to have failed.
type ServerError struct {
	Code    string // first word: "OOM", "WRONGTYPE", "LOADING", ...
	Message string // the whole line
}

func (e *ServerError) Error() string { return excerpt.Text(e.Message, excerpt.Whole) }

// DialError says that no connection could be had, so nothing was sent.
type DialError struct {
	Addr string // without user and password
	Err  error
}

func (e *DialError) Error() string {
	return excerpt.Text("cannot connect to Redis at "+excerpt.Text(e.Addr, excerpt.Name)+": "+e.Err.Error(),
		excerpt.Whole)
}
func (e *DialError) Unwrap() error { return e.Err }

// LostError says that a connection was lost before the answer had come: what was sent may have been executed. It is
// also that of a ctx which ended meanwhile, and of a server that took too long.
type LostError struct {
	Addr  string // without user and password
	Doing string // "waiting for the reply to GET"
	Err   error
}

func (e *LostError) Error() string {
	return excerpt.Text("connection to Redis at "+e.Addr+" lost while "+e.Doing+": "+e.Err.Error(), excerpt.Whole)
}
func (e *LostError) Unwrap() error { return e.Err }

// pipeliner is what a Driver and a Conn have in common.
type pipeliner interface {
	Pipeline(ctx context.Context, calls ...Call) ([]Reply, error)
}

// Do makes one call and returns its answer; a refusal by Redis is an error as well.
func Do(ctx context.Context, on pipeliner, call Call) (any, error) {
	replies, err := on.Pipeline(ctx, call)
	if err != nil {
		return nil, err
	}
	return replies[0].Value, replies[0].Err
}
