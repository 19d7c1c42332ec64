package rdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// leading is who moves in these tests.
var leading = rdb.Lead{Token: "mover", Life: time.Minute}

// led lets the mover lead where w1 holds a1, a2 and b1, a3 waits with a lock and all that a job may have, b2 is
// scheduled, b3 is a straggler that has ended, and there are a lock without a job and a schedule.
func led(t *testing.T, s *site) {
	t.Helper()
	holding(t, s)
	s.plan(t, "b", "b2", 60_000)
	s.cmd(t, "HSET", "trail", "a3", `{"log":true}`)
	s.cmd(t, "HSET", "crashes", "a3", "w0")
	s.cmd(t, "HSET", "waited", "a3", "1")
	s.cmd(t, "SADD", "cancelled", "a3")
	s.cmd(t, "HSET", "unique", "da", "a3 0 f", "d1", "a1 0 f", "once", "gone 0 t")
	s.cmd(t, "HSET", "stragglers", "b3", "1 b\x00d3", "a1", "1 a\x00dx")
	s.cmd(t, "HSET", "schedules", "s1", "{}")
	s.cmd(t, "HSET", "ticks", "s1", "7 x")
	s.cmd(t, "HSET", "frozen", "", "9999999999998 last 0") // later than any clock: the next number is known
	ok, err := s.store.TakeLead(background, leading)
	require.NoError(t, err)
	require.True(t, ok)
}

// leavers are one of each kind.
func leavers() []rdb.MoveItem {
	return []rdb.MoveItem{
		{Kind: rdb.MoveBound, ID: "a3", Digest: "da", Queue: "a"},
		{Kind: rdb.MoveBound, ID: "a2", Queue: "a"},
		{Kind: rdb.MoveKnown, ID: "a1", Digest: "dx", Queue: "a"},
		{Kind: rdb.MoveKnown, ID: "b3", Digest: "d3", Queue: "b"},
		{Kind: rdb.MoveLoose, ID: "b2", Queue: "b"},
		{Kind: rdb.MoveLock, ID: "once"},
		{Kind: rdb.MoveSchedule, ID: "s1"},
	}
}

// frozen is led, with the batch of leavers under way.
func frozen(t *testing.T, s *site) rdb.Frozen {
	t.Helper()
	led(t, s)
	f, err := s.store.Freeze(background, leading, rdb.Target{Partition: 1}, leavers())
	require.NoError(t, err)
	return f
}

// arriving are one of each kind, as they come from partition 1.
func arriving() []rdb.Moved {
	return []rdb.Moved{
		{What: rdb.MovedJob, ID: "x", Place: "queue", Queue: "a", Record: []byte("rx"), Trail: []byte("tx"),
			Crashes: []byte("w0"), Waited: []byte("5"), Cancelled: true, Digest: "dx", Lock: "x 0 f",
			Objects: []string{"sha"}},
		{What: rdb.MovedJob, ID: "y", Place: "scheduled", Score: "99", Queue: "b", Record: []byte("ry")},
		{What: rdb.MovedHeld, ID: "h", Queue: "a", Digest: "dh", Lock: "h 0 f"},
		{What: rdb.MovedHeld, ID: "a1", Queue: "a"},
		{What: rdb.MovedGone, ID: "g", Queue: "a", Digest: "dg"},
		{What: rdb.MovedLock, ID: "once", Lock: "gone 0 t"},
		{What: rdb.MovedSchedule, ID: "s1", Record: []byte("{}"), Trail: []byte("7 x")},
	}
}

func awaited(t *testing.T, s *site) {
	t.Helper()
	holding(t, s)
	s.cmd(t, "HSET", "limits", "a", "0 2 - - - code 2 - -")
	s.cmd(t, "HSET", "foreign", "g", "1 a\x00dg")
	s.cmd(t, "SADD", "running:a", "g", "a1")
	s.cmd(t, "HSET", "unique", "dg", "g 0 f")
	s.cmd(t, "SADD", "departed", "y")
	s.cmd(t, "LPUSH", "queue:b", "y")
}

