package doctor

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
)

// damage is one way in which a namespace may be wrong, and a state that looks like it and is right.
type damage struct {
	name     string
	check    Check
	damage   func(w *ward)
	spare    func(w *ward)
	lost     []string // jobs that cannot be saved
	more     []string // jobs beside those of the ward
	reported bool     // it is only reported
}

// do runs one command, as a step of a damage.
func do(command, key string, args ...any) func(w *ward) {
	return func(w *ward) { w.Do(command, key, args...) }
}

func damages() []damage {
	all := damagedKeys()
	all = append(all, damagedPlaces()...)
	all = append(all, damagedClaims()...)
	all = append(all, damagedWorkers()...)
	return append(all, damagedIndexes()...)
}

func damagedKeys() []damage {
	return []damage{
		{name: "queue of a wrong type", check: CheckKeyType, damage: do("SET", "queue:b", "text"),
			spare: func(w *ward) { w.add("b", "b1") }},
		{name: "tokens of a wrong type", check: CheckKeyType, damage: do("SET", "wake:b", "text"),
			spare: func(w *ward) { w.add("x:broken:12", "odd") }},
		{name: "crashes of a wrong type", check: CheckKeyType, damage: do("SADD", "crashes", "text"),
			spare: do("HSET", "crashes", "wait1", "v")},
		{name: "unknown key", check: CheckUnknownKey, damage: do("SET", "nonsense", "text"),
			spare: do("LPUSH", "wake:nobody", "1"), reported: true},
		{name: "key of a worker that is none", check: CheckUnknownKey, damage: do("SET", "worker:w:nonsense", "text"),
			spare: func(w *ward) { w.Do("HSET", "worker:"+w.worker.ID+":running", "held", "5 half") }, reported: true},
	}
}

func damagedPlaces() []damage {
	return []damage{
		{name: "job in no place", check: CheckLostJob, damage: do("LREM", "queue:a", 0, "wait2"), spare: func(w *ward) {
			w.Do("LREM", "queue:a", 0, "wait2")
			w.Do("ZADD", "scheduled", "1e15", "wait2")
			w.Do("HSET", "names", "wait2", "a")
		}},
		{name: "job off its shelf", check: CheckLostJob,
			damage: func(w *ward) { w.Do("ZREM", "retry", "again"); w.Do("HDEL", "names", "again") },
			spare:  do("ZADD", "retry", "1e15", "again")},
		{name: "whole queue gone", check: CheckLostJob, damage: func(w *ward) {
			w.Do("UNLINK", "queue:a")
			w.Do("SREM", "ready", "a")
		}, spare: func(w *ward) { w.Do("RPOPLPUSH", "queue:a", "{"+w.Namespace+"}:queue:a") }},
		{name: "waiting without a record", check: CheckGhost, damage: do("HDEL", "jobs", "wait2"),
			lost: []string{"wait2"}, spare: do("ZADD", "outcomes:until", "1e15", "done")},
		{name: "scheduled without a record", check: CheckGhost, damage: do("HDEL", "jobs", "later"),
			lost: []string{"later"}, spare: do("ZADD", "scheduled", 5, "later")},
		{name: "waiting and with a worker", check: CheckTwoPlaces, damage: do("RPUSH", "queue:a", "held"),
			spare: do("HSET", "crashes", "held", "v1 v2")},
		{name: "on a shelf and with a worker", check: CheckTwoPlaces,
			damage: func(w *ward) { w.Do("ZADD", "retry", 5, "held"); w.Do("HSET", "names", "held", "a") },
			spare:  do("HSET", "trail", "held", `{"fails":1}`)},
		{name: "on two shelves", check: CheckTwoPlaces, damage: do("ZADD", "morgue", 5, "again"),
			spare: do("ZADD", "retry", 5, "again")},
		{name: "waiting and on a shelf", check: CheckTwoPlaces,
			damage: func(w *ward) { w.Do("ZADD", "retry", "1e15", "wait1"); w.Do("HSET", "names", "wait1", "a") },
			spare:  do("HSET", "trail", "wait1", `{"fails":1}`)},
		{name: "twice in its queue", check: CheckTwice, damage: do("LPUSH", "queue:a", "wait2"),
			spare: func(w *ward) { w.add("a", "wait22") }},
		{name: "in two queues", check: CheckTwice,
			damage: func(w *ward) { w.add("b", "b1"); w.Do("LPUSH", "queue:b", "wait2") },
			more:   []string{"b1"}, spare: func(w *ward) { w.add("b", "b1") }},
		{name: "flag of nobody", check: CheckLeftover, damage: do("SADD", "cancelled", "nobody"),
			spare: do("SADD", "cancelled", "wait2")},
		{name: "trail of nobody", check: CheckLeftover, damage: do("HSET", "trail", "nobody", "x"),
			spare: do("HSET", "trail", "wait2", "x")},
		{name: "crashes of nobody", check: CheckLeftover, damage: do("HSET", "crashes", "nobody", "v"),
			spare: do("HSET", "crashes", "wait2", "v")},
		{name: "steps of nobody", check: CheckLeftover, damage: do("HSET", "steps:nobody", "", "x 1"), reported: true,
			spare: do("HSET", "steps:wait2", "", "x 1")},
		{name: "mailbox of nobody", check: CheckLeftover, damage: do("RPUSH", "mail:nobody", "x 1"), reported: true,
			spare: func(w *ward) { // the janitor removes it
				w.Do("RPUSH", "mail:nobody", "x 1")
				w.Do("HSET", "mailed", "nobody", "1")
			}},
		{name: "name of nobody", check: CheckName, damage: do("HSET", "names", "wait1", "a"),
			spare: do("HSET", "names", "buried", "a")},
		{name: "shelf without name", check: CheckName, damage: do("HDEL", "names", "later"),
			spare: do("ZADD", "scheduled", "1e15", "later")},
		{name: "record that is not JSON", check: CheckRecord, damage: do("HSET", "jobs", "wait1", "{"), reported: true,
			spare: do("HSET", "jobs", "wait1", `{"new":"field", "jid":"wait1","name":"a","args":[],"t":1}`)},
		{name: "record of another name", check: CheckWrongQueue, damage: func(w *ward) { w.book("b", "wait1") },
			reported: true, spare: func(w *ward) { w.book("a", "wait1") }},
		{name: "shelf under another name", check: CheckWrongQueue, damage: do("HSET", "names", "later", "b"),
			reported: true, spare: do("HSET", "names", "later", "a")},
	}
}

