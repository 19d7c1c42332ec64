// Package flowlook reads flows for whoever looks at them: pages of them, how far each is, its members, and what waits
// for what. It changes nothing, and no call of it reads more than a page. What runs flows is in package flowdb.
package flowlook

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// MaxPage is how much one call reads.
const MaxPage = rdb.MaxBatch

// Flows are the flows of one namespace in one Redis. Its methods may be called concurrently.
type Flows struct{ store *rdb.Store }

// Of are the flows of a namespace.
func Of(store *rdb.Store) Flows { return Flows{store} }

// List is one of the lists in which flows are.
type List string

// The lists.
const (
	All     List = "flows"         // by when they were stored first
	Filling List = "flows:filling" // not sealed, by when a part of them was stored last
	Busy    List = "flows:busy"    // about which something is left to be done, by since when
)

// Listed is a flow as a list has it.
type Listed struct {
	ID    string
	Score string // as Redis writes it
	At    int64  // ms
}

// Page reads up to n flows of a list behind the cursor, and moves the cursor behind them. It is empty at the end.
func (f Flows) Page(ctx context.Context, list List, cursor *rdb.ShelfCursor, n int) ([]Listed, error) {
	entries, err := f.store.PageOf(ctx, string(list), cursor, n)
	flows := make([]Listed, len(entries))
	for i := range entries {
		flows[i] = Listed{ID: entries[i].ID, Score: entries[i].Score, At: entries[i].At}
	}
	return flows, err
}

// Flow is how far a flow is.
type Flow struct {
	ID    string
	AsOf  time.Time // the moment, by Redis' clock
	State string    // filling, held, running, reopening, done, dead or cancelled; "" where there is none
	Batch bool      // its members are numbered, but for those that were added

	Total, Left, Dead, Cancelled, Otherwise int

	Named int // members of which the name is kept: all of a graph, of a batch those that were added

	Created, Sealed, Ended time.Time
	Keep                   time.Duration // after its end
	Cancelling, Paused     bool
	Generation             int
	Todo                   int  // steps that are left to be done
	Busy                   bool // somebody is to go on with it
	OnDone, OnDeath        bool // a job runs at its end
	Inner                  bool // some of its members are flows
	Lodged                 bool // it is none, but a member of one in another partition: see flowdb
	Away                   bool // some of its members are at home in other partitions
	stored                 int  // members that it was stored with; 0 where that is not known
}

// Done is how many members have ended well.
func (f *Flow) Done() int { return max(0, f.Total-f.Left-f.Dead-f.Cancelled-f.Otherwise) }

// Numbered is how many members are called by numbers.
func (f *Flow) Numbered() int {
	if !f.Batch {
		return 0
	}
	if f.stored > 0 {
		return f.stored
	}
	return max(0, f.Total-f.Named)
}

// Outer is the id of the flow that it is in; "" is none.
func (f *Flow) Outer() string { return f.ID[:max(0, strings.LastIndexByte(f.ID, '/'))] }

// The names of what runs at the end, beside the members.
const (
	AtDone  = "@done"
	AtDeath = "@dead"
)

// EndOf takes apart the id of a job that runs at the end of a flow.
func EndOf(id string) (of, end string, is bool) {
	at := strings.LastIndex(id, "/")
	if at <= 0 {
		return "", "", false
	}
	end, _, _ = strings.Cut(id[at+1:], "#")
	return id[:at], end, end == AtDone || end == AtDeath
}

// readFields are what is read of the hash of a flow.
var readFields = []any{"state", "total", "created", "sealed", "ended", "keep", "cancel", "paused", "generation",
	"digest", "inner", "home", "away", "stored"}

func (f Flows) key(part, id string) string {
	if part == "" {
		return f.store.FullName("flow:" + id)
	}
	return f.store.FullName("flow." + part + ":" + id)
}

