package rdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// callsOfObjects has every method of Objects that sends a script make its call.
func callsOfObjects(driver redisconn.Driver) {
	o := rdb.Objects{Store: rdb.NewStore(driver, "ns")}
	ignore := func(...any) {}
	ignore(o.Touch(background, "ab", 1))
	ignore(o.Reserve(background, "ab"))
	ignore(o.Keep(background, rdb.Upload{SHA: "ab", Token: "t"}))
	ignore(o.Refer(background, "ab", []string{"x", "y"}))
	ignore(o.Unrefer(background, "ab", []string{"x", "y"}))
	ignore(o.Drop(background, rdb.Removal{Mark: "m"}, []string{"ab", "cd"}))
	ignore(o.Gone(background, "ab", "m"))
	ignore(rdb.Objects{Store: rdb.NewStore(&oneMember{Driver: driver}, "ns")}.Prune(background, "ab", "0"))
}

// oneMember answers the first call with a set of one member, so that the script is called for it.
type oneMember struct {
	redisconn.Driver
	answered bool
}

func (o *oneMember) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if o.answered {
		return o.Driver.Pipeline(ctx, calls...)
	}
	o.answered = true
	return []redisconn.Reply{{Value: []any{[]byte("0"), []any{[]byte("x")}}}}, nil
}

// sharing are the transitions of objects, each with all branches that write.
func sharing() []transition {
	stored := func(t *testing.T, s *site) {
		s.cmd(t, "SET", "object:ab", "content")
		s.cmd(t, "ZADD", "objects", 5, "ab")
	}
	uploaded := func(t *testing.T, s *site) { s.cmd(t, "SET", "object:ab:upload:t", "content", "PX", 60_000) }
	both := func(t *testing.T, s *site) {
		stored(t, s)
		uploaded(t, s)
	}
	keep := func(_ *site, store *rdb.Store) (any, error) {
		_, err := rdb.Objects{Store: store}.Keep(background,
			rdb.Upload{SHA: "ab", Token: "t", Content: []byte("content")})
		return nil, err
	}
	drop := func(mark string) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			removal := rdb.Removal{Grace: time.Hour, Mark: mark, Lease: time.Minute}
			_, err := rdb.Objects{Store: store, Elsewhere: mark != ""}.Drop(background, removal, []string{"ab", "cd"})
			return nil, err
		}
	}
	nothing := func(*testing.T, *site) {}
	return append([]transition{
		{name: "object touched", script: "object/touch", timed: true, prepare: stored,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return rdb.Objects{Store: store}.Touch(background, "ab", len("content"))
			}},
		{name: "object kept", script: "object/keep", timed: true, prepare: uploaded, send: keep},
		{name: "object kept, too late", script: "object/keep", timed: true, prepare: both, send: keep},
		{name: "object reserved", script: "object/reserve", timed: true, prepare: nothing,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return rdb.Objects{Store: store, Elsewhere: true}.Reserve(background, "ab")
			}},
		{name: "object dropped", script: "object/drop", prepare: stored, send: drop("")},
		{name: "object dropped from another home", script: "object/drop", prepare: stored, send: drop("m")},
		{name: "object gone", script: "object/mark_removed", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "SET", "object:ab:leaving", "m")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, rdb.Objects{Store: store}.Gone(background, "ab", "m")
		}},
	}, referring(stored)...)
}

func referring(stored func(*testing.T, *site)) []transition {
	return []transition{
		{name: "object referred to", script: "object/refer", timed: true, prepare: stored,
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, found, err := rdb.Objects{Store: store}.Refer(background, "ab", []string{"a1", "a2"})
				return found, err
			}},
		{name: "object no more referred to", script: "object/unrefer", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "SADD", "object:ab:jobs", "a1", "a2", "a3")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := rdb.Objects{Store: store}.Unrefer(background, "ab", []string{"a1", "a2"})
			return nil, err
		}},
		{name: "object's jobs pruned", script: "object/prune", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "SADD", "object:ab:jobs", "a1", "done", "ghost", "f/waits", "g/lodged/@job", "g/gone")
			s.cmd(t, "ZADD", "flows", 1, "f")
			s.cmd(t, "ZADD", "flows:away", 1, "g/lodged")
			s.cmd(t, "HSET", "outcomes", "done", "result")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, _, err := rdb.Objects{Store: store}.Prune(background, "ab", "0")
			return nil, err
		}},
	}
}
