package flowdb

import (
	"context"
	"iter"
	"strings"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// A flow may be a member of another one. Its id is that of the member then: that of the outer flow, a slash and its
// name there. The id of no other flow has a slash.

var turnScript = redisconn.Load("flow/turn")

// isRemoving is the state of a flow that is being removed, while those that are in it are.
const isRemoving = "removing"

// IsInner tells whether a flow is in another one.
func IsInner(id string) bool { return strings.Contains(id, "/") }

// OuterOf takes apart the id of a flow that is in another one: the id of that, and its name there.
func OuterOf(id string) (outer, name string) {
	at := strings.LastIndexByte(id, '/')
	return id[:max(0, at)], id[at+1:]
}

// withOuter adds the key of the flow that one is in, or its own where it is in none.
func (f Flows) withOuter(keys []string, id string) []string {
	if outer, _ := OuterOf(id); outer != "" {
		id = outer
	}
	return append(keys, f.keys(id)[0])
}

// Told is what [Flows.Turn] returns where the outer flow knows of the end of the inner one.
const Told = "told"

// isDeep is the answer of flow/turn where a flow is over that never began, and those that are in it are not yet, or its
// members have locks still.
const isDeep = "deep"

// What flow/turn is to do besides.
const (
	turnOnly   = 0
	turnCancel = 1 // it is cancelled, if it has not begun
	turnDeep   = 2 // those in it are over, and the locks of its members free
)

// Turn has a flow that is in another one begin, if its turn has come, and tells that one of its end. With cancel it is
// cancelled if it has not begun, with those that are in it. It returns Told or the state in which the inner flow is,
// and may be repeated.
func (f Flows) Turn(ctx context.Context, id string, cancel bool) (state string, err error) {
	order := turnOnly
	if cancel {
		order = turnCancel
	}
	state, err = f.turn(ctx, id, order)
	if err != nil || state != isDeep {
		return state, err
	}
	err = f.EachInner(ctx, id, func(inner string) error {
		_, err := f.Turn(ctx, inner, false)
		return err
	})
	if err == nil {
		err = f.EachAway(ctx, id, func(members []string) error { return f.Mark(ctx, members) })
	}
	if err == nil {
		err = f.FreeLocks(ctx, id)
	}
	if err != nil {
		return "", err
	}
	return f.turn(ctx, id, turnDeep)
}

func (f Flows) turn(ctx context.Context, id string, order int) (state string, err error) {
	outer, name := OuterOf(id)
	return f.state(ctx, redisconn.Call{Script: turnScript, Keys: append(f.keys(outer), f.keys(id)[0]),
		Args: []any{id, name, order}})
}

// InnerOf are those of the members of a flow that are flows themselves, by their names.
func (f Flows) InnerOf(ctx context.Context, id string, members []string) (inner []string, err error) {
	if len(members) == 0 {
		return nil, nil
	}
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "HMGET",
		Args: withTexts([]any{f.keys(id)[2]}, members)})
	if err != nil {
		return nil, err
	}
	queues, _ := value.([]any)
	for i := range min(len(queues), len(members)) {
		if queues[i] != nil && rdb.Word(queues[i]) == "" {
			inner = append(inner, members[i])
		}
	}
	return inner, nil
}

// HasInner tells whether some member of a flow is a flow itself.
func (f Flows) HasInner(ctx context.Context, id string) (bool, error) { return f.has(ctx, id, "inner") }

// HasSpecial tells whether some member of a flow, or of one that is in it, may be special: see [Terms].
func (f Flows) HasSpecial(ctx context.Context, id string) (bool, error) {
	for _, field := range []string{"special", "away"} {
		if has, err := f.has(ctx, id, field); has || err != nil {
			return has, err
		}
	}
	return f.HasInner(ctx, id)
}

func (f Flows) has(ctx context.Context, id, field string) (bool, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "HEXISTS",
		Args: []any{f.keys(id)[0], field}})
	n, _ := value.(int64)
	return n == 1, err
}

// EachInner calls do with the id of each flow that is a member of one, of some perhaps twice. It ends with the first
// error.
func (f Flows) EachInner(ctx context.Context, id string, do func(inner string) error) error {
	has, err := f.HasInner(ctx, id)
	if err != nil || !has {
		return err
	}
	return f.scan(ctx, f.keys(id)[2], func(page iter.Seq2[string, string]) error {
		for name, queue := range page {
			if queue != "" {
				continue
			}
			if err := do(id + "/" + name); err != nil {
				return err
			}
		}
		return nil
	})
}
