package work

import (
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
)

// processTogether runs a batch to its end, but for the jobs that a gate keeps from beginning.
func (p *processor) processTogether(b *batchRun) {
	var begin time.Time // when a rate lets the last of them begin
	for _, r := range b.all() {
		if r.notBefore.After(begin) {
			begin = r.notBefore
		}
	}
	if !begin.IsZero() {
		backoff.Pause(b.worker.life, time.Until(begin))
	}
	if p.admitTogether(b) {
		p.beginTogether(b)
		p.runCurrent()
	}
}

// admitTogether asks the gates about each job. Those that may not begin leave, as they would by themselves. Where code
// of the program ends this goroutine, those about which nobody has decided are tried again later.
func (p *processor) admitTogether(b *batchRun) (begins bool) {
	w, open := b.worker, slices.Clone(b.all())
	var admitted []*run
	defer func() {
		if begins {
			return
		}
		defer w.slots.Vacate()
		defer w.slots.TakeUp()
		for _, r := range append(admitted, open...) {
			r.begun.Store(0)
			defer r.leave()
			w.handOver(r, deferral())
		}
	}()
	for len(open) > 0 {
		r := open[0]
		switch goesOn := w.admit(r) && r.markBegun(); {
		case goesOn && len(admitted) > 0 && r.attempt.Parent != admitted[0].attempt.Parent:
			w.handOver(r, decision{verb: verbRelease}) // of an identity that the worker has lost meanwhile
			r.leave()
		case goesOn:
			admitted = append(admitted, r)
		default:
			r.leave()
		}
		open = open[1:]
	}
	b.mu.Lock()
	b.runs = admitted
	b.mu.Unlock()
	return len(admitted) > 0
}

// beginTogether gives the batch its ctx. It ends when all of its jobs are cancelled, with the worker, or when the time
// of the job is up that may take longest; jobs with less time have a limit of their own, by which their outcome is
// judged.
func (p *processor) beginTogether(b *batchRun) {
	w, lead := b.worker, b.lead()
	p.current, p.calls = lead, false
	w.noteBegun()
	b.begun = time.Now()
	b.attempt.Parent, b.attempt.Labels, b.attempt.Gate = lead.attempt.Parent, lead.registration.labels, w.fence
	b.attempt.Key, b.attempt.Own = jobKey{}, lead.job
	b.ctx = &b.attempt
	b.limit()
	b.mu.Lock()
	b.ready = true
	b.mu.Unlock()
	b.noteCancel() // one of them may have been cancelled before there was anything to end
	if w.events.perJob() {
		b.tellEach(b.runs, func(r *run) { w.events.emitHere(event.JobStarted{JobRef: r.ref(), Waited: r.waited()}) })
	}
}

// endTogether decides about each job, and gives all outcomes to the settler at once, which sends them as one. What
// calls code of the program is in a goroutine of its own: the job whose error or observer ends that has its outcome,
// and the next one is gone on with.
func (p *processor) endTogether(b *batchRun, err error) {
	w, lead, runs := b.worker, p.current, b.runs
	p.current = nil
	elapsed := time.Since(b.begun)
	if absence := lead.absence.Load(); absence != nil {
		absence.Close()
	}
	defer lead.vacate()
	defer func() {
		for _, r := range runs {
			r.leave()
			r.endContext()
		}
		if b.stop != nil {
			b.stop()
		}
		b.attempt.End(nil)
	}()
	b.tellEach(runs, func(r *run) { b.conclude(r, err, elapsed) })
	defer func() { w.outcomes.PutAll(b.ended) }()
	b.tellEach(b.ended, func(r *run) {
		if r.decision.verb != verbDone || w.events.perJob() {
			w.events.emitHere(r.outcomeEvent(r.decision, elapsed))
		}
	})
	if w.events.perJob() {
		w.events.emit(event.BatchEnded{Worker: lead.session.rdb.ID, Name: lead.job.Name, Jobs: len(runs),
			Elapsed: elapsed, Err: err})
	}
}
