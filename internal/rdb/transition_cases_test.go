package rdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
)

// transition is one way to use a script: what must be there before, and what is sent. Several tests send all of them.
type transition struct {
	name, script string
	prepare      func(t *testing.T, s *site)
	send         func(s *site, store *rdb.Store) (any, error)
	timed        bool // what it stores says when it was sent, so that two sends differ in this
	once         bool // it is never sent twice
	reads        bool // it changes nothing
	storing      bool // a full Redis refuses it, as it does enqueue
}

// transitions are all scripts, with all branches that write.
func transitions() []transition {
	settling := func(name, script string, call func(w *rdb.Worker) redisconn.Call) transition {
		return transition{
			name: name, script: script, prepare: holding,
			send: func(_ *site, store *rdb.Store) (any, error) {
				w := store.Worker("w1")
				settled, err := w.Settle(background, []redisconn.Call{call(w)})
				if err != nil {
					return nil, err
				}
				return settled[0], settled[0].Err
			},
		}
	}
	claims := []rdb.Claim{{Queue: "a", Element: "1:a1"}, {Queue: "a", Element: "1:a2"}, {Queue: "b", Element: "1:b1"}}
	all := []transition{
		settling("complete", "job/complete",
			func(w *rdb.Worker) redisconn.Call { return w.Complete(ended(claims...)) }),
		settling("complete, outcomes kept", "job/complete", func(w *rdb.Worker) redisconn.Call {
			done := ended(claims...)
			for i := range done {
				done[i].Keep, done[i].Outcome = time.Hour, []byte("result")
			}
			return w.Complete(done)
		}),
		settling("complete, details kept", "job/complete", func(w *rdb.Worker) redisconn.Call {
			done := ended(claims...)
			for i := range done {
				done[i].Keep, done[i].State = time.Hour, []string{"done", "discarded", "done"}[i]
				done[i].Outcome, done[i].Details = withDetails(done[i].State, done[i].Queue, done[i].Element)
			}
			return w.Complete(done[:3])
		}),
		settling("end, details kept", "job/end", func(w *rdb.Worker) redisconn.Call {
			e := rdb.Ending{ID: "a2", Queue: "a", State: "done", Keep: time.Hour, Belongings: rdb.Belongings{Log: true}}
			e.Outcome, e.Details = withDetails("done", "a", "1:a2")
			return w.End(claims[1], e)
		}),
		settling("end", "job/end", func(w *rdb.Worker) redisconn.Call {
			return w.End(claims[1], rdb.Ending{ID: "a2", Queue: "a", State: "done", Keep: time.Hour,
				Outcome: []byte("result"),
				Belongings: rdb.Belongings{Lock: "digest", Log: true, State: true, Completion: "ends",
					Objects: []string{"sha"}}})
		}),
		settling("release, dead worker", "job/release", func(w *rdb.Worker) redisconn.Call {
			return w.Release(rdb.Released{Queue: "a", Elements: elements(claims[:2]), Died: "w1"})
		}),
		settling("release, good order", "job/release", func(w *rdb.Worker) redisconn.Call {
			return w.Release(rdb.Released{Queue: "a", Elements: elements(claims[:2]), Ended: true})
		}),
		settling("release, older ones in front", "job/release", func(w *rdb.Worker) redisconn.Call {
			return w.Release(rdb.Released{Queue: "a", Elements: elements(claims[:2]),
				Older: []rdb.Older{{ID: "a3", Before: 2}}})
		}),
	}
	for _, shelf := range []rdb.Shelf{rdb.ShelfRetry, rdb.ShelfScheduled, rdb.ShelfMorgue} {
		all = append(all, settling("shelve, "+string(shelf), "job/shelve", func(w *rdb.Worker) redisconn.Call {
			return w.Shelve(rdb.Shelved{Claim: claims[1], Shelf: shelf, Delay: time.Hour, Trail: []byte("news")})
		}))
	}
	for name, wait := range map[string]rdb.Wait{
		"shelve, asleep":        {Digest: "digest", Until: time.UnixMilli(1 << 42)},
		"shelve, for a message": {Digest: "digest", Until: time.UnixMilli(1 << 42), Message: "mail"},
	} {
		all = append(all, settling(name, "job/shelve", func(w *rdb.Worker) redisconn.Call {
			return w.Shelve(rdb.Shelved{Claim: claims[1], Shelf: rdb.ShelfScheduled, Trail: []byte("news"), Wait: wait})
		}))
	}
	buried := settling("shelve, with a completion queue", "job/shelve", func(w *rdb.Worker) redisconn.Call {
		return w.Shelve(rdb.Shelved{Claim: claims[1], Shelf: rdb.ShelfMorgue, Completion: "ends"})
	})
	all = append(all, buried)
	all = append(append(all, storing()...), noting()...)
	all = append(all, living()...)
	all = append(all, mending()...)
	all = append(all, cancelling()...)
	all = append(all, limiting()...)
	all = append(all, telling()...)
	all = append(all, keying()...)
	all = append(all, handling()...)
	all = append(all, looking()...)
	all = append(all, feeding()...)
	all = append(all, scheduling()...)
	all = append(all, sharing()...)
	all = append(all, controlling()...)
	all = append(all, awaiting()...)
	all = append(all, locking()...)
	all = append(all, lasting()...)
	all = append(all, tallying()...)
	all = append(all, staffing()...)
	all = append(all, dividing()...)
	all = append(all, moving()...)
	all = append(all, withheld()...)
	all = append(all, flowing()...)
	all = append(all, flowingInFlows()...)
	all = append(all, flowingAway()...)
	all = append(all, turning()...)
	all = append(append(all, leaving()...), withoutRules()...)
	all = append(append(all, ofFlows()...), ofLongJobs()...)
	return append(all, maintaining()...)
}