// Read reads how far flows are, at most [MaxPage], with one pipeline. They are in the order of the ids.
func (f Flows) Read(ctx context.Context, ids ...string) ([]Flow, error) {
	var calls []redisconn.Call
	add := func(command string, args ...any) { calls = append(calls, redisconn.Call{Command: command, Args: args}) }
	add("TIME")
	const each = 10
	for _, id := range ids {
		ends := f.key("ends", id)
		add("HMGET", append([]any{f.key("", id)}, readFields...)...)
		add("SCARD", f.key("left", id))
		add("ZCOUNT", ends, 1, 1)
		add("ZCOUNT", ends, 2, 2)
		add("ZCOUNT", ends, 3, 9)
		add("LLEN", f.key("todo", id))
		add("HLEN", f.key("members", id))
		add("ZSCORE", f.store.FullName(string(Busy)), id)
		add("HEXISTS", f.key("records", id), AtDone)
		add("HEXISTS", f.key("records", id), AtDeath)
	}
	values, err := f.values(ctx, calls)
	if err != nil {
		return nil, err
	}
	clock := redisconn.Read("TIME", values[0])
	now := clock.Clock().UTC()
	if clock.Err() != nil {
		return nil, clock.Err()
	}
	flows := make([]Flow, len(ids))
	for i, id := range ids {
		flows[i] = readFlow(id, values[1+i*each:1+(i+1)*each])
		flows[i].AsOf = now
	}
	return flows, nil
}

// values sends calls and returns what each has answered.
func (f Flows) values(ctx context.Context, calls []redisconn.Call) ([]any, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	replies, err := f.store.Driver().Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	return redisconn.Values(replies)
}

func readFlow(id string, of []any) Flow {
	texts, _ := of[0].([]any)
	text := func(n int) string {
		if n >= len(texts) {
			return ""
		}
		return rdb.Word(texts[n])
	}
	number := func(n int) int64 {
		v, _ := strconv.ParseInt(text(n), 10, 64)
		return v
	}
	f := Flow{ID: id, State: text(0), Total: int(number(1)), Created: timeOf(number(2)), Sealed: timeOf(number(3)),
		Ended: timeOf(number(4)), Keep: time.Duration(number(5)) * time.Millisecond,
		Cancelling: text(6) != "", Paused: text(7) != "", Generation: int(number(8)),
		Batch: strings.HasPrefix(text(9), "batch ")}
	for n, into := range []*int{&f.Left, &f.Dead, &f.Cancelled, &f.Otherwise, &f.Todo, &f.Named} {
		*into = count(of[1+n])
	}
	f.Busy, f.OnDone, f.OnDeath = of[7] != nil, count(of[8]) > 0, count(of[9]) > 0
	f.Inner, f.Lodged, f.Away, f.stored = text(10) != "", text(11) != "", text(12) != "", int(number(13))
	switch f.State {
	case "filling":
		f.Total = f.Left
	case "removing":
		return Flow{ID: id}
	case "cancelled": // before it had begun: it is in another flow
		f.Cancelled, f.Left = f.Cancelled+f.Left, 0
	}
	return f
}

// Last are the queues of what runs at the end of a flow, done or dead; "" where nothing does.
func (f Flows) Last(ctx context.Context, id string) (done, dead string, err error) {
	values, err := f.values(ctx, []redisconn.Call{
		{Command: "HMGET", Args: []any{f.key("records", id), AtDone, AtDeath}}})
	if err != nil {
		return "", "", err
	}
	records, _ := values[0].([]any)
	if len(records) != 2 {
		return "", "", nil
	}
	return queueOf(records[0]), queueOf(records[1]), nil
}

// queueOf is the queue that stands before a record.
func queueOf(kept any) string {
	queue, _, _ := strings.Cut(rdb.Word(kept), "\n")
	return queue
}

func count(value any) int {
	n, _ := value.(int64)
	return int(n)
}

func timeOf(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