// moving are the transitions of movers.
func moving() []transition {
	receive := func(_ *site, store *rdb.Store) (any, error) {
		return store.Receive(background, rdb.Reception{Source: 1, Batch: rdb.Batch{Number: 4, Name: "one"}}, arriving())
	}
	nothing := func(*testing.T, *site) {}
	return []transition{
		{name: "lead", script: "partition/lead", prepare: nothing, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.TakeLead(background, leading)
		}},
		{name: "lead, kept", script: "partition/lead", reads: true, prepare: led, // it changes how long that lasts
			send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.KeepLead(background, leading) }},
		{name: "lead, given up", script: "partition/lead", prepare: led,
			send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.GiveUpLead(background, leading) }},
		{name: "freeze", script: "partition/freeze", timed: true, prepare: led,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Freeze(background, leading, rdb.Target{Partition: 1, Front: true}, leavers())
			}},
		{name: "receive", script: "partition/receive", storing: true, prepare: awaited, send: receive},
		{name: "keep", script: "partition/keep", storing: true, timed: true, prepare: func(t *testing.T, s *site) {
			from := s.fresh(s.namespace + "/1")
			from.cmd(t, "RPUSH", "log:x", "# 1", "1 {}")
			from.cmd(t, "SET", "state:x", "{}")
			from.cmd(t, "HSET", "steps:x", "", "digest 10", "one", "done 1 2 int\n3")
			from.cmd(t, "RPUSH", "mail:x", "digest 10", "1 mail\x002")
		},
			send: func(s *site, store *rdb.Store) (any, error) {
				return nil, s.fresh(s.namespace+"/1").store.CopyContents(background, store, []string{"x"})
			}},
		{name: "hand over", script: "partition/hand_over", prepare: func(t *testing.T, s *site) {
			frozen(t, s)
			s.cmd(t, "SET", "state:a3", "{}")
			s.cmd(t, "SADD", "object:sha:jobs", "a3")
			s.cmd(t, "HSET", "foreign", "b1", "1 b\x00")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			moved := arriving()[:0:0]
			moved = append(moved, rdb.Moved{What: rdb.MovedJob, ID: "a3", Contents: true, Objects: []string{"sha"}},
				rdb.Moved{What: rdb.MovedJob, ID: "b2"}, rdb.Moved{What: rdb.MovedGone, ID: "b3", Digest: "d3"},
				rdb.Moved{What: rdb.MovedHeld, ID: "a1", Digest: "dx", Freed: true},
				rdb.Moved{What: rdb.MovedHeld, ID: "b1", Queue: "b"}, rdb.Moved{What: rdb.MovedLock, ID: "once"},
				rdb.Moved{What: rdb.MovedSchedule, ID: "s1"})
			return store.HandOver(background, leading, 9999999999999, rdb.HandedOver{Moved: moved,
				Received: rdb.Received{Home: []int{4}}, Cancelled: map[string]bool{"a3": true}})
		}},
		{name: "thaw", script: "partition/thaw", prepare: func(t *testing.T, s *site) { frozen(t, s) },
			send: func(_ *site, store *rdb.Store) (any, error) {
				return nil, store.Thaw(background, leading, 9999999999999, 0)
			}},
		{name: "forget tracked", script: "partition/forget_tracked", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "lanes", "", "6")
			s.cmd(t, "RPUSH", "tracked", "x\x00d\x00a")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.ForgetTracked(background, 6) }},
		{name: "tracked", script: "partition/tracked", once: true, prepare: func(t *testing.T, s *site) {
			led(t, s)
			s.cmd(t, "RPUSH", "tracked", "x\x00d\x00a", "y\x00\x00b")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return store.Tracked(background, leading, 1) }},
	}
}

// callsOfMoving has every method of movers make its call.
func callsOfMoving(r *recorder) {
	store := rdb.NewStore(r, "ns")
	ignore := func(...any) {}
	ignore(store.TakeLead(background, leading))
	ignore(store.KeepLead(background, leading))
	ignore(store.Freeze(background, leading, rdb.Target{Partition: 1}, leavers()))
	plain := arriving()
	plain[0].Objects = nil // keys of another kind
	ignore(store.Receive(background, rdb.Reception{Source: 1, Batch: rdb.Batch{Number: 4, Name: "one"}}, plain))
	ignore(store.HandOver(background, leading, 1, rdb.HandedOver{Moved: arriving(),
		Received: rdb.Received{Home: []int{3}}}))
	ignore(store.HoldKeys(background, leading, rdb.Leaving{}))
	holder := rdb.Mender{Store: rdb.NewStore(oneHolder{r}, "ns"), Mend: true}
	_, faults, err := holder.AgreeKeys(background, rdb.KeysHolding, "")
	ignore(faults, err)
	ignore(store.Thaw(background, leading, 4, 0))
	ignore(store.ForgetTracked(background, 6))
	ignore(store.Tracked(background, leading, 0))
	contents := oneContent{r}
	ignore(rdb.NewStore(contents, "ns").CopyContents(background, rdb.NewStore(contents, "ns"), []string{"x"}))
}

// oneContent answers reads with a log, a state, steps and a mailbox, so that the script is called for each.
type oneContent struct{ *recorder }

func (o oneContent) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Script != nil {
		return o.recorder.Pipeline(ctx, calls...)
	}
	list, life := redisconn.Reply{Value: []any{[]byte("# 1"), []byte("2")}}, redisconn.Reply{Value: int64(1)}
	return []redisconn.Reply{list, life, {Value: []byte("{}")}, life, list, life, list, life}, nil
}

// oneHolder is a Redis in which a job of queue a has a place of its key.
type oneHolder struct{ *recorder }

func (o oneHolder) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	switch {
	case calls[0].Script != nil:
		return o.recorder.Pipeline(ctx, calls...)
	case calls[0].Command == "HGETALL":
		return []redisconn.Reply{{Value: []any{[]byte("a"), []byte("0")}}}, nil
	}
	return []redisconn.Reply{{Value: []any{[]byte("0000\x00x\x00x1")}}}, nil
}
