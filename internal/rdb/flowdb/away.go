package flowdb

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/span"
)

// A member may be at home in another partition than its flow. There it is kept as a flow of one job, whose id is that
// which the member has in its flow: see flow/lodge. The two agree by reports and orders, each of which may come late,
// or twice.

var (
	lodgeScript = redisconn.Load("flow/lodge")
	orderScript = redisconn.Load("flow/order")
	hearScript  = redisconn.Load("flow/agree")
)

// LodgedJob is the name of the job of a member that is at home in another partition than its flow.
const LodgedJob = "@job"

// isAway begins what a flow says of a member that is at home elsewhere, before the number of that partition.
const isAway = "\x1d"

// AwayAt is the partition where a member is at home, by what flow.members has of it; -1 where that is its flow's.
func AwayAt(queue string) int {
	text, is := strings.CutPrefix(queue, isAway)
	text, _, _ = strings.Cut(text, special)
	at, err := strconv.Atoi(text)
	if !is || err != nil {
		return -1
	}
	return at
}

// Epoch tells flows of one id apart, and what they were each time that they were opened again.
type Epoch struct{ Stored, Generation string }

// Order is what a member does that is at home elsewhere.
type Order struct {
	Word  string
	Epoch Epoch
	How   string // of OrderTold: which end was counted, as its report had it
}

// The orders.
const (
	OrderLook   = "look"
	OrderHold   = "hold"   // it waits for its turn, and may be opened again
	OrderBegin  = "begin"  // its turn has come
	OrderCancel = "cancel" // it does not run, or is cancelled
	OrderTold   = "told"   // its flow has counted its end
	OrderRemove = "remove" // its flow is gone
	OrderWait   = "wait"   // there is none
)

// Report is how far a member is that is at home elsewhere.
type Report struct {
	State  string // as that of a flow; "gone" where there is none
	Epoch  Epoch  // that it belongs to
	How    string // how it has ended; "" where it has not
	Result string // "" where it has none
	Queue  string // of its job
	More   bool   // something is left to be done where it is: see [Flows.Finish]
}

func (f Flows) away() string { return f.store.Key("flows:away") }

// Lodging is what is said of members that are at home here, with the flow in another partition that they are in.
type Lodging struct {
	Flow     string
	Home, At int // the partitions: of the flow, and this one
	Epoch    Epoch
	Keep     time.Duration
}

// Lodge stores members that are at home here, in one request, and returns for each what came of it and its detail.
// Those that are there stay as they are. Where a newer map of the partitions is known here it is a *[rdb.RouteError].
func (f Flows) Lodge(ctx context.Context, of Lodging, members []Member) (answers []Answer, details []string,
	err error) {
	calls := make([]redisconn.Call, len(members))
	for i := range members {
		id := of.Flow + "/" + members[i].Name
		queue, rest := members[i].lodgedTexts()
		calls[i] = redisconn.Call{Script: lodgeScript, Keys: append(f.keys(id), f.away(), f.store.Key("lanes"),
			f.store.Key("unique"), f.store.Key("foreign")),
			Args: []any{id, of.Home, of.At, of.Epoch.Stored, of.Epoch.Generation, span.Millis(of.Keep), f.store.At(),
				queue + "\n" + rest}}
	}
	replies, err := f.store.Driver().Pipeline(ctx, calls...)
	if err != nil {
		return nil, nil, err
	}
	for i := range replies {
		if replies[i].Err != nil {
			return nil, nil, rdb.Routed(replies[i].Err)
		}
		answer, detail, err := f.answer(calls[i], replies[i].Value)
		if err != nil {
			return nil, nil, err
		}
		answers, details = append(answers, answer), append(details, detail)
	}
	return answers, details, nil
}

