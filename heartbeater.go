package work

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// heartbeater keeps a worker alive in Redis over a connection of its own. It also carries check-ins there and brings
// back what the daemons should know. Its retries do not slow down: after an outage the first worker that beats again
// would otherwise find the others dead.
type heartbeater struct {
	worker *worker
	health health
	conn   rdb.Conn

	dialled bool            // not for the first time
	doubted chan<- struct{} // closed after the beat that somebody waits for
	hinted  time.Time       // when a hint was followed last
	clock   jumps
	sent    time.Time // when the last heartbeat was sent
	fleet   bool      // so many workers are registered that what each idle one costs adds up
}

// The times of a heartbeat.
const (
	beatInterval = time.Second
	beatLife     = 3 * time.Second // how long a worker counts as alive after its last heartbeat
	beatTimeout  = time.Second
	beatRetry    = 300 * time.Millisecond
	leaseLife    = 3 * time.Second
	hintInterval = 20 * time.Millisecond // hints closer together than this are not followed one by one

	minBeatLife = time.Second
	maxBeatLife = rdb.MaxBeatLife

	fleetOf = 1_000 // workers
)

// beats are the times of a worker's heartbeat. A short life needs more of them, and has less patience with each; with a
// long one they still come each second, because of what else they bring.
type beats struct{ life, interval, timeout, retry time.Duration }

func beatsOf(life time.Duration) beats {
	return beats{
		life: life, interval: min(beatInterval, life/3), timeout: min(beatTimeout, life/3),
		retry: min(beatRetry, life/10),
	}
}

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
		h.worker.remind()
		h.worker.announceHistory()
		if err != nil {
			h.worker.disturbed.Store(true)
			h.worker.mistrust()
			h.disconnect()
			backoff.Pause(ctx, h.worker.beats.retry)
			continue
		}
		h.doubted = h.rest(ctx)
	}
}

// untilBeat is how long it is until the next beat. The workers of a pool beat together, so that when their process dies
// they are found dead together, and what they held goes back in its order.
func (p *WorkerPool) untilBeat(now time.Time, interval time.Duration) time.Duration {
	p.firstBeat.CompareAndSwap(0, now.UnixNano())
	since := now.Sub(time.Unix(0, p.firstBeat.Load()))
	wait := interval - since%interval
	if wait < interval/10 { // there was a beat just now
		wait += interval
	}
	return wait
}

// answerDoubt tells whoever waits for a beat that it was made, or will not be.
func (h *heartbeater) answerDoubt() {
	if h.doubted != nil {
		close(h.doubted)
		h.doubted = nil
	}
}

// spares tells whether a heartbeat may be left out. In a large fleet workers that hold nothing send every second one:
// were one of them taken for dead nothing would be lost, and what a heartbeat tells also comes as a hint, or as a token.
// Whoever gets a job meanwhile sends one at once.
func (h *heartbeater) spares() bool {
	w := h.worker
	return h.fleet && w.slots.held.Load() == 0 && w.pool.options.FenceAfter == 0 && !w.daemons.watches() &&
		!w.missed.Swap(false) && time.Since(h.sent) < w.beats.interval*3/2
}

// rest waits until the next beat is due, or until somebody doubts that the worker is registered.
func (h *heartbeater) rest(ctx context.Context) chan<- struct{} {
	timer := time.NewTimer(h.worker.pool.untilBeat(time.Now(), h.worker.beats.interval))
	defer timer.Stop()
	defer h.worker.spared.Store(false)
	for hints, spared := h.worker.hints, false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			if spared {
				return nil
			}
			spared = true
			h.worker.spared.Store(true) // first: what is fetched from now on ends it
			if !h.spares() {
				return nil
			}
			timer.Reset(h.worker.pool.untilBeat(time.Now(), h.worker.beats.interval))
		case doubted := <-h.worker.doubts:
			return doubted
		case <-h.worker.sooner.given:
			if spared {
				return nil
			}
		case <-hints:
			if err := h.callOff(ctx); err != nil {
				h.worker.mistrust()
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
	ctx, cancel := context.WithTimeout(ctx, h.worker.beats.timeout)
	defer cancel()
	if h.conn != nil && h.conn.Broken() { // by a deadline that came just when the answer had come
		h.disconnect()
	}
	if h.conn == nil {
		conn, err := h.worker.driver.Dial(ctx)
		if err != nil {
			return err
		}
		if h.dialled {
			h.worker.mistrust() // it may be another Redis
		}
		h.conn, h.dialled = conn, true
	}
	c := h.worker.claimant()
	checkins, left := c.news()
	sent, begun := h.worker.clock.ours(), time.Now()
	h.sent = begun
	pulse, err := c.rdb.Beat(ctx, h.conn, rdb.Beat{
		Life: h.worker.beats.life, Epoch: c.knownEpoch(), Lease: h.worker.daemons.lease(time.Now()),
		Waits:    h.worker.waits.Load(),
		CheckIns: checkins, Ended: left, Along: h.worker.ledger.news(h.worker.store, false),
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
	h.worker.heard(begun)
	h.worker.absolveOwed(ctx)
	if h.clock.setBack(pulse.Time, begun) {
		h.clock.told = h.worker.daemons.clockSetBack(ctx) == nil
	}
	h.worker.clock.saw(pulse.Time, sent, h.worker.clock.ours())
	h.fleet = pulse.Workers > h.worker.pool.fleet
	h.worker.daemons.pulse(pulse)
	h.worker.obey(rdb.Wish(pulse.Wanted))
	if pulse.Called {
		h.worker.looks.give()
	}
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
