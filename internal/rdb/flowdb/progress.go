package flowdb

import (
	"context"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Exists tells whether there is a flow of that id, in whatever state.
func (f Flows) Exists(ctx context.Context, id string) (bool, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "EXISTS", Args: []any{f.keys(id)[0]}})
	n, _ := value.(int64)
	return n == 1, err
}

// IsFlow is Exists, but for a member that is at home here and whose flow is in another partition.
func (f Flows) IsFlow(ctx context.Context, id string) (bool, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "HMGET",
		Args: []any{f.keys(id)[0], "id", "home"}})
	fields, _ := value.([]any)
	return len(fields) == 2 && fields[0] != nil && fields[1] == nil, err
}

// progressFields are what is read of a flow at once.
var progressFields = []any{"state", "total", "created", "ended", "cancel", "paused", "generation", "sealer"}

// Progress is how far a flow is.
type Progress struct {
	State                      string // filling, running, done, dead or cancelled; "" where there is none
	Total, Left                int
	Dead, Cancelled, Otherwise int
	Created, Ended             time.Time
	Cancelling, Paused         bool
	Generation                 int
}

// Done is how many members have ended well.
func (p *Progress) Done() int { return p.Total - p.Left - p.Dead - p.Cancelled - p.Otherwise }

// Progress reads how far a flow is. While it is stored Total is how many members are there.
func (f Flows) Progress(ctx context.Context, id string) (p Progress, err error) {
	keys := f.keys(id)
	count := func(key string, low, high int) redisconn.Call {
		return redisconn.Call{Command: "ZCOUNT", Args: []any{key, low, high}}
	}
	replies, err := f.store.Driver().Pipeline(ctx,
		redisconn.Call{Command: "HMGET", Args: append([]any{keys[0]}, progressFields...)},
		redisconn.Call{Command: "SCARD", Args: []any{keys[3]}}, count(keys[4], 1, 1), count(keys[4], 2, 2),
		count(keys[4], 3, 9))
	if err != nil {
		return p, err
	}
	for i, n := range []*int{nil, &p.Left, &p.Dead, &p.Cancelled, &p.Otherwise} {
		if replies[i].Err != nil {
			return p, replies[i].Err
		}
		if n != nil {
			value, _ := replies[i].Value.(int64)
			*n = int(value)
		}
	}
	fields, _ := replies[0].Value.([]any)
	text := func(i int) string {
		if i >= len(fields) {
			return ""
		}
		return rdb.Word(fields[i])
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(text(i), 10, 64)
		return n
	}
	p.State, p.Total, p.Generation = text(0), int(number(1)), int(number(6))
	p.Cancelling, p.Paused = text(4) != "", text(5) != ""
	if n := number(2); n > 0 {
		p.Created = time.UnixMilli(n)
	}
	if n := number(3); n > 0 {
		p.Ended = time.UnixMilli(n)
	}
	switch p.State {
	case IsFilling:
		p.Total = p.Left
	case isRemoving:
		return Progress{}, nil
	case "cancelled": // before it had begun: it is in another flow
		p.Cancelled, p.Left = p.Cancelled+p.Left, 0
	}
	return p, nil
}

// Result is what is known of a member whose result somebody asks for.
type Result struct {
	State  string // of the flow; "" where there is none
	Waited bool   // who asks waits for it
	Ended  string // how it has ended: "running" where it has not; "done" for one that is not there either
	Result []byte // nil where it has none
	Away   bool   // it is at home in another partition
}

// otherwise are how a member may end otherwise than done, by what stands for it.
var otherwise = map[string]string{"1": "dead", "2": "cancelled", "3": "discarded", "4": "expired", "5": "deleted"}

// Result reads the result of a member, and whether the one that asks waits for it.
func (f Flows) Result(ctx context.Context, id, who, member string) (found Result, err error) {
	keys := f.keys(id)
	edge := func(rule Rule) string { return member + "\n" + who + "\n" + string(rule) }
	replies, err := f.store.Driver().Pipeline(ctx,
		redisconn.Call{Command: "HGET", Args: []any{keys[0], "state"}},
		redisconn.Call{Command: "ZMSCORE", Args: []any{keys[5], edge(RuleCancel), edge(RuleEven), edge(RuleHold)}},
		redisconn.Call{Command: "SISMEMBER", Args: []any{keys[3], member}},
		redisconn.Call{Command: "ZSCORE", Args: []any{keys[4], member}},
		redisconn.Call{Command: "HGET", Args: []any{keys[8], member}},
		redisconn.Call{Command: "HGET", Args: []any{keys[2], member}})
	if err != nil {
		return found, err
	}
	for _, reply := range replies {
		if reply.Err != nil {
			return found, reply.Err
		}
	}
	found.State, found.Ended = rdb.Word(replies[0].Value), "done"
	scores, _ := replies[1].Value.([]any)
	for _, score := range scores {
		found.Waited = found.Waited || score != nil
	}
	if left, _ := replies[2].Value.(int64); left == 1 {
		found.Ended = "running"
	} else if how := otherwise[rdb.Word(replies[3].Value)]; how != "" {
		found.Ended = how
	}
	found.Result, _ = replies[4].Value.([]byte)
	found.Away = AwayAt(rdb.Word(replies[5].Value)) >= 0
	return found, nil
}
