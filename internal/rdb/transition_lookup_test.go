package rdb_test

import (
	"context"
	"testing"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// looking are the ways of a script that only reads.
func looking() []transition {
	look := func(prepare func(t *testing.T, s *site), id string) transition {
		return transition{name: "lookup, " + id, script: "inspect/lookup", reads: true, prepare: prepare,
			send: func(_ *site, store *rdb.Store) (any, error) {
				found, err := store.Lookup(background, []string{id}, func([]byte) string { return "a" })
				if err != nil {
					return nil, err
				}
				return found[0].Where, found[0].Err
			}}
	}
	ruled := func(t *testing.T, s *site) {
		holding(t, s)
		s.cmd(t, "HSET", "limits", "a", "0 - 1 60000 1 -")
		s.cmd(t, "SET", "rate:a", "9000000000000.000")
	}
	return append([]transition{look(ruled, "a3"), look(holding, "a1"),
		look(func(t *testing.T, s *site) { s.plan(t, "a", "later", 60_000) }, "later")},
		paging("from the beginning", rdb.ShelfCursor{}),
		paging("behind one of many", rdb.ShelfCursor{Score: "7", ID: "b"}),
		paging("the newest first", rdb.ShelfCursor{Newest: true, Score: "7", ID: "b"}))
}

// paging reads a page of a shelf on which three jobs are due at the same moment.
func paging(name string, cursor rdb.ShelfCursor) transition {
	return transition{name: "page, " + name, script: "inspect/page", reads: true, prepare: func(t *testing.T, s *site) {
		s.cmd(t, "ZADD", "retry", 1, "z", 7, "a", 7, "b", 7, "c", 9, "d")
	}, send: func(_ *site, store *rdb.Store) (any, error) {
		at := cursor
		return store.ShelfPage(background, rdb.ShelfRetry, &at, 2)
	}}
}

// oneRecord answers the first call like a Redis with one record that a worker claims, or whose job seems to wait.
type oneRecord struct {
	*recorder
	claim    any
	answered bool
}

func (o *oneRecord) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if o.answered {
		return o.recorder.Pipeline(ctx, calls...)
	}
	o.answered = true
	return []redisconn.Reply{
		{Value: []any{[]byte("record")}}, {Value: []any{nil}}, {Value: []any{o.claim}}, {Value: []any{nil}},
		{Value: []any{[]byte("0"), []any{[]byte("W"), []byte("V")}}}, {Value: []any{[]byte("1"), []byte("0")}},
	}, nil
}

// callsOfLooking has a lookup make its call for a job that is held, and for one that seems to wait.
func callsOfLooking(r *recorder) {
	ignore := func(...any) {}
	for _, claim := range []any{[]byte("W 1 2 a"), nil} {
		store := rdb.NewStore(&oneRecord{recorder: r, claim: claim}, "ns")
		ignore(store.Lookup(background, []string{"x"}, func([]byte) string { return "a" }))
	}
	ignore(rdb.NewStore(r, "ns").ShelfPage(background, rdb.ShelfRetry, &rdb.ShelfCursor{}, 2))
}
