package rdb_test

import (
	"testing"

	"github.com/265d0351/work/internal/rdb"
)

// dividing are the transitions of who divides a namespace and moves what is bound.
func dividing() []transition {
	return []transition{
		{name: "map", script: "partition/write_map", prepare: func(t *testing.T, s *site) {
			waiting(t, s)
			s.cmd(t, "HSET", "lanes", "", "6")
			s.cmd(t, "SET", "map", `{"version":6}`)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.WriteMap(background, 7, []byte(`{"version":7}`), 6)
		}},
		{name: "map, the first one", script: "partition/write_map", prepare: waiting,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.WriteMap(background, 7, []byte(`{"version":7}`), -1)
			}},
	}
}

// callsOfDividing has every method of who divides make its call.
func callsOfDividing(r *recorder) {
	store := rdb.NewStore(r, "ns")
	ignore := func(...any) {}
	ignore(store.WriteMap(background, 2, []byte("{}"), 1))
}