// Orders gives members that are at home here an order each, in one request, and returns how far each is. queues are
// those of their jobs, "" where one is not known. It may be repeated.
func (f Flows) Orders(ctx context.Context, ids []string, orders []Order, queues []string) ([]Report, error) {
	calls := make([]redisconn.Call, len(ids))
	for i, id := range ids {
		keys, args := append(f.keys(id), f.away(), f.store.Key("unique")),
			[]any{id, orders[i].Word, orZero(orders[i].Epoch.Stored), orZero(orders[i].Epoch.Generation), orders[i].How}
		if queues[i] != "" {
			keys, args = f.store.QueueKeys(keys, queues[i]), append(args, queues[i])
		}
		calls[i] = redisconn.Call{Script: orderScript, Keys: keys, Args: args}
	}
	reports := make([]Report, len(ids))
	return reports, f.each(ctx, calls, func(i int, value any) error {
		r := redisconn.Read(orderScript.Name, value)
		reports[i] = Report{State: r.Text(), Epoch: Epoch{r.Text(), r.Text()}, How: r.Text(), Result: r.Text(),
			Queue: r.Text(), More: r.Number() == 1}
		return r.Err()
	})
}

// Order is Orders of one.
func (f Flows) Order(ctx context.Context, id string, order Order) (Report, error) {
	reports, err := f.Orders(ctx, []string{id}, []Order{order}, []string{""})
	return reports[0], err
}

// each makes calls in one request, and has each answer read. The error is the first one.
func (f Flows) each(ctx context.Context, calls []redisconn.Call, read func(i int, value any) error) error {
	replies, err := f.store.Driver().Pipeline(ctx, calls...)
	for i := range replies {
		if err == nil {
			err = replies[i].Err
		}
		if replies[i].Err == nil {
			if failed := read(i, replies[i].Value); err == nil {
				err = failed
			}
		}
	}
	return err
}

func orZero(number string) string {
	if number == "" {
		return "0"
	}
	return number
}

// Hear takes the reports of members that are at home in that partition, in one request, and returns what each is to do.
// It may be repeated.
func (f Flows) Hear(ctx context.Context, ids []string, from int, reports []Report) ([]Order, error) {
	calls := make([]redisconn.Call, len(ids))
	for i, id := range ids {
		outer, name := OuterOf(id)
		r := &reports[i]
		calls[i] = redisconn.Call{Script: hearScript, Keys: f.keys(outer), Args: []any{outer, name, from, r.State,
			r.Epoch.Stored, r.Epoch.Generation, r.How, r.Result}}
	}
	orders := make([]Order, len(ids))
	return orders, f.each(ctx, calls, func(i int, value any) error {
		answer, err := f.store.FlowEnded(hearScript.Name, rdb.Word(value))
		words := strings.Fields(answer)
		if err == nil && len(words) != 3 {
			err = &redisconn.UnexpectedReplyError{Script: hearScript.Name, Reply: value}
		}
		if err == nil {
			orders[i] = Order{Word: words[0], Epoch: Epoch{words[1], words[2]}}
			if orders[i].Word == OrderTold {
				orders[i].How = reports[i].How
			}
		}
		return err
	})
}

// Filled is what a flow that is being stored says of itself, and of where members of it are.
type Filled struct {
	State string
	Epoch Epoch
	Keep  time.Duration
	At    map[string]int // of those that are at home elsewhere
}

// Filled reads it.
func (f Flows) Filled(ctx context.Context, id string, members []string) (of Filled, err error) {
	keys := f.keys(id)
	replies, err := f.store.Driver().Pipeline(ctx,
		redisconn.Call{Command: "HMGET", Args: []any{keys[0], "state", "created", "generation", "keep"}},
		redisconn.Call{Command: "HMGET", Args: withTexts([]any{keys[2]}, members)})
	if err == nil {
		err = errors.Join(replies[0].Err, replies[1].Err)
	}
	if err != nil {
		return of, err
	}
	fields, _ := replies[0].Value.([]any)
	queues, _ := replies[1].Value.([]any)
	if len(fields) != 4 || len(queues) != len(members) {
		return of, &redisconn.UnexpectedReplyError{Script: "HMGET", Reply: replies[0].Value}
	}
	of = Filled{State: rdb.Word(fields[0]), Epoch: Epoch{rdb.Word(fields[1]), rdb.Word(fields[2])},
		Keep: time.Duration(milliseconds(rdb.Word(fields[3]))) * time.Millisecond, At: map[string]int{}}
	for i := range queues {
		if at := AwayAt(rdb.Word(queues[i])); at >= 0 {
			of.At[members[i]] = at
		}
	}
	return of, nil
}

