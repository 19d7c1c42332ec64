package thoonkdb

import (
	"bytes"
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

// Result is what a job was and what came of it.
type Result struct {
	Item   []byte
	Result []byte
	Alone  bool // other programs have kept it, without the item
	Taken  bool // while there is none: it is to be waited for where released programs take it
}

// Result reads what [Feed.Finish] or another program has kept; false if there is nothing.
func (f *Feed) Result(ctx context.Context, id string) (Result, bool, error) {
	first := func(key string) redisconn.Call {
		return redisconn.Call{Command: "LRANGE", Keys: []string{key}, Args: []any{0, 1}}
	}
	values, err := f.look(ctx, first(f.result(id)), first(f.takenResult(id)),
		redisconn.Call{Command: "TYPE", Keys: []string{f.config}},
		redisconn.Call{Command: "TYPE", Keys: []string{f.claimed}},
		redisconn.Call{Command: "EXISTS", Keys: []string{f.publishes}})
	if err != nil {
		return Result{}, false, err
	}
	if r := redisconn.Read("LRANGE", values[0]); r.More() {
		result, err := withItem(r)
		return result, true, err
	}
	r := redisconn.Read("LRANGE", values[1])
	if r.More() {
		return Result{Result: r.Bytes(), Alone: true}, true, r.Err()
	}
	taken := text(values[2]) != "hash" && (text(values[3]) == "zset" || values[4] == int64(1))
	return Result{Taken: taken}, false, r.Err()
}

// withItem reads a list that holds the item and the result.
func withItem(r *redisconn.Reader) (Result, error) {
	both := r.Bytes()
	length := bytes.IndexByte(both, 0)
	if r.More() {
		length = int(r.Number())
	}
	if length < 0 || length >= len(both) {
		return Result{Item: both}, r.Err() // of another program
	}
	return Result{Item: both[:length], Result: both[length+1:]}, r.Err()
}
