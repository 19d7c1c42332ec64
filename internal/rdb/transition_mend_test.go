package rdb_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// mending are the transitions of the doctor and of the janitor's repairs, each with damage that it mends.
func mending() []transition {
	return append(mendingJobs(), mendingIndexes()...)
}

func mendingJobs() []transition {
	mender := func(store *rdb.Store) rdb.Mender { return rdb.Mender{Store: store, Mend: true} }
	damaged := func(command, key string, args ...any) func(t *testing.T, s *site) {
		return func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, command, key, args...)
		}
	}
	reclaim := func(_ *site, store *rdb.Store) (any, error) {
		elements, err := store.Elements(background, "w1", "a", 0)
		if err == nil {
			_, err = mender(store).AgreeClaims(background, elements)
		}
		return nil, err
	}
	place := func(_ *site, store *rdb.Store) (any, error) {
		_, err := mender(store).AgreePlaces(background,
			[]rdb.Named{{ID: "a1", Queue: "a"}, {ID: "a2", Queue: "a"}, {ID: "a3", Queue: "a"}})
		return nil, err
	}
	return []transition{
		{name: "agree places, on a shelf too", script: "repair/agree_places",
			prepare: damaged("ZADD", "retry", 5, "a1"),
			send:    place},
		{name: "agree places, no name", script: "repair/agree_places", prepare: damaged("ZADD", "morgue", 5, "a3"),
			send: place},
		{name: "agree places, no record", script: "repair/agree_places",
			prepare: damaged("HDEL", "jobs", "a2"), send: place},
		{name: "remove unfetchable", script: "repair/remove_unfetchable",
			prepare: damaged("RPUSH", "queue:a", "a1", "ghost"),
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := mender(store).RemoveUnfetchable(background, "a", 0)
				return nil, err
			}},
		{name: "remove unfetchable, on a shelf", script: "repair/remove_unfetchable",
			prepare: damaged("ZADD", "retry", 5, "a3"),
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := mender(store).RemoveUnfetchable(background, "a", 0)
				return nil, err
			}},
		{name: "remove duplicate", script: "repair/remove_duplicate", prepare: damaged("RPUSH", "queue:b", "a3"),
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, _, err := mender(store).RemoveDuplicate(background, rdb.Twice{ID: "a3", From: "b", Other: "a"})
				return nil, err
			}},
		{name: "recall", script: "repair/requeue_lost", prepare: damaged("UNLINK", "queue:a"),
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := mender(store).RequeueLost(background,
					[]rdb.LostJob{{Named: rdb.Named{ID: "a3", Queue: "a"}, Digest: rdb.Digest(record("a3"))}})
				return nil, err
			}},
		{name: "reclaim, no claim", script: "repair/agree_claim", timed: true,
			prepare: damaged("HDEL", "claimed", "a1"), send: reclaim},
		{name: "reclaim, no record", script: "repair/agree_claim",
			prepare: damaged("LPUSH", "worker:w1:inprocess:a", "1:ghost"),
			send:    reclaim},
		{name: "reclaim, unknown worker", script: "repair/agree_claim", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "SREM", "workers", "w1")
			s.cmd(t, "UNLINK", "worker:w1")
		}, send: reclaim},
		{name: "unclaim", script: "repair/remove_claim", prepare: damaged("LREM", "worker:w1:inprocess:a", 0, "1:a2"),
			send: func(s *site, store *rdb.Store) (any, error) {
				_, page, err := s.store.Holdings(background, "0")
				if err == nil {
					_, err = mender(store).RemoveClaims(background, page)
				}
				return nil, err
			}},
		{name: "disown", script: "repair/remove_worker", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "SREM", "workers", "w1")
			s.cmd(t, "UNLINK", "worker:w1")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := mender(store).RemoveWorker(background, "w1")
			return nil, err
		}},
	}
}