// book writes a record, and nothing else.
func (w *ward) book(name, id string) {
	w.Do("HSET", "jobs", id, fmt.Sprintf(`{"jid":%q,"name":%q,"args":[],"t":1}`, id, name))
}

func damagedClaims() []damage {
	claim := func(w *ward, id string, claim string, args ...any) {
		w.Do("HSET", "claimed", id, fmt.Sprintf(claim, args...))
	}
	return []damage{
		{name: "claim without element", check: CheckClaim, damage: func(w *ward) { w.Do("UNLINK", w.inProcess()) },
			spare: func(w *ward) {
				w.Do("SMOVE", "workers", "{"+w.Namespace+"}:dead", w.worker.ID)
				w.Do("SMOVE", "dead", "{"+w.Namespace+"}:workers", w.worker.ID)
			}},
		{name: "claim that cannot be read", check: CheckElement, damage: func(w *ward) { claim(w, "held", "nonsense") },
			spare: func(w *ward) { claim(w, "held", "%s 1 1 a", w.worker.ID) }},
		{name: "claim of an unknown worker", check: CheckUnknownWorker, damage: func(w *ward) {
			w.Do("LREM", "queue:a", 0, "wait1")
			claim(w, "wait1", "%s 7 1 a", ids.Worker())
		}, spare: func(w *ward) { claim(w, "held", "%s 1 2 a", w.worker.ID) }},
		{name: "claim of a scheduled job", check: CheckUnknownWorker, damage: func(w *ward) {
			w.Do("LREM", "queue:a", 0, "wait1")
			w.Do("ZADD", "scheduled", "1e15", "wait1")
			w.Do("HSET", "names", "wait1", "a")
			claim(w, "wait1", "%s 7 1 a", ids.Worker())
		}, spare: do("HSET", "crashes", "held", "v")},
		{name: "element without claim", check: CheckElement, damage: do("HDEL", "claimed", "held"),
			spare: func(w *ward) { claim(w, "held", "%s 1 3 a", w.worker.ID) }},
		{name: "element of a job that waits", check: CheckElement,
			damage: func(w *ward) { w.Do("LPUSH", w.inProcess(), "1:wait2") },
			spare: func(w *ward) {
				w.Do("LREM", "queue:a", 0, "wait2")
				w.Do("LPUSH", w.inProcess(), "1:wait2")
				claim(w, "wait2", "%s 1 3 a", w.worker.ID)
			}},
		{name: "element without record", check: CheckGhost,
			damage: func(w *ward) { w.Do("LPUSH", w.inProcess(), "1:nobody") },
			spare:  func(w *ward) { w.Do("HSET", "worker:"+w.worker.ID+":info", "n", 5) }},
	}
}