// holding lets worker w1 hold a1, a2 and b1, of which a2 has a past; a3 waits.
func holding(t *testing.T, s *site) {
	t.Helper()
	waiting(t, s)
	s.cmd(t, "HSET", "trail", "a2", "old")
	s.cmd(t, "HSET", "crashes", "a2", "w0")
	w := s.worker(t, "w1", "a", "b")
	fetched, err := w.Fetch(background, 1, 3, false, []rdb.Share{{Queue: "a", Jobs: 2}, {Queue: "b", Jobs: 1}})
	require.NoError(t, err)
	require.Len(t, fetched.Jobs, 3)
}

func waiting(t *testing.T, s *site) {
	t.Helper()
	s.enqueue(t, "a", "a1", "a2", "a3")
	s.enqueue(t, "b", "b1")
}

// lapsed lets w1, which holds jobs, be without heartbeat, and w2 be there to see it.
func lapsed(t *testing.T, s *site) {
	t.Helper()
	holding(t, s)
	s.worker(t, "w2", "a")
	s.cmd(t, "UNLINK", "worker:w1")
}

func storing() []transition {
	nothing := func(*testing.T, *site) {}
	enqueue := func(jobs ...rdb.NewJob) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) { return store.Enqueue(background, "lane", 7, jobs) }
	}
	front, later, chosen, bound := job("a", "front"), job("b", "later"), job("c", "chosen"), job("d", "bound")
	front.Place, later.Place, later.When, chosen.Chosen = rdb.Front, rdb.In, 60_000, true
	bound.Tracked = true
	laterOnNew := job(aOnNew, "n1")
	laterOnNew.Place, laterOnNew.When = rdb.In, 60_000
	return []transition{
		{name: "enqueue", script: "job/enqueue", prepare: nothing, send: enqueue(job("a", "a1"), job("a", "a2"))},
		{name: "enqueue, at the front of others", script: "job/enqueue", prepare: waiting, send: enqueue(front)},
		{name: "enqueue to several queues", script: "job/enqueue_several", prepare: nothing,
			send: enqueue(job("a", "a1"), job("b", "b1"), front, job("a", "a2"))},
		{name: "enqueue to several queues that have jobs", script: "job/enqueue_several", prepare: waiting,
			send: enqueue(front, job("b", "b9"), job("a", "a9"))},
		{name: "enqueue of all kinds", script: "job/enqueue_mixed", prepare: nothing,
			send: enqueue(job("a", "a1"), front, later, chosen, chosen)},
		{name: "enqueue, tracked", script: "job/enqueue_mixed", prepare: nothing,
			send: enqueue(job("a", "a1"), bound, later)},
		{name: "enqueue, needs labels", script: "job/enqueue_mixed", prepare: nothing,
			send: enqueue(job(aOnGPU, "g1"), laterOnNew, job("a", "a1"))},
		{name: "enqueue, scheduled first", script: "job/enqueue_mixed", prepare: nothing, send: enqueue(later)},
		{name: "fetch", script: "job/fetch", prepare: func(t *testing.T, s *site) {
			waiting(t, s)
			s.worker(t, "w1", "a", "b")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			fetched, err := store.Worker("w1").
				Fetch(background, 2, 3, true, []rdb.Share{{Queue: "a", Jobs: 1}, {Queue: "b", Jobs: 2}})
			return []any{fetched.State, fetched.Broken}, err
		}},
		{name: "survey", script: "worker/survey", prepare: holding, send: func(_ *site, store *rdb.Store) (any, error) {
			_, claims, err := store.Worker("w1").Survey(background, 3, []string{"a", "b"})
			return claims, err
		}},
		{name: "claims ahead, noted", script: "worker/note_prefetch", prepare: holding,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Worker("w1").NotePrefetch(background, 160)
			}},
		{name: "rights, noted", script: "worker/note_rights", prepare: holding,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return redisconn.Do(background, store.Driver(), rights.NoteCall(store.Namespace(), "w1", "HDEL"))
			}},
		{name: "rights, asked for", script: "server/rights", reads: true, prepare: holding,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return redisconn.Do(background, store.Driver(), rights.Worker.Question(store.Namespace()))
			}},
		{name: "suspect", script: "job/mark_suspect", timed: true, prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "crashes", "a2", "v@1:2:3:4:5:6:7 +v:1:2")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.Worker("w1").Suspect(background, rdb.Claim{Queue: "a", Element: "1:a2"})
		}},
		{name: "absolve", script: "worker/declare_alive", prepare: func(t *testing.T, s *site) {
			s.worker(t, "w1", "a")
			s.cmd(t, "HSET", "worker:w1:info", "host", "h")
			s.cmd(t, "ZADD", "deaths", 1, "w1")
			s.cmd(t, "HSET", "crashes", "a1", "w1@1:2:3:4:5:6:7", "a2", "v@1:2:3:4:5:6:7 w1@1:2:3:4:5:6:8 ?u:9 +x:1:2")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			if _, err := store.Worker("w1").DeclareAlive(background, []string{"a1", "a2", "a3"}); err != nil {
				return nil, err
			}
			return nil, nil
		}},
		{name: "restore", script: "job/restore", timed: true, prepare: func(t *testing.T, s *site) {
			s.worker(t, "w1", "a", "b")
			s.cmd(t, "HSET", "limits", "a", "0 2 - - -")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, _, err := store.Worker("w1").Restore(background, 4, 1, []rdb.Held{
				{Claim: rdb.Claim{Queue: "a", Element: "1:a1"}, ID: "a1", Record: []byte("{}"), Trail: []byte("{}"),
					Lock: "d1", Kind: rdb.UntilEnded},
				{Claim: rdb.Claim{Queue: "b", Element: "4:b1"}, ID: "b1", Record: []byte("{}")},
			})
			return nil, err
		}},
		{name: "wake", script: "job/wake", prepare: func(t *testing.T, s *site) {
			waiting(t, s)
			s.cmd(t, "UNLINK", "wake:a")
			s.cmd(t, "LPUSH", "wake:b", "1", "1", "1")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, store.Wake(background, []string{"a", "b", "c"})
		}},
	}
}

