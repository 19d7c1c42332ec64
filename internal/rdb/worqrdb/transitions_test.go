package worqrdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redisconn"
)

// transition is one way to use a script: what must be there before, and what is sent. Several tests send all of them.
type transition struct {
	name, script string
	prepare      func(s *site)
	send         func(store *worqrdb.Store) (any, error)
	differs      bool // the second answer says that it is done already
}

var ours = worqrdb.Process{Worker: "w", Queue: "q", ID: "q_b"}

// transitions are all scripts, with all branches that write.
func transitions() []transition {
	w := worqrdb.Worker{ID: "w", Registration: "r-w", Life: time.Hour}
	return append(transitionsOfWorkers(w), []transition{
		{name: "enqueue", script: "enqueue", prepare: func(*site) {}, send: func(store *worqrdb.Store) (any, error) {
			put, _, err := store.Enqueue(background, worqrdb.Enqueued{Lane: "l", Number: 7, Life: time.Hour, Queue: "q",
				Tasks: bytesOf("x", "y")})
			return put, err
		}},
		{name: "enqueue unique", script: "enqueue", prepare: holding, send: func(store *worqrdb.Store) (any, error) {
			put, _, err := store.Enqueue(background, worqrdb.Enqueued{
				Lane: "l", Number: 7, Life: time.Hour, Queue: "q", Tasks: bytesOf("x", "b", "d", "x"), Unique: true,
			})
			return put, err
		}},
		{name: "start", script: "start", prepare: holding, send: func(store *worqrdb.Store) (any, error) {
			return store.Start(background, w, "q", "q_d")
		}},
		{name: "start, unique", script: "start", prepare: func(s *site) {
			s.worker("w")
			s.enqueue(true, "u")
		}, send: func(store *worqrdb.Store) (any, error) { return store.Start(background, w, "q", "q_u") }},
		{name: "finish", script: "finish", differs: true, prepare: holding,
			send: func(store *worqrdb.Store) (any, error) {
				return store.Finish(background, ours, []byte("b"), []byte("{}"))
			}},
		{name: "end_cancelled", script: "end_cancelled", differs: true, prepare: func(s *site) {
			holding(s)
			_, err := s.store.Cancel(background, "q", []byte("b"), time.Hour)
			require.NoError(s.t, err)
		}, send: func(store *worqrdb.Store) (any, error) {
			return store.EndCancelled(background, ours, []byte("b"), false)
		}},
		{name: "end_cancelled, put back", script: "end_cancelled", differs: true, prepare: func(s *site) {
			holding(s)
			_, err := s.store.Cancel(background, "q", []byte("b"), time.Hour)
			require.NoError(s.t, err)
			s.takeAway("q_b")
			s.uniqueB()
		}, send: func(store *worqrdb.Store) (any, error) {
			return store.EndCancelled(background, ours, []byte("b"), false)
		}},
		{name: "end_cancelled, taken away", script: "end_cancelled", prepare: func(s *site) {
			holding(s)
			s.takeAway("q_b")
		}, send: func(store *worqrdb.Store) (any, error) {
			return store.EndCancelled(background, ours, []byte("b"), false)
		}},
		{name: "finish, taken away", script: "finish", prepare: func(s *site) {
			holding(s)
			s.takeAway("q_b")
		}, send: func(store *worqrdb.Store) (any, error) {
			return store.Finish(background, ours, []byte("b"), []byte("{}"))
		}},
		{name: "requeue, own", script: "requeue", differs: true, prepare: holding,
			send: func(store *worqrdb.Store) (any, error) {
				return store.Requeue(background,
					worqrdb.Requeue{Worker: "w", Queue: "q", Processes: []string{"q_c", "q_b", "q_a"}})
			}},
		{name: "requeue, deleted", script: "requeue", differs: true, prepare: func(s *site) {
			holding(s)
			_, _, err := s.store.Delete(background, "q", nil)
			require.NoError(s.t, err)
		}, send: func(store *worqrdb.Store) (any, error) {
			return store.Requeue(background,
				worqrdb.Requeue{Worker: "w", Queue: "q", Processes: []string{"q_c", "q_b", "q_a"}})
		}},
		{name: "requeue, void", script: "requeue", prepare: holding, send: func(store *worqrdb.Store) (any, error) {
			return store.Requeue(background, worqrdb.Requeue{Worker: "w", Queue: "q", Processes: []string{"q_x"},
				Void: time.Hour})
		}},
		{name: "requeue, dead", script: "requeue", differs: true, prepare: func(s *site) {
			holding(s)
			_, err := s.store.Cancel(background, "q", []byte("a"), time.Hour)
			require.NoError(s.t, err)
			s.raw("DEL", s.key("workerTimers:w"))
		}, send: func(store *worqrdb.Store) (any, error) {
			return store.Requeue(background,
				worqrdb.Requeue{Worker: "w", Queue: "q", Processes: []string{"q_c", "q_b", "q_a"}, Dead: true})
		}},
		{name: "cancel", script: "cancel", differs: true, prepare: holding,
			send: func(store *worqrdb.Store) (any, error) {
				return store.Cancel(background, "q", []byte("d"), time.Hour)
			}},
		{name: "delete", script: "delete", differs: true, prepare: func(s *site) {
			holding(s)
			s.enqueue(true, "u")
		}, send: func(store *worqrdb.Store) (any, error) {
			locks, err := store.Locks(background, "q")
			if err != nil {
				return nil, err
			}
			count, _, err := store.Delete(background, "q", locks)
			return count, err
		}},
	}...)
}

func transitionsOfWorkers(w worqrdb.Worker) []transition {
	return []transition{
		{name: "register", script: "register", prepare: holding, send: func(store *worqrdb.Store) (any, error) {
			return store.Register(background, worqrdb.Worker{ID: "w2", Registration: "r", Life: time.Hour})
		}},
		{name: "register, permanent", script: "register", prepare: holding,
			send: func(store *worqrdb.Store) (any, error) {
				return store.Register(background, worqrdb.Worker{ID: "w2", Registration: "r"})
			}},
		{name: "serve", script: "serve", prepare: holding, send: func(store *worqrdb.Store) (any, error) {
			waiting, _, err := store.Serve(background, w, "r")
			return waiting, err
		}},
		{name: "leave", script: "leave", prepare: func(s *site) { s.worker("w") },
			send: func(store *worqrdb.Store) (any, error) {
				return store.Leave(background, "w", "q")
			}},
		{name: "declare_dead", script: "declare_dead", prepare: holding, send: func(store *worqrdb.Store) (any, error) {
			return store.DeclareDead(background, "w", true)
		}},
		{name: "forget", script: "forget", prepare: func(s *site) {
			s.worker("w")
			s.raw("DEL", s.key("workerTimers:w"))
		}, send: func(store *worqrdb.Store) (any, error) { return store.Forget(background, "w", []string{"q"}) }},
	}
}

// beat is the one script that changes nothing but a time to live, over a connection of its own.
func beat(t *testing.T, s *site, w worqrdb.Worker) (bool, error) {
	t.Helper()
	conn, err := s.driver.Dial(background)
	require.NoError(t, err)
	defer conn.Close() // nothing is lost
	return s.store.Beat(background, conn, w)
}

func bytesOf(tasks ...string) [][]byte {
	list := make([][]byte, len(tasks))
	for i := range tasks {
		list[i] = []byte(tasks[i])
	}
	return list
}

// recorder keeps the script calls that go through it.
type recorder struct {
	redisconn.Driver
	calls []redisconn.Call
}