func mendingIndexes() []transition {
	mender := func(store *rdb.Store) rdb.Mender { return rdb.Mender{Store: store, Mend: true} }
	return []transition{
		{name: "aside", script: "repair/rename_broken", prepare: func(t *testing.T, s *site) {
			waiting(t, s)
			s.cmd(t, "SET", "queue:c", "text")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, _, err := mender(store).RenameBroken(background, rdb.Key{Name: "queue:c", Type: "string"}, "list",
				time.UnixMilli(1_800_000_000_000))
			return nil, err
		}},
		{name: "agree indexes", script: "repair/agree_indexes", timed: true, prepare: func(t *testing.T, s *site) {
			waiting(t, s)
			s.cmd(t, "SREM", "ready", "a")
			s.cmd(t, "SADD", "ready", "gone")
			s.cmd(t, "ZADD", "queues", 5, "gone", 6, "served")
			s.cmd(t, "UNLINK", "wake:b")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			served := func(name string) bool { return name == "served" }
			_, err := mender(store).AgreeIndexes(background, []string{"a", "b", "gone", "served"}, served, time.Hour)
			return nil, err
		}},
		{name: "shed, of records", script: "repair/remove_jobless", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "trail", "ghost", "old")
			s.cmd(t, "HSET", "crashes", "ghost", "w0")
			s.cmd(t, "HSET", "names", "ghost", "a")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.RemoveRecordless(background, map[string]string{})
			return nil, err
		}},
		{name: "shed, of claims", script: "repair/remove_jobless", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "worker:w1:running", "a1", "5 half", "a3", "5 half")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.RemoveJoblessCheckIns(background, []string{"w1"}, map[string]string{})
			return nil, err
		}},
		{name: "agree outcomes", script: "repair/agree_outcomes", timed: true, prepare: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "outcomes", "a1", "result")
			s.cmd(t, "ZADD", "outcomes:until", "1e15", "a2")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := mender(store).AgreeOutcomes(background, []string{"a1", "a2"}, time.Hour)
			return nil, err
		}},
		{name: "agree details", script: "repair/agree_details", prepare: func(t *testing.T, s *site) {
			pastOf(t, s, "a1", "a2", "a3")
			s.cmd(t, "ZREM", "ended:done:a", "a1")
			s.cmd(t, "HDEL", "details:done:a", "a2")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := mender(store).AgreeDetails(background, rdb.EndedShelf{State: "done", Name: "a"},
				[]string{"a1", "a2", "a3"})
			return nil, err
		}},
		{name: "limit life", script: "repair/limit_life", prepare: func(t *testing.T, s *site) {
			s.worker(t, "w1", "a")
			s.cmd(t, "SET", "lease", "w1")
		}, send: func(s *site, store *rdb.Store) (any, error) {
			_, err := mender(store).LimitLife(background, "lease", time.Millisecond, time.Hour)
			if err == nil {
				err = s.await(10 * time.Millisecond)
			}
			return nil, err
		}},
	}
}

// await lets time pass, outside of a test.
func (s *site) await(d time.Duration) error {
	if s.clock != nil {
		s.clock.Advance(d)
		return nil
	}
	_, err := s.driver.Pipeline(background,
		redisconn.Call{Command: "BLPOP", Args: []any{s.key("nothing"), fmt.Sprint(d.Seconds())}, Block: d})
	return err
}

// oneEntry answers HSCAN with one entry, so that the script is called for it.
type oneEntry struct{ *recorder }

func (o oneEntry) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Command == "HSCAN" {
		return []redisconn.Reply{{Value: []any{[]byte("0"), []any{[]byte("x"), []byte("1")}}}}, nil
	}
	return o.recorder.Pipeline(ctx, calls...)
}

// callsOfMending has every method of Mender make its call.
func callsOfMending(r *recorder) {
	store := rdb.NewStore(oneEntry{r}, "ns")
	m := rdb.Mender{Store: store, Mend: true}
	ignore := func(...any) {}
	ignore(m.RenameBroken(background, rdb.Key{Name: "queue:a"}, "list", time.UnixMilli(1)))
	ignore(m.AgreePlaces(background, []rdb.Named{{ID: "x", Queue: "a"}}))
	ignore(m.RemoveUnfetchable(background, "a", 0))
	ignore(m.RemoveDuplicate(background, rdb.Twice{ID: "x", From: "a", Other: "b"}))
	ignore(m.RequeueLost(background, []rdb.LostJob{{Named: rdb.Named{ID: "x", Queue: "a"}}}))
	ignore(m.AgreeClaims(background,
		[]rdb.Element{{Worker: "W", Queue: "a", ID: "x", Claim: rdb.Holding{Worker: "V", Queue: "b"}}}))
	ignore(m.RemoveClaims(background, []rdb.Holding{{ID: "x", Worker: "W", Queue: "a", Number: "1"}}))
	ignore(m.RemoveWorker(background, "W"))
	ignore(m.AgreeIndexes(background, []string{"a", "b"}, func(string) bool { return true }, time.Hour))
	ignore(m.AgreeDetails(background, rdb.EndedShelf{State: "done", Name: "a"}, []string{"x"}))
	ignore(m.AgreeOutcomes(background, []string{"x"}, time.Hour))
	ignore(m.LimitLife(background, "lease", time.Hour, time.Hour))
	ignore(m.LimitLife(background, "worker:W", time.Hour, time.Hour))
	ignore(store.RemoveJoblessCheckIns(background, []string{"W"}, map[string]string{}))
	ignore(store.RemoveRecordless(background, map[string]string{}))
}
