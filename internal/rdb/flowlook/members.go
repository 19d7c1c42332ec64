package flowlook

import (
	"context"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Member is what the flow itself knows of a member. What a job says of itself is looked up elsewhere.
type Member struct {
	Name  string
	Queue string // "" where it is not known: of those of a batch; and of a flow
	Inner bool   // it is a flow
	Away  bool   // it is at home in another partition
	At    int    // which, if so
	Left  bool   // it has not ended
	End   int    // how it has ended otherwise than done: 1 dead, 2 cancelled, 3 discarded, 4 expired, 5 deleted
	Waits bool   // it stands with its flow alone
	Unmet []string
	More  int // of Unmet, which are left out
}

// MaxUnmet is how many of those that a member waits for are told.
const MaxUnmet = 20

// Members reads what is known of members, at most [MaxPage], in the order of their names.
func (f Flows) Members(ctx context.Context, id string, names []string) ([]Member, error) {
	if len(names) == 0 {
		return nil, nil
	}
	texts := func(key string) []any {
		args := make([]any, 0, 1+len(names))
		args = append(args, key)
		for _, name := range names {
			args = append(args, name)
		}
		return args
	}
	calls := []redisconn.Call{
		{Command: "SMISMEMBER", Args: texts(f.key("left", id))},
		{Command: "ZMSCORE", Args: texts(f.key("ends", id))},
		{Command: "HMGET", Args: texts(f.key("members", id))},
	}
	for _, name := range names {
		unmet := f.key("unmet", id)
		low, high := behind(name, "")
		calls = append(calls, redisconn.Call{Command: "HEXISTS", Args: []any{f.key("records", id), name}},
			redisconn.Call{Command: "ZRANGEBYLEX", Args: []any{unmet, low, high, "LIMIT", 0, MaxUnmet}},
			redisconn.Call{Command: "ZLEXCOUNT", Args: []any{unmet, low, high}})
	}
	values, err := f.values(ctx, calls)
	if err != nil {
		return nil, err
	}
	lefts, _ := values[0].([]any)
	ends, _ := values[1].([]any)
	queues, _ := values[2].([]any)
	members := make([]Member, len(names))
	for i, name := range names {
		of := values[3+3*i:]
		m := Member{Name: name, Left: count(at(lefts, i)) == 1, Queue: rdb.Word(at(queues, i))}
		m.Inner = at(queues, i) != nil && m.Queue == ""
		m.Queue, m.At, m.Away = homeOf(m.Queue)
		m.End, _ = strconv.Atoi(rdb.Word(at(ends, i)))
		m.Waits = m.Left && count(of[0]) == 1
		if entries, is := of[1].([]any); is && m.Left {
			for _, entry := range entries {
				_, from, _ := strings.Cut(rdb.Word(entry), "\n")
				m.Unmet = append(m.Unmet, from)
			}
			m.More = max(0, count(of[2])-len(m.Unmet))
		}
		members[i] = m
	}
	return members, nil
}

func at(values []any, n int) any {
	if n >= len(values) {
		return nil
	}
	return values[n]
}

// behind are the bounds of what stands below a member in a sorted set of edges, behind that entry of it.
func behind(member, entry string) (low, high string) {
	if entry == "" {
		return "[" + member + "\n", "(" + member + "\v"
	}
	return "(" + member + "\n" + entry, "(" + member + "\v"
}

// homeOf takes apart what a flow says of the queue of a member: that of one which is at home in another partition is
// told with that.
func homeOf(queue string) (name string, at int, away bool) {
	if at = flowdb.AwayAt(queue); at < 0 {
		return queue, 0, false
	}
	_, name, _ = strings.Cut(queue, "\x1e")
	return name, at, true
}

// Named is a member whose name is kept. That of a flow has no queue.
type Named struct {
	Name, Queue string
	Away        bool // it is at home in another partition
	At          int  // which, if so
}

// Names reads a part of the names that are kept, of about n, and where the next part begins: "0" at the end.
func (f Flows) Names(ctx context.Context, id, cursor string, n int) (names []Named, next string, err error) {
	texts, next, err := f.scan(ctx, "HSCAN", f.key("members", id), cursor, n)
	for i := 0; i+1 < len(texts); i += 2 {
		one := Named{Name: texts[i]}
		one.Queue, one.At, one.Away = homeOf(texts[i+1])
		names = append(names, one)
	}
	return names, next, err
}

// Left reads a part of the members that have not ended, as Names does.
func (f Flows) Left(ctx context.Context, id, cursor string, n int) (names []string, next string, err error) {
	return f.scan(ctx, "SSCAN", f.key("left", id), cursor, n)
}

func (f Flows) scan(ctx context.Context, command, key, cursor string, n int) ([]string, string, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(),
		redisconn.Call{Command: command, Args: []any{key, cursor, "COUNT", n}})
	if err != nil {
		return nil, "", err
	}
	r := redisconn.Read(command, value)
	next, texts := r.Text(), r.Texts()
	return texts, next, r.Err()
}

// Ended is a member that has ended otherwise than done.
type Ended struct {
	Name string
	How  int
}

// Ends reads up to n members that have ended otherwise than done, in the order of how and of their names, behind the
// cursor, which it moves behind them.
func (f Flows) Ends(ctx context.Context, id string, cursor *rdb.ShelfCursor, n int) (ends []Ended, err error) {
	entries, err := f.store.PageOf(ctx, "flow.ends:"+id, cursor, n)
	for _, entry := range entries {
		ends = append(ends, Ended{Name: entry.ID, How: int(entry.At)})
	}
	return ends, err
}