func damagedWorkers() []damage {
	key := func(w *ward, part string) string { return "worker:" + w.worker.ID + part }
	return []damage{
		{name: "worker that nobody knows, with a job", check: CheckUnknownWorker, damage: func(w *ward) {
			other := w.register("a")
			fetched, err := other.Fetch(w.Ctx(), 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
			require.NoError(w.T, err)
			require.Len(w.T, fetched.Jobs, 1)
			w.Do("SREM", "workers", other.ID)
			w.Do("UNLINK", "worker:"+other.ID)
		}, spare: func(w *ward) { // it was fenced, and will notice within a second
			other := w.register("a")
			fetched, err := other.Fetch(w.Ctx(), 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
			require.NoError(w.T, err)
			require.Len(w.T, fetched.Jobs, 1)
			w.Do("SREM", "workers", other.ID)
		}},
		{name: "keys of a worker that nobody knows", check: CheckUnknownWorker,
			damage: do("HSET", "worker:w:info", "host", "h"),
			spare:  do("SET", "worker:w", "RUN 1", "EX", 100)},
		{name: "worker without heartbeat", check: CheckDeadWorker, damage: func(w *ward) { w.Do("UNLINK", key(w, "")) },
			reported: true,
			spare:    func(w *ward) { w.Do("PEXPIRE", key(w, ""), 60_000) }},
		{name: "dead worker that nobody takes apart", check: CheckDeadWorker, damage: func(w *ward) {
			other := w.register("a")
			_, err := other.Fetch(w.Ctx(), 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
			require.NoError(w.T, err)
			w.Do("SMOVE", "workers", "{"+w.Namespace+"}:dead", other.ID)
		}, spare: func(w *ward) { w.register("b") }},
		{name: "worker without names", check: CheckDeafWorker, damage: func(w *ward) {
			other := w.register("a")
			w.Do("UNLINK", "worker:"+other.ID+":queues")
		}, reported: true, spare: func(w *ward) { w.register("a") }},
		{name: "heartbeat for ever", check: CheckEndless, damage: func(w *ward) { w.Do("PERSIST", key(w, "")) },
			spare: func(w *ward) { w.Do("PEXPIRE", key(w, ""), 1_000_000_000) }},
		{name: "lease for ever", check: CheckEndless, damage: do("SET", "lease", "w"),
			spare: do("SET", "lease", "w", "EX", 100)},
	}
}

func damagedIndexes() []damage {
	return []damage{
		{name: "place of a key that nobody has", check: CheckKeyPlace,
			damage: do("ZADD", "holding", 0, "0000\x00x\x00gone"), spare: func(w *ward) {
				w.Do("HSET", "turning", "a", 0)
				w.Do("HSET", "foreign", "away", "1 a\x00\x00x")
				w.Do("ZADD", "holding", 0, "0000\x00x\x00away")
			}},
		{name: "queue that is not ready", check: CheckReady, damage: do("SREM", "ready", "a"),
			spare: do("LPUSH", "wake:a", "1")},
		{name: "ready without jobs", check: CheckReady, damage: do("SADD", "ready", "b"),
			spare: func(w *ward) { w.add("b", "b1") }},
		{name: "queue without token", check: CheckToken, damage: do("UNLINK", "wake:a"),
			spare: do("LPUSH", "wake:b", "1")},
		{name: "queue that is not listed", check: CheckQueueName, damage: do("ZREM", "queues", "a"),
			spare: do("ZADD", "queues", 5, "old")},
		{name: "queue that nobody serves", check: CheckUnserved, damage: func(w *ward) { w.add("nobody", "n1") },
			reported: true, spare: func(w *ward) { w.add("b", "b1") }},
		{name: "outcome without time", check: CheckOutcome, damage: do("ZREM", "outcomes:until", "done"),
			spare: do("ZADD", "outcomes:until", 5, "done")},
		{name: "time without outcome", check: CheckOutcome, damage: do("ZADD", "outcomes:until", 5, "gone"),
			spare: do("HSET", "outcomes", "done", "x")},
		{name: "ended job without details", check: CheckOutcome, damage: do("ZADD", "ended:done:a", 5, "gone"),
			spare: func(w *ward) {
				w.Do("ZADD", "ended:done:a", 5, "done")
				w.Do("HSET", "details:done:a", "done", "{}", "", 2)
			}},
		{name: "details of a job that is not listed", check: CheckOutcome,
			damage: do("HSET", "details:deleted:a", "gone", "{}", "", 2), spare: func(w *ward) {
				w.Do("HSET", "details:deleted:a", "done", "{}", "", 2)
				w.Do("ZADD", "ended:deleted:a", 5, "done")
			}},
		{name: "old lane", check: CheckLane, damage: do("HSET", "lanes", "old", "7 1000 3=duplicate"),
			spare: func(w *ward) {
				w.Do("HSET", "lanes", "new", fmt.Sprint("7 ", time.Now().Add(-23*time.Hour).UnixMilli()))
			}},
		{name: "morgue over its limit", check: CheckMorgue, damage: func(w *ward) { w.morgue = -1 },
			reported: true, spare: func(w *ward) { w.morgue = 1 }},
	}
}