// Standing is where the flow is whose id may be that of a member which is at home elsewhere.
type Standing struct {
	Lodged   bool // it is a member of a flow in the partition Home, and at home here, which is At
	Away     bool // it is a member of a flow here, and at home in the partition At
	Home, At int
}

// Stand tells where flows are, in one request for all that are in others; the zero Standing is of any other one.
func (f Flows) Stand(ctx context.Context, ids ...string) ([]Standing, error) {
	found := make([]Standing, len(ids))
	var calls []redisconn.Call
	for _, id := range ids {
		if outer, name := OuterOf(id); outer != "" {
			calls = append(calls, redisconn.Call{Command: "HMGET", Args: []any{f.keys(id)[0], "home", "at"}},
				redisconn.Call{Command: "HGET", Args: []any{f.keys(outer)[2], name}})
		}
	}
	if len(calls) == 0 {
		return found, nil
	}
	replies, err := f.store.Driver().Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if !IsInner(id) {
			continue
		}
		if err := errors.Join(replies[0].Err, replies[1].Err); err != nil {
			return nil, err
		}
		if lodged, _ := replies[0].Value.([]any); len(lodged) == 2 && lodged[0] != nil {
			s := Standing{Lodged: true}
			s.Home, _ = strconv.Atoi(rdb.Word(lodged[0]))
			s.At, _ = strconv.Atoi(rdb.Word(lodged[1]))
			found[i] = s
		} else if at := AwayAt(rdb.Word(replies[1].Value)); at >= 0 {
			found[i] = Standing{Away: true, At: at}
		}
		replies = replies[2:]
	}
	return found, nil
}

// AwayOf are those of the members of a flow that are at home elsewhere, by their names. A flow that has none is asked
// once.
func (f Flows) AwayOf(ctx context.Context, id string, members []string) (away []string, err error) {
	if len(members) == 0 {
		return nil, nil
	}
	has, err := f.has(ctx, id, "away")
	if err != nil || !has {
		return nil, err
	}
	filled, err := f.Filled(ctx, id, members)
	for _, member := range members {
		if _, is := filled.At[member]; is {
			away = append(away, member)
		}
	}
	return away, err
}

// EachAway calls do with pages of the ids of members of a flow that are at home elsewhere, of some perhaps twice. It
// ends with the first error.
func (f Flows) EachAway(ctx context.Context, id string, do func(members []string) error) error {
	has, err := f.has(ctx, id, "away")
	if err != nil || !has {
		return err
	}
	return f.scan(ctx, f.keys(id)[2], func(page iter.Seq2[string, string]) error {
		var members []string
		for name, queue := range page {
			if AwayAt(queue) >= 0 {
				members = append(members, id+"/"+name)
			}
		}
		if len(members) == 0 {
			return nil
		}
		return do(members)
	})
}

// Mark notes that something is to be done about members that are at home elsewhere, or here: anyone goes on with them.
func (f Flows) Mark(ctx context.Context, ids []string) error {
	return f.addTo(ctx, f.busy(), "NX", ids)
}

// PutOff has others that are busy come first.
func (f Flows) PutOff(ctx context.Context, ids []string) error {
	return f.addTo(ctx, f.busy(), "XX", ids)
}

func (f Flows) addTo(ctx context.Context, key, how string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	now, err := f.store.Time(ctx)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(ids, rdb.MaxBatch) {
		args := []any{key, how}
		for _, id := range page {
			args = append(args, now.UnixMilli(), id)
		}
		if _, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "ZADD", Args: args}); err != nil {
			return err
		}
	}
	return nil
}

// Unseen are members that are at home here, and at which nobody has looked for so long. There may be more.
func (f Flows) Unseen(ctx context.Context, since time.Duration) (ids []string, err error) {
	now, err := f.store.Time(ctx)
	if err != nil {
		return nil, err
	}
	upTo := now.Add(-since).UnixMilli()
	open, _ := strconv.ParseInt(rdb.FlowsOpen, 10, 64)
	for _, from := range []struct{ low, high int64 }{{0, upTo}, {open, open + upTo}} {
		some, err := f.ids(ctx, "ZRANGEBYSCORE", f.away(), fmt.Sprint(from.low), fmt.Sprint(from.high), "LIMIT", 0,
			rdb.MaxBatch)
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	return ids, nil
}
