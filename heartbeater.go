package work

import (
	"context"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// heartbeater keeps a worker alive in Redis over a connection of its own. It also carries check-ins there and brings
// back what the daemons should know. Its retries do not slow down: after an outage the first worker that beats again
// would otherwise find the others dead.
type heartbeater struct {
	worker *worker
	health healthreport.Reporter
	conn   redisconn.Conn // its own: calls that wait for a connection of the pool would make a living worker look dead

	dialled        bool            // not for the first time
	requested      chan<- struct{} // closed after the beat that somebody waits for
	cancelsChecked time.Time       // when a message about cancelled jobs was followed last
	clock          liveness.Jumps
	sent           time.Time // when the last heartbeat was sent
	answered       time.Time // when the last one that was answered was; zero before the first
	fleet          bool      // so many workers are registered that what each idle one costs adds up
}

// The times of a heartbeat.
const (
	cancelCheckInterval = 20 * time.Millisecond // messages closer together than this are not followed one by one

)

// run is the loop of the heartbeater. After an error it begins anew on another connection, at the pace of beats.Retry,
// and has the fetcher ask again what it holds: a fetch may have failed with the same Redis.
func (h *heartbeater) run(ctx context.Context) {
	defer h.disconnect()
	defer h.answerBeatRequest() // also when a Connection has ended this goroutine
	for ctx.Err() == nil {
		err := h.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		h.worker.signs.Beat(err)
		h.answerBeatRequest()
		h.health.Report(err)
		h.worker.remindOfSurvey()
		h.worker.statsReporter.Announce(h.worker.session().rdb.ID, h.worker.events.emit)
		if err != nil {
			h.worker.queues.waiter.Disturb()
			h.worker.surveyAgain()
			h.disconnect()
			backoff.Pause(ctx, h.worker.beats.Retry)
			continue
		}
		h.worker.passed.Add(1)
		h.requested = h.rest(ctx)
	}
}

// answerBeatRequest tells whoever waits for a beat that it was made, or will not be.
func (h *heartbeater) answerBeatRequest() {
	if h.requested != nil {
		close(h.requested)
		h.requested = nil
	}
}

// maySkip tells whether a heartbeat may be left out. In a large fleet workers that hold nothing send every second one:
// were one of them taken for dead nothing would be lost, and what a heartbeat tells also comes as a hint, or as a
// token. Whoever gets a job meanwhile sends one at once.
func (h *heartbeater) maySkip() bool {
	w := h.worker
	return h.fleet && w.slots.Held() == 0 && w.engine.options.FenceAfter == 0 && !w.daemons.watches() &&
		!w.missed.Swap(false) && time.Since(h.sent) < w.beats.Interval*3/2
}

// rest waits until the next beat is due, or until somebody asks for one at once: then it returns the channel that is to
// be closed after it. Meanwhile it follows hints that jobs are to be cancelled, over the same connection, so that these
// end within milliseconds and not with the next beat.
func (h *heartbeater) rest(ctx context.Context) chan<- struct{} {
	timer := time.NewTimer(h.worker.engine.rhythm.Rest(time.Now(), h.worker.beats.Interval))
	defer timer.Stop()
	defer h.worker.skippingBeat.Store(false)
	for hints, spared := h.worker.cancelHints, false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			if spared {
				return nil
			}
			spared = true
			h.worker.skippingBeat.Store(true) // first: what is fetched from now on ends it
			if !h.maySkip() {
				return nil
			}
			timer.Reset(h.worker.engine.rhythm.Rest(time.Now(), h.worker.beats.Interval))
		case doubted := <-h.worker.beatRequests:
			return doubted
		case <-h.worker.beatSooner:
			if spared {
				return nil
			}
		case <-hints:
			if err := h.cancelFlagged(ctx); err != nil {
				h.worker.surveyAgain()
				h.disconnect()
				return nil // the next beat comes at once, and tells if there is still trouble
			}
			if time.Since(h.cancelsChecked) < cancelCheckInterval {
				hints = nil // many jobs are cancelled one by one: what is left comes with the next beat
			}
			h.cancelsChecked = time.Now()
		}
	}
}

// beatNow has a heartbeat sent at once, and waits until it was answered or has failed.
func (w *worker) beatNow(ctx context.Context) {
	answered := make(chan struct{})
	select {
	case <-ctx.Done():
		return
	case w.beatRequests <- answered:
	}
	select {
	case <-ctx.Done():
	case <-answered:
	}
}