func living() []transition {
	return []transition{
		{name: "register", script: "worker/register", timed: true, prepare: holding,
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, epoch, err := store.Worker("w3").Register(background, rdb.Registration{
					Life: time.Minute, Epoch: "epoch-3", Former: "w1", Info: map[string]string{"host": "h"},
					Queues: []string{"a", "c"},
				})
				return epoch, err
			}},
		{name: "beat", script: "worker/beat", timed: true, prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "UNLINK", "worker:w1")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			pulse, err := store.Worker("w1").Beat(context.Background(), conn{store.Driver()}, rdb.Beat{
				Life: time.Minute, Epoch: "epoch-1", Lease: time.Minute,
				Ran: `{"done":1}`, Load: "0.10 0.05 0.01",
				CheckIns: []rdb.CheckIn{{ID: "a1", Number: "1", Message: "half"}}, Ended: []string{"a0"},
			})
			return pulse.State, err
		}},
		{name: "declare dead", script: "worker/declare_dead", prepare: lapsed,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Worker("w2").DeclareDead(background, 0, "w1")
			}},
		{name: "overdue", script: "worker/list_overdue", reads: true, prepare: lapsed,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.OverdueWorkers(background, time.Minute, 10)
			}},
		{name: "forget", script: "worker/forget", timed: true, prepare: func(t *testing.T, s *site) {
			w := s.worker(t, "w1", "a", "b")
			s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1", Lease: time.Minute})
			s.cmd(t, "SMOVE", "workers", s.key("dead"), "w1")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, gone, err := store.Worker("w1").Forget(background, []string{"a", "b"}, "died {}")
			return gone, err
		}},
	}
}

