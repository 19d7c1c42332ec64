package thoonkdb

import (
	"context"
	"errors"

	"github.com/265d0351/work/internal/redisconn"
)

// Feed is one feed, of any kind. Its methods may be called concurrently. Most of them take the config that the caller
// knows, and fail with [ErrStale] where another one is stored and with [ErrNoFeed] where there is no feed: so what the
// caller derived from the config (the kind, the limit) still holds when the script runs.
type Feed struct {
	store *Store
	name  string

	config, ids, items, running, claimed, cancelled, stalled, results, counter string
	publishes, putTimes, finishes                                              string // of the released programs
	tokens                                                                     string // of claims in a sorted set
	counts                                                                     string // of what this package did
	published, edited, retracted, positioned, finished                         string // channels
}

func newFeed(s *Store, name string) *Feed {
	f := &Feed{store: s, name: name}
	f.config, f.ids, f.items = f.key("feed.config"), f.key("feed.ids"), f.key("feed.items")
	f.running, f.claimed, f.cancelled = f.key("feed.running"), f.key("feed.claimed"), f.key("feed.cancelled")
	f.stalled, f.results, f.counter = f.key("feed.stalled"), f.key("feed.jobresults"), f.key("feed.idincr")
	f.publishes, f.putTimes, f.finishes = f.key("feed.publishes"), f.key("feed.published"), f.key("feed.finishes")
	f.tokens, f.counts = f.key("feed.tokens"), f.key("feed.counts")
	f.published, f.edited, f.retracted = f.key("feed.publish"), f.key("feed.edit"), f.key("feed.retract")
	f.positioned, f.finished = f.key("feed.position"), f.key("job.finish")
	return f
}

// Name is the name of the feed.
func (f *Feed) Name() string { return f.name }

func (f *Feed) key(kind string) string { return f.store.prefix + kind + ":" + f.name }

// result is the list that holds the result of a job, with its item.
func (f *Feed) result(id string) string { return f.key("feed.jobfinished") + ":" + id }

// takenResult is the list out of which released programs take the result of a job.
func (f *Feed) takenResult(id string) string { return f.key("feed.jobfinished") + "\x00" + id }

// call runs a script of this package.
func (f *Feed) call(ctx context.Context, call redisconn.Call) (any, error) {
	value, err := redisconn.Do(ctx, f.store.driver, call)
	var refused *redisconn.ServerError
	if errors.As(err, &refused) {
		switch refused.Code {
		case "NOFEED":
			return nil, ErrNoFeed
		case "STALE":
			return nil, ErrStale
		case "BADFORM":
			return nil, parseFormError(refused.Message)
		}
	}
	return value, err
}

// flag makes a call that answers 1 for yes.
func (f *Feed) flag(ctx context.Context, call redisconn.Call) (bool, error) {
	value, err := f.call(ctx, call)
	return value == int64(1), err
}

// look reads, and fails with [ErrNoFeed] where there is no feed.
func (f *Feed) look(ctx context.Context, calls ...redisconn.Call) ([]any, error) {
	replies, err := f.replies(ctx, calls...)
	if err != nil {
		return nil, err
	}
	return redisconn.Values(replies)
}

// replies reads what may be refused, in one round trip, and fails with [ErrNoFeed] where there is no feed.
func (f *Feed) replies(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	exists := redisconn.Call{Command: "SISMEMBER", Keys: []string{f.store.feeds()}, Args: []any{f.name}}
	replies, err := f.store.driver.Pipeline(ctx, append([]redisconn.Call{exists}, calls...)...)
	switch {
	case err != nil:
		return nil, err
	case replies[0].Err != nil:
		return nil, replies[0].Err
	case replies[0].Value != int64(1):
		return nil, ErrNoFeed
	}
	return replies[1:], nil
}

// of is a call on one key.
func of(command, key string, args ...any) redisconn.Call {
	return redisconn.Call{Command: command, Keys: []string{key}, Args: args}
}

// IDs returns the ids in the order of their list: of what waits, in a queue or a job feed.
func (f *Feed) IDs(ctx context.Context) ([]string, error) {
	_, ids, err := f.lookAt(ctx, f.ids, as{"list", "LRANGE", []any{0, -1}}, as{"zset", "ZREVRANGE", []any{0, -1}})
	if err != nil || ids == nil {
		return nil, err
	}
	return texts("ids", ids)
}

// Length tells how many ids the list has.
func (f *Feed) Length(ctx context.Context) (int, error) {
	_, length, err := f.lookAt(ctx, f.ids, as{"list", "LLEN", nil}, as{"zset", "ZCARD", nil})
	n, _ := length.(int64)
	return int(n), err
}

// Items returns the items of at most [rdb.MaxBatch] ids; nil stands for one that is not there.
func (f *Feed) Items(ctx context.Context, ids []string) ([][]byte, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	_, found, err := f.lookAt(ctx, f.items, as{"hash", "HMGET", args})
	if err != nil || found == nil {
		return make([][]byte, len(ids)), err
	}
	r := redisconn.Read("HMGET", found)
	items := make([][]byte, 0, len(ids))
	for r.More() {
		items = append(items, r.Bytes())
	}
	return items, r.Err()
}

// texts turns an array reply into strings.
func texts(command string, reply any) ([]string, error) {
	r := redisconn.Read(command, reply)
	var list []string
	for r.More() {
		list = append(list, r.Text())
	}
	return list, r.Err()
}