// beat sends one heartbeat and passes on what the answer brings. When the answer is lost the check-ins and the ids of
// ended jobs go along with the next one; to note them twice does no harm. A worker that Redis took for dead goes on
// under a new id, and where Redis has lost its data it is registered again: both end the beat here.
func (h *heartbeater) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.worker.beats.Timeout)
	defer cancel()
	if err := h.connect(ctx); err != nil {
		return err
	}
	c := h.worker.session()
	checkins, left := c.heartbeatNews()
	sent, begun := h.worker.clock.Local(), time.Now()
	h.sent = begun
	h.worker.load.Sample(begun, h.worker.processorsBusy(), h.worker.group.hung())
	counts := h.worker.statsReporter.Calls(false)
	pulse, err := c.rdb.Beat(ctx, h.conn, rdb.Beat{
		Life: h.worker.beats.Life, Epoch: c.knownEpoch(), Lease: h.worker.daemons.lease(time.Now()),
		Waits: h.worker.queues.waiter.Waits(), Ran: c.ran.News(begun), Load: h.worker.load.News(begun),
		CheckIns: checkins, Ended: left, Along: append(counts, h.worker.rights.Calls(h.fleet)...),
	})
	if err != nil {
		c.restoreNews(checkins, left)
		return h.untold(ctx, c, err)
	}
	h.worker.statsReporter.Answered(pulse.Along[:len(counts)])
	h.worker.rights.Answered(ctx, h.conn, c.rdb.ID, pulse.Along[len(counts):])
	switch pulse.State {
	case rdb.Fenced:
		if lost, err := h.registrationLost(ctx, c); lost || err != nil {
			return err
		}
		return h.worker.rejoin(c)
	case rdb.Lost:
		return h.worker.reregister(ctx, c)
	}
	h.answered = begun
	h.worker.heard(begun)
	h.worker.noteFellBack(c)
	h.worker.retractDeaths(ctx)
	if h.clock.SetBack(pulse.Time, begun) {
		h.clock.Dealt(h.worker.daemons.clockSetBack(ctx) == nil)
	}
	h.worker.clock.Learn(pulse.Time, sent, h.worker.clock.Local())
	h.fleet = pulse.Workers > h.worker.engine.times.Fleet
	h.worker.daemons.pulse(pulse)
	if pulse.Map != h.worker.engine.directory.Map().Version {
		h.worker.host.mapIs(pulse.Map)
	}
	h.worker.apply(rdb.Command(pulse.Wanted))
	h.worker.noteLayout(pulse.Outdated)
	h.worker.answerer.Asked(c.rdb.ID, pulse.Asked)
	if pulse.Called {
		h.worker.queues.waiter.Poll()
	}
	if err := h.declareAgain(ctx); err != nil {
		return err
	}
	if pulse.Flags > 0 {
		return h.cancelFlagged(ctx)
	}
	return nil
}

// untold has the next heartbeat tell again what this one could not, and asks for rights where it was refused for them.
func (h *heartbeater) untold(ctx context.Context, c *session, err error) error {
	c.ran.Untold()
	h.worker.load.Untold()
	h.worker.rights.Ask(ctx, h.conn, c.rdb.ID, err)
	return err
}

// declareAgain brings limits and schedules to a Redis that may have forgotten them; one worker does so for all.
func (h *heartbeater) declareAgain(ctx context.Context) error {
	if !h.worker.first {
		return nil
	}
	if h.worker.site.undeclared.Load() {
		h.worker.daemons.forgotten()
	}
	return h.worker.site.declareAgain(ctx)
}

// connect makes sure that there is a connection, another one where the last was broken.
func (h *heartbeater) connect(ctx context.Context) error {
	if h.conn != nil && h.conn.Broken() { // by a deadline that came just when the answer had come
		h.disconnect()
	}
	if h.conn != nil {
		return nil
	}
	conn, err := h.worker.driver.Dial(ctx)
	if err != nil {
		return err
	}
	if h.dialled {
		h.worker.surveyAgain() // it may be another Redis
		h.worker.rights.Moved()
	}
	h.conn, h.dialled = conn, true
	return nil
}

// processorsBusy is how many processors run a handler that does not wait for other jobs.
func (w *worker) processorsBusy() int {
	return max(0, min(w.concurrency, w.slots.Busy()-w.slots.Queued()-w.slots.Away()))
}

// disconnect gives up the connection. After an error it is not known what would be read from it next.
func (h *heartbeater) disconnect() {
	if h.conn != nil {
		_ = h.conn.Close() // it is not used again
		h.conn = nil
	}
}

