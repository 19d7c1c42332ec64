package rdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

// The layout of a namespace is which keys there are and what they hold. Each change that a program of the version
// before does not get along with makes Layout one more; OldestLayout is that of the oldest programs that may still work
// beside this one.
const (
	Layout       = 8
	OldestLayout = 3
	// Flows is that of the oldest programs that know of flows: what a namespace needs once there was one. A worker that
	// knows none would end a member and not count it.
	Flows = 4
	// SharedQueues is that of the oldest programs that know of queues with jobs of several names: what a namespace
	// needs once there was one. A program that knows none would look for such a job in a queue of its name.
	SharedQueues = 5
	// InnerFlows is that of the oldest programs that know of flows in flows: what a namespace needs once there was one.
	// A worker that knows none would end such a flow and tell nobody.
	InnerFlows = 6
	// SpecialMembers is that of the oldest programs that know of members with locks, times or keys of their own: what a
	// namespace needs once there was one. A worker that knows none would look for them in queues that there are not.
	SpecialMembers = 7
	// AwayMembers is that of the oldest programs that know of members which are at home in another partition than their
	// flow: what both partitions need once there was one. A worker that knows none would tell nobody of their ends.
	AwayMembers = 8
)

// ErrOutdated is what [OutdatedError] is for errors.Is.
var ErrOutdated = errors.New("this program is too old for the namespace")

// OutdatedError says that a namespace was changed by a newer program in a way that this one does not know.
type OutdatedError struct {
	Namespace      string
	Layout, Oldest int // as stored: what the namespace has, and what a program must know at least
}

func (e *OutdatedError) Error() string { return excerpt.Cut(e.text()) }

func (e *OutdatedError) text() string {
	return fmt.Sprintf("%s %s: its layout is %d and needs programs that know %d, this one knows %d: build it with a "+
		"newer version of github.com/265d0351/work, or give it another namespace", ErrOutdated,
		excerpt.Brief(e.Namespace), e.Layout, e.Oldest, Layout)
}

// Is makes it ErrOutdated.
func (e *OutdatedError) Is(target error) bool { return target == ErrOutdated }

// Unwrap returns a refusal: nothing was executed, and asking again would not help.
func (e *OutdatedError) Unwrap() error {
	return &redisconn.ServerError{Code: "OUTDATED", Message: ErrOutdated.Error()}
}

// outdated is an *OutdatedError where a program of this layout may not use what is stored. What it cannot read counts
// as not there: it is written again when a worker registers.
func (k *keys) outdated(stored string) error {
	layout, oldest, _ := strings.Cut(stored, " ")
	has, err := strconv.Atoi(layout)
	needs, bad := strconv.Atoi(oldest)
	if err != nil || bad != nil || needs <= Layout {
		return nil
	}
	return &OutdatedError{Namespace: k.namespace(), Layout: has, Oldest: needs}
}

// guardInterval is how often a guarded store looks at the layout while it is used.
const guardInterval = time.Minute

// Guarded returns the store of the same namespace that refuses each pipeline with an *OutdatedError, and sends nothing
// of it, where a newer program has changed the layout. It asks before its first pipeline, and then once a minute along
// with one, so that the first later than a change may still be sent. Where Redis refuses to tell it goes on. A guarded
// store is its own.
func (s *Store) Guarded() *Store {
	if _, guarded := s.driver.(*guard); guarded {
		return s
	}
	return &Store{driver: &guard{Driver: s.driver, keys: s.keys}, keys: s.keys, at: s.at, tell: s.tell, other: s.other}
}

// guard is a driver that knows whether it may be used.
type guard struct {
	redisconn.Driver
	keys *keys

	next    atomic.Int64          // when to ask again; 0 before the first answer
	refused atomic.Pointer[error] // what every pipeline is answered; nil while there is nothing wrong
}

// Pipeline is that of the driver.
func (g *guard) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	next, now := g.next.Load(), time.Now().UnixNano()
	switch {
	case next == 0 || now > next && g.refused.Load() != nil:
		replies, err := g.Driver.Pipeline(ctx, g.question())
		if err != nil {
			return nil, err
		}
		g.note(replies[0])
	case now > next && g.next.CompareAndSwap(next, now+int64(guardInterval)):
		replies, err := g.Driver.Pipeline(ctx, append([]redisconn.Call{g.question()}, calls...)...)
		if err != nil {
			return nil, err
		}
		g.note(replies[0])
		return replies[1:], nil
	}
	if refused := g.refused.Load(); refused != nil {
		return nil, *refused
	}
	return g.Driver.Pipeline(ctx, calls...)
}

func (g *guard) question() redisconn.Call {
	return redisconn.Call{Command: "GET", Args: []any{g.keys.layout}}
}

// note notes what Redis has answered.
func (g *guard) note(reply redisconn.Reply) {
	g.next.Store(time.Now().Add(guardInterval).UnixNano())
	stored, _ := reply.Value.([]byte)
	if err := g.keys.outdated(string(stored)); err != nil {
		g.refused.Store(&err)
		return
	}
	g.refused.Store(nil)
}
