package rdb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
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

// Guarded returns the store of the same namespace for a program that has a role there. It asks before its first
// pipeline whether Redis can be used: it must be new enough, no newer program may have changed the layout (an
// *[OutdatedError]), and the user needs the rights of the role (a *rights.RefusedError). Else it sends nothing. It asks
// again as [rights.Guard] says, so the first pipeline later than a change may still be sent. tell, which may be nil, is
// told of commands that the user lacks and a program can do without. A guarded store is its own.
func (s *Store) Guarded(role rights.Role, tell func(lacks []string)) *Store {
	if _, guarded := s.driver.(*rights.Guard); guarded {
		return s
	}
	layout := rights.Question{Call: redisconn.Call{Command: "GET", Args: []any{s.keys.layout}},
		Answered: func(reply redisconn.Reply) error {
			stored, _ := reply.Value.([]byte)
			return s.keys.outdated(string(stored))
		}}
	version := rights.Question{Call: redisconn.Call{Command: "INFO", Args: []any{"server"}}, Answered: tooOld}
	program := rights.Program{Namespace: s.keys.namespace(), Role: role, Tell: tell}
	return &Store{driver: rights.NewGuard(s.driver, program, layout, version), keys: s.keys, at: s.at, tell: s.tell,
		other: s.other}
}

// tooOld refuses a server that says it is older than [MinVersion].
func tooOld(reply redisconn.Reply) error {
	version := redisconn.ParseInfo(reply.Value)["redis_version"]
	if !(ServerFacts{Version: version}).TooOld() {
		return nil
	}
	return &rights.UnusableError{Problem: "the version of Redis is " + excerpt.Brief(version),
		Remedy: "use " + MinVersion + " or newer"}
}