// apply does what an operator wants of this worker, as its heartbeat has brought it.
func (w *worker) apply(wanted rdb.Command) {
	if !w.desired.Apply(wanted) {
		return
	}
	w.queues.wakeup.Wake()
	w.events.emit(event.WorkerTold{Worker: w.session().rdb.ID, Wanted: string(wanted)})
	switch wanted {
	case rdb.CommandStop:
		w.host.stopByOrder()
	case rdb.CommandNow:
		w.host.stopByOrder()
		w.host.hurryStop()
	}
}

// noteLayout notes whether a newer program has changed the layout of the namespace. A worker that does not know it runs
// what it holds to its end, and fetches nothing more.
func (w *worker) noteLayout(outdated error) {
	if was := w.outdated.Load() != nil; outdated != nil {
		w.outdated.Store(&outdated)
	} else if was {
		w.outdated.Store(nil)
	} else {
		return
	}
	w.queues.wakeup.Wake() // the fetcher may wait for jobs, or rest
	w.layout.Report(outdated)
}

// heard notes that Redis has answered a heartbeat, or a registration, that was sent then.
func (w *worker) heard(sent time.Time) {
	was := w.fence.IsDown()
	w.fence.Answered(sent)
	if was && !w.fence.IsDown() {
		w.queues.wakeup.Wake() // the fetcher rests until now
	}
}

// cutOff ends the ctx of all that the worker runs under its present identity, which it keeps: perhaps nobody has taken
// it away. What runs later has a ctx of its own.
func (w *worker) cutOff() int {
	c := w.session()
	c.renew(ErrFenced)
	w.flushGathered()
	return len(c.runs())
}

// tellCutOff tells of it, and of the handlers that do not return because of it.
func (w *worker) tellCutOff(silence time.Duration, jobs int) {
	held := w.session().runs()
	time.AfterFunc(w.engine.times.Stuck, func() {
		for _, r := range held {
			if r.cutOff() {
				r.reportStuck(ErrFenced)
			}
		}
	})
	w.events.emit(event.WorkerCutOff{Worker: w.session().rdb.ID, Silence: silence, Jobs: jobs})
}

// cancelFlagged asks which of the jobs that the worker holds are to be cancelled, and has them end. With an error some
// may have been told; the flags stay in Redis, and the next heartbeat says that there are some.
func (h *heartbeater) cancelFlagged(ctx context.Context) error {
	if h.conn == nil {
		return nil
	}
	runs := map[string]*run{}
	var ids []string
	for _, r := range h.worker.session().runs() {
		if !r.settled.Load() && !r.cancelRequested.Load() {
			runs[r.job.ID] = r
			ids = append(ids, r.job.ID)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.worker.beats.Timeout)
	defer cancel()
	flagged, err := h.worker.store.Flagged(ctx, h.conn, ids)
	for _, id := range flagged {
		runs[id].requestCancel()
	}
	return err
}

// requestCancel ends the ctx of a run whose job is to be cancelled. Whatever its handler returns, the job then ends as
// cancelled; one that has not begun does not begin. A handler that has other jobs as well goes on.
func (r *run) requestCancel() {
	if r.cancelRequested.Swap(true) {
		return
	}
	r.attempt.End(ErrCancelled)
	r.worker.endGathered(r)
	b := r.together.Load()
	if b != nil {
		b.noteCancel()
	}
	time.AfterFunc(r.worker.engine.times.Stuck, func() {
		if b == nil || b.hasCtx() && b.attempt.Err() != nil {
			r.reportStuck(ErrCancelled)
		}
	})
}

// registrationLost finds out why Redis does not know this worker, and registers it again where nobody has declared it
// dead: a replica has taken over that had not heard of it. Its claims were lost with its registration. Who has heard
// nothing of Redis for longer than a death is noted cannot tell.
func (h *heartbeater) registrationLost(ctx context.Context, c *session) (lost bool, err error) {
	w := h.worker
	if w.stopping() || !h.answered.IsZero() && time.Since(h.answered) > rdb.TakenKept/2 {
		return false, nil
	}
	if lost, err = c.rdb.Unknown(ctx); err != nil || !lost {
		return false, err
	}
	if err := w.register(ctx, c, ""); err != nil {
		return true, err
	}
	c.rdb.FellBackTo(0) // also where nothing was acknowledged to it but that it is known
	w.noteFellBack(c)
	return true, nil
}
