package resize_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/deadworker"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// corpse is a worker that died. Of what it held some may be put back already.
type corpse struct {
	at     int
	worker *rdb.Worker
	holds  []*claim
}

// hire makes a worker of a partition, however that is for others.
func (w *world) hire(i int) *hand {
	w.workers++
	id := fmt.Sprintf("worker-%d-%048d", i, w.workers)
	namespace := partition.Namespace(w.namespace, i)
	_, _, err := rdb.NewStore(w.raw, namespace).Worker(id).Register(context.Background(),
		rdb.Registration{Life: time.Hour, Epoch: "e", Queues: queues})
	require.NoError(w.t, err)
	return &hand{worker: rdb.NewStore(w.faulty, namespace).Worker(id)}
}

// death ends the heartbeats of the worker of a partition, now and then while the answer to a fetch is on its way.
func (w *world) death(i int) {
	h := w.hands[i]
	if w.rng.IntN(3) > 0 && len(h.holds) == 0 {
		return
	}
	if w.faults[i] == "" && w.rng.IntN(2) == 0 {
		_, err := h.worker.Fetch(context.Background(), h.fetches+1, 2, false,
			[]rdb.Share{{Queue: queues[w.rng.IntN(len(queues))]}})
		require.NoError(w.t, err)
	}
	c := &corpse{at: i, worker: h.worker, holds: h.holds}
	if h.pending != nil {
		c.holds = append(c.holds, h.pending)
	}
	for _, held := range c.holds {
		e := held.entry
		switch {
		case !held.sent || w.plain(i, "HEXISTS", "claimed", e.id) == int64(1) && held.then == gone:
			e.state = stored
		case held.then == gone:
			w.over(held)
		}
		w.note("the worker of partition %d dies with job %d, which is %s", i, e.number, e.state)
	}
	key := "worker:" + h.worker.ID
	w.plain(i, "UNLINK", key)
	w.dead = append(w.dead, c)
	w.hands[i] = w.hire(i)
}

// reap puts back what the dead ones of a partition held, as far as that answers. Before that one of them may turn out
// to live on, and end something.
func (w *world) reap(i int) {
	ctx := context.Background()
	for at, c := range w.dead {
		if c.at != i {
			continue
		}
		w.late(c)
		if _, err := w.hands[i].worker.DeclareDead(ctx, 0, c.worker.ID); err != nil {
			return
		}
		d := &deadworker.Dead{Worker: c.worker}
		deadworker.PutBack(ctx, []*deadworker.Dead{d}, deadworker.Given{})
		gone, err := d.Forget(ctx)
		w.note("of a dead worker of partition %d %d jobs are put back, all: %v: %v, %v", i, d.Jobs, gone, d.Err, err)
		if gone {
			w.dead = append(w.dead[:at:at], w.dead[at+1:]...)
		}
		return
	}
}

// late is an end that a worker sends after it was given up.
func (w *world) late(c *corpse) {
	if w.faults[c.at] != "" || len(c.holds) == 0 || w.rng.IntN(3) > 0 {
		return
	}
	held := c.holds[w.rng.IntN(len(c.holds))]
	settled, err := c.worker.Settle(context.Background(), []redisconn.Call{w.end(c.worker, held)})
	require.NoError(w.t, err)
	require.NoError(w.t, settled[0].Err)
	w.note("a worker of partition %d that was given up ends job %d: %v", c.at, held.entry.number, settled[0])
	if len(settled[0].Gone)+len(settled[0].Cancelled) == 0 {
		require.Equal(w.t, stored, held.entry.state, "job %d was ended by a worker that was given up",
			held.entry.number)
		w.over(held)
	}
}

// over notes that a job has ended.
func (w *world) over(c *claim) {
	require.True(w.t, c.cancelled || !c.entry.flagged, "job %d was cancelled, and ended as done", c.entry.number)
	c.entry.state, c.entry.done = gone, !c.cancelled
}

