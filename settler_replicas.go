package work

import (
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/replicas"
)

// The bounds of WorkerOptions.WaitReplicas.
const (
	// laneTrust is how long after a settlement its number is compared: the janitor forgets lanes after a day.
	laneTrust = 12 * time.Hour
	// mostLaneRewinds is how many failovers are kept in mind.
	mostLaneRewinds = 16
)

// outcomeReplicas keeps outcomes that Redis has taken until replicas have them. Each settlement ends with a call that
// writes its number, so whoever is asked later and knows that number has its outcomes. While it waits the settler goes
// on, and so do the processors; the runs stay held, so that an outcome that a failover has lost is sent again.
//
// All is the settler's, but for what is answered.
type outcomeReplicas struct {
	settler   *settler
	wanted    int
	wait      time.Duration
	confirmer *replicas.Confirmer
	health    healthreport.Reporter

	lane     string
	number   int64     // of the present settlement
	known    int64     // the last one that was answered
	answered time.Time // when that was
	unnoted  error     // why the present one has no number in Redis; nil if it has
	rewinds  []rdb.Rewind
	waiting  map[int64][]*batch // by number

	mu      sync.Mutex
	results map[int64]replicas.Result // by number; not booked yet
}

// newOutcomeReplicas returns nil where a pool waits for no replicas.
func newOutcomeReplicas(s *settler) *outcomeReplicas {
	options := &s.worker.engine.options
	if options.WaitReplicas == 0 {
		return nil
	}
	return &outcomeReplicas{
		settler: s, wanted: options.WaitReplicas, wait: options.WaitTimeout,
		confirmer: replicas.New(replicas.Config{Dial: replicas.Of(s.worker.store), Closed: ErrShutdown}),
		health:    healthreport.Reporter{Component: "settler, replicas", Emit: s.worker.events.emit},
		lane:      ids.Random(16), waiting: map[int64][]*batch{}, results: map[int64]replicas.Result{},
	}
}

// next names the settlement that is about to be sent.
func (o *outcomeReplicas) next() rdb.LaneCall {
	o.number++
	call := rdb.LaneCall{Lane: o.lane, Number: o.number}
	if since := time.Now().Round(0).Sub(o.answered); since >= 0 && since < laneTrust {
		call.Known = o.known
	}
	return call
}

// noted takes what Redis has said to the number of the present settlement.
func (o *outcomeReplicas) noted(answer rdb.Noted) {
	if o.unnoted = answer.Err; answer.Err != nil {
		return
	}
	o.known, o.answered = o.number, time.Now().Round(0)
	if answer.Rewound != (rdb.Rewind{}) {
		if len(o.rewinds) == mostLaneRewinds {
			o.rewinds = slices.Delete(o.rewinds, 0, 1)
		}
		o.rewinds = append(o.rewinds, answer.Rewound)
	}
}

// hold keeps runs whose outcomes the present settlement has brought. It returns false where they are not waited for:
// the number could not be written.
func (o *outcomeReplicas) hold(of *session, runs []*run) bool {
	if o.unnoted != nil {
		return false
	}
	for _, r := range runs {
		r.settlement.done = true
		o.settler.unpark(r)
	}
	o.settler.worker.leaveGatherers(runs)
	o.waiting[o.number] = append(o.waiting[o.number], &batch{session: of, runs: runs})
	o.settler.worker.slots.Unconfirmed(len(runs))
	return true
}

// ask begins to wait for the present settlement.
func (o *outcomeReplicas) ask() {
	number := o.number
	if o.unnoted != nil {
		o.health.Report(o.unnoted)
	}
	if len(o.waiting[number]) == 0 {
		return
	}
	o.confirmer.Confirm(replicas.Call{Lane: o.lane, Number: number, Replicas: o.wanted, Until: time.Now().Add(o.wait)},
		func(result replicas.Result) {
			o.mu.Lock()
			o.results[number] = result
			o.mu.Unlock()
			o.settler.worker.outcomes.Filled.Wake()
		})
}

// book counts outcomes as acknowledged that replicas have, or had time enough to get: they are stored. Those that a
// failover has lost are sent again: their claims stand again, unless what fetched them is lost as well.
func (o *outcomeReplicas) book() {
	s := o.settler
	for number, result, ok := o.take(); ok; number, result, ok = o.take() {
		batches := o.waiting[number]
		delete(o.waiting, number)
		lost := result.Lost ||
			slices.ContainsFunc(o.rewinds, func(r rdb.Rewind) bool { return r.Lost(number) })
		s.acknowledged = 0
		for _, b := range batches {
			s.worker.slots.Unconfirmed(-len(b.runs))
			if lost {
				o.sendAgain(b)
			} else {
				s.finish(b.session, b.runs)
			}
		}
		if lost {
			s.worker.surveyAgain()
			continue
		}
		s.emitEvents()
		o.health.Report(o.few(result))
		s.tellSettled(batches[0].session)
	}
}

// take returns one of the results that are not booked. Should an observer end this goroutine, the next one is called
// for the others.
func (o *outcomeReplicas) take() (number int64, result replicas.Result, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for number, result = range o.results {
		delete(o.results, number)
		if len(o.results) > 0 {
			o.settler.worker.outcomes.Filled.Wake()
		}
		return number, result, true
	}
	return 0, result, false
}

// few is what to report of a wait: with the partition, where there are several.
func (o *outcomeReplicas) few(result replicas.Result) error {
	if result.Confirmed >= o.wanted {
		return nil
	}
	few := &ReplicasError{Wanted: o.wanted, Confirmed: result.Confirmed, Err: result.Err}
	if w := o.settler.worker; !w.engine.directory.Map().Single() {
		return &PartitionError{Partition: w.site.partition, Err: few}
	}
	return few
}

// sendAgain puts the runs of a batch back to what is to be sent.
func (o *outcomeReplicas) sendAgain(b *batch) {
	for _, r := range b.runs {
		r.settlement.done, r.settlement.sent = false, true
	}
	o.settler.pending = append(o.settler.pending, b.runs...)
}

// tellSettled tells how many outcomes were acknowledged. It comes last, since an observer may end this goroutine.
func (s *settler) tellSettled(of *session) {
	if s.acknowledged > 0 && s.worker.events.perJob() {
		s.worker.events.emitHere(event.JobsSettled{Worker: of.rdb.ID, Jobs: s.acknowledged})
	}
}
