// Package flowdb is the part of Redis that flows use: one method per script of lua/flow, and reads. How members end is
// in package rdb, with the outcomes of other jobs.
package flowdb

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/span"
)

var (
	storeScript = redisconn.Load("flow/store")
	sealScript  = redisconn.Load("flow/seal")
)

// Flows are the flows of one namespace in one Redis. Its methods may be called concurrently; none is ever resent by
// itself.
type Flows struct{ store *rdb.Store }

// Of are the flows of a namespace.
func Of(store *rdb.Store) Flows { return Flows{store} }

func (f Flows) keys(id string) []string { return f.store.FlowKeys(id) }

func (f Flows) all() string     { return f.store.Key("flows") }
func (f Flows) filling() string { return f.store.Key("flows:filling") }
func (f Flows) busy() string    { return f.store.Key("flows:busy") }
func (f Flows) over() string    { return f.store.Key("flows:over") }

// Hint is the message on the control channel that says that something is left to be done about a flow.
const Hint = "flows"

// Keeping is how a flow is kept.
type Keeping struct {
	ID     string
	Digest string        // of what it is to be, so that another one of its id is told apart
	Token  string        // of whoever stores it
	Keep   time.Duration // after its end
	Listed bool          // the names of its members stay known when they have ended
}

// Member is one job of a flow.
type Member struct {
	Name  string // in the flow
	Free  bool   // it waits for no other
	Queue string // "" of a flow, which has no record either
	Away  bool   // it is at home in another partition than its flow
	At    int    // which, if so
	// Lodged makes it as it is kept there; nil of what cannot be at home elsewhere
	Lodged func() (Member, error)
	Record []byte
	Terms  Terms
	// SHA-256 in hex of the objects to which its args refer
	Objects []string
}

// Edge is one member that waits for another.
type Edge struct {
	From, To string
	Rule     Rule
}

// Rule says what becomes of a member when one that it waits for has not ended well.
type Rule string

// The rules of edges.
const (
	RuleCancel Rule = "cancel" // it is cancelled
	RuleEven   Rule = "even"   // it runs all the same
	RuleHold   Rule = "hold"   // it waits until that one is retried, if it is dead; else it is cancelled
)

// Answer is what came of storing or sealing a flow.
type Answer string

// The answers.
const (
	Filling Answer = "filling" // it is stored, and not sealed yet
	Sealed  Answer = "sealed"  // Detail is the token of who has done that
	Other   Answer = "other"   // another flow of that id is being stored
	Living  Answer = "living"  // Detail is the id of a job that is in the way
	Gone    Answer = "gone"    // there is none
	Count   Answer = "count"   // Detail is how many members it has
	Over    Answer = "over"    // it has ended, or is being cancelled
	Added   Answer = "running" // it is there
	Locked  Answer = "locked"  // Detail is the index of a member whose lock is held, a blank, and the job that has it
	Unknown Answer = "unknown" // Detail is the name of a member that it does not have
)

// MaxPart is how many members and edges one call stores.
const MaxPart = rdb.MaxBatch

// Store stores a part of a flow that is not sealed: members and edges, at most [MaxPart] together. It may be repeated.
// Where a newer map of the partitions is known, and the flow is not there, it is a *[rdb.RouteError].
func (f Flows) Store(ctx context.Context, of Keeping, members []Member, edges []Edge) (Answer, string, error) {
	args := make([]any, 0, 8+3*(len(members)+len(edges)))
	args = append(args, of.ID, of.Digest, of.Token, span.Millis(of.Keep), of.Listed, 0, f.store.At(), 0)
	var names, todo []any
	marked := ""
	for i := range members {
		m := &members[i]
		queue, rest := m.texts()
		if !of.Listed && m.Free && !m.Away { // of a batch, as a script puts it into its queue
			names, todo = append(names, m.Name), append(todo, "s"+of.ID+"/"+m.Name+"\n"+queue+"\n"+rest)
			if m.Terms.Special() {
				marked = "*"
			}
			continue
		}
		args = append(args, m.Name, m.Free, queue+"\n"+rest)
	}
	args[5], args[7] = len(members)-len(names), strconv.Itoa(len(names))+marked
	args = append(append(args, names...), todo...)
	for i := range edges {
		args = append(args, edges[i].From, edges[i].To, string(edges[i].Rule))
	}
	keys := f.withOuter(append(f.keys(of.ID), f.all(), f.filling(), f.store.Key("lanes")), of.ID)
	return f.call(ctx, redisconn.Call{Script: storeScript,
		Keys: append(keys, f.store.Key("unique"), f.store.Key("foreign")), Args: args})
}

// Seal seals a flow that has so many members, so that it runs. Of the queues that are named, jobs that may run are
// there at once. One that is in another flow is held until its turn has come. It may be repeated.
func (f Flows) Seal(ctx context.Context, of Keeping, count int, queues []string) (Answer, string, error) {
	return f.call(ctx, f.seal(of, count, queues))
}

// SealNoted is Seal, which is noted in a lane.
func (f Flows) SealNoted(ctx context.Context, of Keeping, count int, queues []string, in rdb.LaneCall) (Answer, string,
	rdb.Noted, error) {
	return f.callNoted(ctx, f.seal(of, count, queues), in)
}

func (f Flows) seal(of Keeping, count int, queues []string) redisconn.Call {
	keys, args := f.store.WithQueues(append(f.keys(of.ID), f.filling()),
		[]any{of.ID, of.Digest, of.Token, count, IsInner(of.ID)}, queues)
	return redisconn.Call{Script: sealScript, Keys: keys, Args: args}
}

func (f Flows) call(ctx context.Context, call redisconn.Call) (Answer, string, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), call)
	if err != nil {
		return "", "", rdb.Routed(err)
	}
	return f.answer(call, value)
}

// callNoted is call, which is noted in a lane.
func (f Flows) callNoted(ctx context.Context, call redisconn.Call, in rdb.LaneCall) (answer Answer, detail string,
	noted rdb.Noted, err error) {
	value, noted, err := f.store.CallNoted(ctx, call, in)
	if err != nil {
		return "", "", noted, err
	}
	answer, detail, err = f.answer(call, value)
	return answer, detail, noted, err
}

// answer reads what a call was answered.
func (f Flows) answer(call redisconn.Call, value any) (Answer, string, error) {
	word, err := f.store.FlowEnded(call.Script.Name, rdb.Word(value))
	if err != nil {
		return "", "", err
	}
	answer, detail, _ := strings.Cut(word, " ")
	switch a := Answer(answer); a {
	case Filling, Sealed, Other, Living, Gone, Count, Over, Added, Unknown, Locked:
		return a, detail, nil
	}
	return "", "", &redisconn.UnexpectedReplyError{Script: call.Script.Name, Reply: value}
}