func (w *world) end(worker *rdb.Worker, c *claim) redisconn.Call {
	state := "done"
	if c.cancelled {
		state = "cancelled"
	}
	return worker.End(c.Claim, rdb.Ending{ID: c.entry.id, Queue: c.Queue, State: state,
		Belongings: rdb.Belongings{Lock: c.entry.digest}})
}

// decide makes the call that ends a job, gives it back, or puts it on a shelf.
func (w *world) decide(worker *rdb.Worker, c *claim, back bool) {
	kind := w.rng.IntN(6)
	if c.cancelled || !back {
		kind = 5
	}
	switch kind {
	case 0:
		c.then = stored
		c.call = worker.Release(rdb.Released{Queue: c.Queue, Elements: []string{c.Element}, Ended: true})
	case 1, 2:
		c.then = stored
		shelf := []rdb.Shelf{rdb.ShelfRetry, rdb.ShelfScheduled}[w.rng.IntN(2)]
		c.call = worker.Shelve(rdb.Shelved{Claim: c.Claim, Shelf: shelf, Delay: time.Millisecond,
			Keyed: c.entry.key != ""})
	case 3:
		c.then = buried
		lock := ""
		if c.entry.kind == rdb.UntilEnded {
			lock = c.entry.digest
		}
		c.call = worker.Shelve(rdb.Shelved{Claim: c.Claim, Shelf: rdb.ShelfMorgue, Lock: lock,
			Keyed: c.entry.key != ""})
	default:
		c.then = gone
		c.call = w.end(worker, c)
	}
}

// begin tells whether a job whose lock is free once it begins has begun.
func (w *world) begin(i int, c *claim) bool {
	if c.entry.kind != rdb.UntilBegun || c.entry.begun || c.cancelled {
		return true
	}
	if w.faults[i] == "" {
		stands, err := w.hands[i].worker.Begin(context.Background(), c.Claim, c.entry.digest)
		require.NoError(w.t, err)
		require.True(w.t, stands, "job %d is not held in partition %d any more", c.entry.number, i)
		c.entry.begun = true
	}
	return false
}

// settleOne ends a job of a worker, gives it back or puts it aside, or sends again what was not answered.
func (w *world) settleOne(i int, back bool) {
	h := w.hands[i]
	if h.pending == nil {
		if len(h.holds) == 0 {
			return
		}
		at := w.rng.IntN(len(h.holds))
		c := h.holds[at]
		if !w.begin(i, c) {
			return
		}
		w.decide(h.worker, c, back)
		h.pending, h.holds = c, append(h.holds[:at:at], h.holds[at+1:]...)
	}
	c := h.pending
	settled, err := h.worker.Settle(context.Background(), []redisconn.Call{c.call})
	if err == nil {
		err = settled[0].Err
	}
	w.note("job %d of partition %d is %s: %v", c.entry.number, i, c.then, err)
	switch {
	case err == nil && len(settled[0].Cancelled) > 0:
		require.True(w.t, c.entry.flagged || c.entry.leaving, "job %d ends as cancelled", c.entry.number)
		c.entry.state, c.cancelled, c.sent = held, true, false
		h.pending, h.holds = nil, append(h.holds, c)
	case err == nil:
		require.True(w.t, c.sent || len(settled[0].Gone) == 0, "job %d was taken from who holds it", c.entry.number)
		if c.then == gone {
			w.over(c)
		} else if !c.sent {
			c.entry.state = c.then
		}
		h.pending = nil
	case errors.Is(err, partitiontest.ErrLost) && !c.sent:
		c.sent = true
		w.unanswered(i, c)
	}
}

// unanswered notes what an outcome has done that was executed, and not answered: one that was put back may begin
// elsewhere before that is heard.
func (w *world) unanswered(i int, c *claim) {
	switch {
	case c.then == gone:
		c.entry.state = unsure
	case w.plain(i, "HEXISTS", "claimed", c.entry.id) == int64(0):
		c.entry.state = c.then
	default: // it is to end as cancelled, and nothing was done
		c.sent = false
	}
}
