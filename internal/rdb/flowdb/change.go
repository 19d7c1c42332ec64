package flowdb

import (
	"context"
	"strings"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	cancelScript = redisconn.Load("flow/cancel")
	reopenScript = redisconn.Load("flow/reopen")
	addScript    = redisconn.Load("flow/add")
	pauseScript  = redisconn.Load("flow/pause")
)

// The states of a flow that has not ended.
const (
	IsFilling   = "filling"
	IsRunning   = "running"
	IsReopening = "reopening" // it had ended, and is to run again: see Reopen
	IsHeld      = "held"      // it is in another flow, and its turn has not come
	IsGone      = "gone"      // there is none
)

// Reopening is a step of opening a flow again.
type Reopening string

// The steps, in order.
const (
	// ReopenCheck looks whether members that are named find their locks free, and does nothing: see [Flows.SpecialOf]
	ReopenCheck Reopening = "check"
	ReopenBegin Reopening = "begin"
	ReopenBack  Reopening = "back" // takes back the ends of members that are named
	ReopenEven  Reopening = "even" // has members wait again by edges that are named: see EvenEdges
	ReopenFree  Reopening = "free" // of members that are named, those that wait for nobody may run
	ReopenSeal  Reopening = "seal" // it runs; named are what runs at the end and the record of each
	ReopenHold  Reopening = "hold" // as ReopenSeal, of one that is in another flow: it runs when its turn has come
)

// Cancel cancels a flow, and of its members those that are named and wait, at most [rdb.MaxBatch]. all says that these
// were the last ones. It returns the state of the flow, and may be repeated.
func (f Flows) Cancel(ctx context.Context, id string, members []string, all bool) (state string, err error) {
	return f.state(ctx, redisconn.Call{Script: cancelScript, Keys: append(f.keys(id), f.store.Key("unique")),
		Args: withTexts([]any{id, all}, members)})
}

// Reopen does a step, and returns the state of the flow; or what [Locked] stands for, with its detail, where a member
// meets a lock. It may be repeated. The step that begins is a *[rdb.RouteError] where a newer map of the partitions is
// known.
func (f Flows) Reopen(ctx context.Context, id string, step Reopening, named []string) (state string, err error) {
	keys := f.keys(id)
	for _, name := range reopenKeys {
		keys = append(keys, f.store.Key(name))
	}
	return f.state(ctx, redisconn.Call{Script: reopenScript, Keys: keys,
		Args: withTexts([]any{id, string(step), f.store.At()}, named)})
}

// reopenKeys are those of flow/reopen behind the flow's, as lines_at of lua/prelude.lua has the last ten.
var reopenKeys = []string{"morgue", "names", "trail", "crashes", "lanes", "unique", "foreign", "turns", "passes",
	"turning", "keyed", "parked", "holding", "keyrules", "pacing", "waking", "ready"}

// Pause has a flow put no more members into their queues, or go on. It returns the state of the flow.
func (f Flows) Pause(ctx context.Context, id string, pause bool) (state string, err error) {
	return f.state(ctx, redisconn.Call{Script: pauseScript, Keys: f.keys(id), Args: []any{pause}})
}

func (f Flows) state(ctx context.Context, call redisconn.Call) (string, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), call)
	if err != nil {
		return "", rdb.Routed(err)
	}
	state, err := f.store.FlowEnded(call.Script.Name, rdb.Word(value))
	if state == "" && err == nil {
		err = &redisconn.UnexpectedReplyError{Script: call.Script.Name, Reply: value}
	}
	return state, err
}

// Left reads a part of the names of the members that have not ended, beginning at that cursor ("0" the first time),
// and returns where the next call begins ("0" after the last part).
func (f Flows) Left(ctx context.Context, id, cursor string) (next string, members []string, err error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "SSCAN",
		Args: []any{f.keys(id)[3], cursor, "COUNT", rdb.MaxBatch / 2}})
	if err != nil {
		return "", nil, err
	}
	r := redisconn.Read("SSCAN", value)
	return r.Text(), r.Texts(), r.Err()
}

// Ends are members that have ended otherwise than done, from the n-th on, at most [rdb.MaxBatch].
func (f Flows) Ends(ctx context.Context, id string, n int) ([]string, error) {
	return f.ids(ctx, "ZRANGE", f.keys(id)[4], n, n+rdb.MaxBatch-1)
}

// EvenEdges reads a part of the edges of a flow, those behind the one that is named ("" is the beginning), and returns
// those by the rule [RuleEven] among them, and the last one that was read: "" where there are no more.
func (f Flows) EvenEdges(ctx context.Context, id, behind string) (even []string, last string, err error) {
	from := "-"
	if behind != "" {
		from = "(" + behind
	}
	edges, err := f.ids(ctx, "ZRANGEBYLEX", f.keys(id)[5], from, "+", "LIMIT", 0, rdb.MaxBatch)
	if err != nil || len(edges) == 0 {
		return nil, "", err
	}
	for _, edge := range edges {
		if strings.HasSuffix(edge, "\n"+string(RuleEven)) {
			even = append(even, edge)
		}
	}
	return even, edges[len(edges)-1], nil
}

// Records are the queue and the record of members that stand with the flow alone; "" where one does not.
func (f Flows) Records(ctx context.Context, id string, members ...string) ([]string, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "HMGET",
		Args: withTexts([]any{f.keys(id)[1]}, members)})
	if err != nil {
		return nil, err
	}
	records := make([]string, len(members))
	fields, _ := value.([]any)
	for i := range min(len(fields), len(records)) {
		records[i] = rdb.Word(fields[i])
	}
	return records, nil
}

// Addition is a member that another one adds to a flow.
type Addition struct {
	Flow   string
	By     string // the member that adds it, which has not ended
	Member Member
	After  []string // the members that it waits for
}

// Add adds a member. A member of that name that is there already stays as it is: it may be repeated.
func (f Flows) Add(ctx context.Context, add Addition) (Answer, string, error) {
	return f.call(ctx, f.add(add))
}

// AddNoted is Add, which is noted in a lane.
func (f Flows) AddNoted(ctx context.Context, add Addition, in rdb.LaneCall) (Answer, string, rdb.Noted, error) {
	return f.callNoted(ctx, f.add(add), in)
}

func (f Flows) add(add Addition) redisconn.Call {
	m := &add.Member
	queue, rest := m.texts()
	keys := append(f.keys(add.Flow), f.store.Key("unique"), f.store.Key("foreign"))
	if m.Away {
		return redisconn.Call{Script: addScript, Keys: keys,
			Args: withTexts([]any{add.Flow, add.By, m.Name, queue, rest}, add.After)}
	}
	return redisconn.Call{Script: addScript, Keys: f.store.QueueKeys(keys, m.Queue),
		Args: withTexts([]any{add.Flow, add.By, m.Name, queue, rest}, add.After)}
}
