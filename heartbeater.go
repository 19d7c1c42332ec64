package work

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// heartbeater keeps a worker alive in Redis over a connection of its own. It also carries check-ins there and brings
// back what the daemons should know. Its retries do not slow down: after an outage the first worker that beats again
// would otherwise find the others dead.
type heartbeater struct {
	worker *worker
	health health
	conn   rdb.Conn

	doubted chan<- struct{} // closed after the beat that somebody waits for
	hinted  time.Time       // when a hint was followed last
}

// The times of a heartbeat.
const (
	beatInterval = time.Second
	beatLife     = 3 * time.Second // how long a worker counts as alive after its last heartbeat
	beatTimeout  = time.Second
	beatRetry    = 300 * time.Millisecond
	leaseLife    = 3 * time.Second
	hintInterval = 20 * time.Millisecond // hints closer together than this are not followed one by one
)

func (h *heartbeater) run(ctx context.Context) {
	defer h.disconnect()
	defer h.answerDoubt() // also when an observer has ended this goroutine
	for ctx.Err() == nil {
		err := h.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		h.worker.vitals.beat(err)
		h.answerDoubt()
		h.health.report(err)
		if err != nil {
			h.disconnect()
			pause(ctx, beatRetry)
			continue
		}
		h.doubted = h.rest(ctx)
	}
}

// answerDoubt tells whoever waits for a beat that it was made, or will not be.
func (h *heartbeater) answerDoubt() {
	if h.doubted != nil {
		close(h.doubted)
		h.doubted = nil
	}
}

// rest waits until the next beat is due, or until somebody doubts that the worker is registered.
func (h *heartbeater) rest(ctx context.Context) chan<- struct{} {
	timer := time.NewTimer(beatInterval)
	defer timer.Stop()
	for hints := h.worker.hints; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			return nil
		case doubted := <-h.worker.doubts:
			return doubted
		case <-hints:
			if err := h.callOff(ctx); err != nil {
				h.disconnect()
				return nil // the next beat comes at once, and tells if there is still trouble
			}
			if time.Since(h.hinted) < hintInterval {
				hints = nil // many jobs are cancelled one by one: what is left comes with the next beat
			}
			h.hinted = time.Now()
		}
	}
}

// errNotRegistered is what a fetch or a survey of a worker meets that Redis does not know: it was declared dead, or
// Redis has lost its data. Only a heartbeat can tell the two apart, and jobs that run must end in the first case only.
var errNotRegistered = errors.New("this worker is not registered in Redis")

// doubt has a heartbeat sent at once, and waits until it was answered or has failed.
func (w *worker) doubt(ctx context.Context) {
	answered := make(chan struct{})
	select {
	case <-ctx.Done():
		return
	case w.doubts <- answered:
	}
	select {
	case <-ctx.Done():
	case <-answered:
	}
}

func (h *heartbeater) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	if h.conn != nil && h.conn.Broken() { // by a deadline that came just when the answer had come
		h.disconnect()
	}
	if h.conn == nil {
		conn, err := h.worker.driver.Dial(ctx)
		if err != nil {
			return err
		}
		h.conn = conn
	}
	c := h.worker.claimant()
	checkins, left := c.news()
	lease := leaseLife
	if !h.worker.first {
		lease = 0
	}
	sent := h.worker.clock.ours()
	pulse, err := c.rdb.Beat(ctx, h.conn, rdb.Beat{
		Life: beatLife, Epoch: c.knownEpoch(), Lease: lease, CheckIns: checkins, Ended: left,
		Along: h.worker.ledger.news(h.worker.store),
	})
	if err != nil {
		c.unsent(checkins, left)
		return err
	}
	h.worker.tellTrouble(h.worker.ledger.answered(pulse.Along))
	switch pulse.State {
	case rdb.Fenced:
		return h.worker.rejoin(c)
	case rdb.Lost:
		return h.worker.reregister(ctx, c)
	}
	h.worker.clock.saw(pulse.Time, sent, h.worker.clock.ours())
	h.worker.daemons.pulse(pulse)
	h.worker.obey(rdb.Wish(pulse.Wanted))
	if h.worker.first {
		if err := h.worker.pool.declareAgain(ctx); err != nil {
			return err
		}
	}
	if pulse.Flags > 0 {
		return h.callOff(ctx)
	}
	return nil
}

func (h *heartbeater) disconnect() {
	if h.conn != nil {
		_ = h.conn.Close() // it is not used again
		h.conn = nil
	}
}
