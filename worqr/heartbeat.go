package worqr

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redisconn"
)

// voidFor is how long a process that was given up cannot start: longer than a request can be on its way.
const voidFor = 10 * time.Minute

// heart is what the loop of the heartbeat knows.
type heart struct {
	client *Client
	conn   redisconn.Conn // of its own: a beat must not queue behind work
	// when the last beat was sent that was answered: the timer stands for one life from then on at least
	good    time.Time
	lapsed  bool // the worker has to be registered anew
	failing bool // an error was reported, and nothing has gone well since
}

// beatAlways keeps the worker alive, which has just been registered, and starts it anew when it was not. After a
// failure it is quick: the timer runs.
func (c *Client) beatAlways(ctx context.Context) {
	h := &heart{client: c, good: c.stands()}
	defer h.disconnect()
	for next := c.options.HeartbeatEvery; backoff.Pause(ctx, next); {
		err := h.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		next = c.options.HeartbeatEvery
		if err != nil {
			h.disconnect()
			next = min(next, 300*time.Millisecond)
			if !h.failing {
				c.told.tell(Failed{Err: err})
			}
		}
		h.failing = err != nil
	}
}

func (h *heart) beat(ctx context.Context) error {
	c := h.client
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	if !h.lapsed {
		alive, err := h.renew(ctx)
		switch {
		case err != nil:
			return err
		case alive:
			return errors.Join(c.recall(ctx), h.look(ctx))
		}
		h.noteLapsed()
	}
	if err := c.restart(ctx); err != nil {
		return err
	}
	h.lapsed, h.good = false, c.stands()
	return nil
}

// renew sends a beat. Without an answer by the time at which the timer may have run out, it has: others may have the
// tasks, and who cannot reach Redis has to stop working on them.
func (h *heart) renew(ctx context.Context) (alive bool, err error) {
	c := h.client
	w, sent := c.registered(), time.Now()
	if w.Life > 0 {
		end := h.good.Add(w.Life)
		bounded, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		defer func() {
			if err != nil && !errors.Is(ctx.Err(), context.Canceled) && !time.Now().Before(end) {
				h.noteLapsed()
			}
		}()
		return h.send(bounded, w, sent)
	}
	return h.send(ctx, w, sent)
}

func (h *heart) send(ctx context.Context, w worqrdb.Worker, sent time.Time) (alive bool, err error) {
	if h.conn != nil && h.conn.Broken() { // by a deadline that came just when the answer had come
		h.disconnect()
	}
	if h.conn == nil {
		if h.conn, err = h.client.driver.Dial(ctx); err != nil {
			h.conn = nil
			return false, err
		}
	}
	alive, err = h.client.store.Beat(ctx, h.conn, w)
	if alive {
		h.good = sent
	}
	return alive, err
}

// noteLapsed ends what the worker runs and tells of it; the next beat registers it anew.
func (h *heart) noteLapsed() {
	h.lapsed = true
	h.client.dismiss(ErrLapsed)
	h.client.told.tell(Lapsed{Worker: h.client.Worker()})
}

func (h *heart) disconnect() {
	if h.conn != nil {
		_ = h.conn.Close() // what was wrong with it is reported
		h.conn = nil
	}
}

// look ends processes that somebody has taken away without a word, as the released program does. It takes two looks
// that do not find one: if that program has cancelled the task, its message has come until then, and says so.
func (h *heart) look(ctx context.Context) error {
	c := h.client
	held := c.unsettled()
	if len(held) == 0 {
		return nil
	}
	missing, err := c.store.Missing(ctx, h.conn, slices.Collect(maps.Keys(held)))
	if err != nil {
		return err
	}
	for id, p := range held {
		c.mu.Lock()
		gone := slices.Contains(missing, id)
		again := gone && p.missed
		p.missed = gone
		c.mu.Unlock()
		if again && c.drop(ctx, p, false) {
			c.told.tell(Cancelled{Queue: p.Queue, Task: p.Task, Processes: []string{p.ID}})
		}
	}
	return nil
}

// unsettled are the processes that nobody is about to end.
func (c *Client) unsettled() map[string]*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := maps.Clone(c.held)
	maps.DeleteFunc(held, func(_ string, p *Process) bool { return p.settling > 0 })
	return held
}

// recall puts back what was perhaps started and has nobody who waits for it, and makes it void where it was not.
func (c *Client) recall(ctx context.Context) error {
	c.mu.Lock()
	doubtful := c.doubtful
	c.mu.Unlock()
	for _, p := range doubtful {
		_, err := c.store.Requeue(ctx, worqrdb.Requeue{
			Worker: p.Worker, Queue: p.Queue, Processes: []string{p.ID}, Void: voidFor,
		})
		if err != nil {
			return err
		}
		c.mu.Lock()
		if len(c.doubtful) > 0 { // it may have lapsed
			c.doubtful = c.doubtful[1:]
		}
		c.mu.Unlock()
	}
	return nil
}