func maintaining() []transition {
	return []transition{
		{name: "move due", script: "job/move_due", prepare: func(t *testing.T, s *site) {
			s.plan(t, "a", "a1", 1)
			s.plan(t, "b", "b1", 2)
			s.cmd(t, "ZADD", "scheduled", 3, "ghost")
			s.cmd(t, "HSET", "names", "ghost", "gone")
			s.pass(t, 10*time.Millisecond)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			due, err := store.Due(background, rdb.ShelfScheduled, rdb.DueCall{Move: []rdb.Waiting{
				{ID: "a1", Queue: "a"}, {ID: "b1", Queue: "b"}, {ID: "ghost"},
			}})
			return due.Page, err
		}},
		{name: "orphan", script: "repair/return_claim", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "SREM", "workers", "w1")
		}, send: func(s *site, store *rdb.Store) (any, error) {
			_, page, err := s.store.Holdings(background, "0")
			for _, h := range page {
				if _, err := store.ReturnClaim(background, h); err != nil {
					return nil, err
				}
			}
			return nil, err
		}},
		{name: "remove stale", script: "repair/remove_stale", prepare: func(t *testing.T, s *site) {
			waiting(t, s)
			s.cmd(t, "HSET", "lanes", "old", "7 5 3=duplicate")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.RemoveStaleLanes(background, "", time.Hour)
		}},
		{name: "remove expired", script: "repair/remove_expired", prepare: func(t *testing.T, s *site) {
			outcome, details := withDetails("done", "a", "a3")
			s.cmd(t, "HSET", "outcomes", "a1", "result", "a2", "result", "a3", outcome)
			s.cmd(t, "ZADD", "outcomes:until", 5, "a1", "1e15", "a2", 6, "a3")
			s.cmd(t, "HSET", "details:done:a", "a3", details, "a4", "x", "", len(details)+1)
			s.cmd(t, "ZADD", "ended:done:a", 1, "a3", 2, "a4")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.RemoveExpiredOutcomes(background, []string{`{"state":"done","name":"a"`})
			return nil, err
		}},
	}
}

// onEachTransition runs the test for every transition, on both kinds of Redis.
func onEachTransition(t *testing.T, test func(t *testing.T, s *site, tr transition)) {
	t.Helper()
	for _, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				tr.prepare(t, s)
				test(t, s, tr)
			})
		})
	}
}
