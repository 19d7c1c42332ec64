package work

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/loadavg"
	"github.com/265d0351/work/internal/questions"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
	"github.com/265d0351/work/internal/subscription"
	"github.com/265d0351/work/internal/workgroup"
)

// worker is what Redis knows as one worker: an identity, a heartbeat, a fetcher, a settler and processors. A pool has
// one, or several when its concurrency is larger than one should hold.
type worker struct {
	engine *engine
	site   *site
	group  *group
	host   host // the pool
	driver redisconn.Driver
	store  *rdb.Store
	events *stream
	clock  *redisclock.Clock
	first  bool // of its pool: it has the daemons

	concurrency      int
	signs            liveness.Signs
	fence            *liveness.Fence
	deathRetractions []deathRetraction // the heartbeater's
	beats            liveness.Beats

	life context.Context // of everything; ends with ErrShutdown when a stop is over, or gives up
	kill func()

	untilStop context.Context // of what a stop does not wait for: ends with ErrShutdown when one is requested
	beginStop func()

	looked     chan struct{} // closed once the fetcher has looked for work: see afterFirstLook
	haveLooked func()

	current       atomic.Pointer[session]
	rejoining     sync.Mutex
	mu            sync.Mutex
	former        []*session     // identities that were taken away, while something of theirs is held
	unbegun       []*run         // fetched before a stop and not begun when it came
	cutShort      []event.JobRef // runs that a stop gave back although their handlers returned
	stopRequested atomic.Bool
	passed        atomic.Int64          // calls that Redis has taken: of the heartbeater, the fetcher and the settler
	outdated      atomic.Pointer[error] // a newer program has changed the layout of the namespace; nil while none has
	rights        *rights.Watch
	retiring      atomic.Bool // it leaves if it holds nothing at the next look of the scaler
	slots         *workgroup.Slots
	gatherers     map[string]*gatherer // of jobs that are taken together, by name; nil where there are none
	runners       *workgroup.Pool[run]
	outcomes      *workgroup.Outbox[run] // to the settler
	desired       subscription.Desired
	layout        healthreport.Reporter // tells of the change of outdated
	beatRequests  chan chan<- struct{}  // to the heartbeater: see beatNow
	cancelHints   chan struct{}         // to the heartbeater: see hintCancel
	ahead         workgroup.Foresight   // the fetcher's; the settler tells it of runs
	claimsAhead   atomic.Bool           // Redis knows that it may hold more than it runs: see fetcher.fetchAhead
	skippingBeat  atomic.Bool           // a heartbeat is left out: see heartbeater.maySkip
	beatSooner    workgroup.Wakeup      // to the heartbeater: it holds a job, so none is left out any more
	missed        atomic.Bool           // an order came while a heartbeat was under way: the next one is not left out
	restoring     sync.WaitGroup        // of what runs, after a loss of data

	load          loadavg.Meter
	made          time.Time
	answerer      *questions.Answerer
	stats         *history.Counter  // what became of jobs, until Redis is told
	statsReporter *history.Reporter // the heartbeater's, and after it the stop's

	logs    *joblog.Flusher // brings the logs of jobs to Redis
	logging *lifecycle.Loop // begins when somebody logs

	queues                      *queues
	closeSettler                func() // once it runs no more
	fetching, settling, beating *lifecycle.Loop
	daemons                     *daemons
}

// loop makes a background loop that is reported and started again when it panics.
func (w *worker) loop(component string, run func(context.Context)) *lifecycle.Loop {
	return restarting(component, w.events, w.signs.Watched(component, run))
}

// restarting makes a loop of which an event tells when it panics, and which begins anew then. The wait before that
// grows as for calls to Redis, so that a loop that panics at once does not fill the log.
func restarting(component string, events *stream, run func(context.Context)) *lifecycle.Loop {
	return &lifecycle.Loop{
		Run: run,
		Panic: func(value any, stack string) {
			events.emit(event.LoopPanicked{Component: component, Value: value, Stack: stack})
		},
		Restart: backoff.For,
	}
}

// lookGrace is how long what is not in a hurry waits for the first fetch.
const lookGrace = 20 * time.Millisecond

// afterFirstLook lets the fetcher look for work first: a start costs Redis and the program many calls at the same time,
// and the first job waits for one of them.
func (w *worker) afterFirstLook(run func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		grace := time.NewTimer(lookGrace)
		select {
		case <-w.looked:
		case <-grace.C:
		case <-ctx.Done():
		}
		grace.Stop()
		run(ctx)
	}
}

// session is the identity under which the worker fetches now. rejoin puts another one in its place at any time, so who
// makes several calls about the same claims keeps the one it has got.
func (w *worker) session() *session { return w.current.Load() }

// sessions returns the identity of the worker and those that it had before, as long as something of theirs is held.
func (w *worker) sessions() []*session {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.former = slices.DeleteFunc(w.former, func(c *session) bool { return len(c.runs()) == 0 })
	return append([]*session{w.session()}, w.former...)
}

// remember keeps a former identity of which something is held. The fetcher calls it when its fetch was answered after
// the worker went on under a new identity: rejoin has seen nothing of these jobs.
func (w *worker) remember(c *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.former, c) {
		w.former = append(w.former, c)
	}
}

// stopping tells whether a stop was requested. From then on nothing more is fetched or begun, and an identity that was
// taken away is not replaced.
func (w *worker) stopping() bool { return w.stopRequested.Load() }

// tooManyCrashes is the reason for which a job is buried with which enough workers died; nil leaves it to run. The text
// names the workers, since it becomes the reason in the morgue.
func (w *worker) tooManyCrashes(crashes *crash.Record) error {
	if !crashes.ShouldBury(w.engine.options.MaxCrashes) {
		return nil
	}
	workers := crashes.Workers()
	return fmt.Errorf("%d workers died while they held it: %s", len(workers), excerpt.List(workers, ", "))
}

// requeueUnheld puts claims back to the front of their queues that Redis lists for this worker and the worker does not
// hold, and tells of it. It returns how many, and apart what Redis refused of some queues only, such as one whose key
// is broken.
func (w *worker) requeueUnheld(ctx context.Context, c *session, byQueue map[string][]string) (jobs int,
	refused map[string]error, err error) {
	for queue, elements := range byQueue {
		some, failed := w.site.requeued.Requeue(ctx, c.rdb, queue, elements)
		jobs += some
		switch {
		case failed == nil:
		case redisconn.MeaningOf(failed) == redisconn.OfCall:
			if refused == nil {
				refused = map[string]error{}
			}
			refused[queue] = failed
		default:
			err = excerpt.Join(err, failed)
		}
	}
	if jobs > 0 {
		w.events.emit(event.JobsReturned{Worker: c.rdb.ID, Jobs: jobs})
	}
	return jobs, refused, err
}

// maxPerWorker is how many processors one worker has at the most, and maxHeld how many claims: taking one out of a list
// costs Redis the more the longer the list is.
const (
	maxPerWorker = 256
	maxHeld      = 768
)

// queues is what a worker knows of the queues that it serves. The fetcher goes by it; whoever learns something of them
// tells it.
type queues struct {
	wakeup  workgroup.Wakeup      // ends what the fetcher waits for, but for a processor: see worker.callFetcher
	listing subscription.Listing  // what Redis lists with the worker
	waiter  *subscription.Waiter  // the heartbeater tells it what it has seen
	watch   *subscription.Watch   // the settler tells it of room
	surveys *subscription.Surveys // whoever meets with trouble tells it
}

// newQueues has the waiter pass tokens on as long as life lasts, which is that of the worker: a token that came too
// late for one who stops is one that others wait for.
func newQueues(s *site, life context.Context) *queues {
	e := s.engine
	wakeup := workgroup.NewWakeup()
	return &queues{
		wakeup: wakeup,
		waiter: subscription.NewWaiter(subscription.WaiterOptions{
			Driver: e.driver, Store: s.store, Life: life, Timeout: fetchTimeout, Wakeup: wakeup, Emit: e.events.emit,
		}, e.servedQueues()),
		watch: subscription.NewWatch(e.quotaOf), surveys: subscription.NewSurveys(e.times.Survey),
	}
}

// group is up to maxPerWorker processors and the workers that fetch for them: one in each partition in which the pool
// works. A worker settles and beats by itself; the processors do not care where a job is from.
type group struct {
	id          string // by which others see which workers have the same processors
	concurrency int
	first       bool // of its pool: its workers have the daemons of their partitions
	places      *workgroup.Places
	runners     *workgroup.Pool[run]
	overtime    workgroup.Overtime[run]
	processors  sync.WaitGroup
	events      *stream

	adding  sync.Mutex // held by who adds to the runners
	workers []*worker  // guarded by the pool, which replaces the slice
}

// close ends the processors, once all workers have stopped. Those whose handlers do not return are left behind.
func (g *group) close() {
	g.runners.Close()
	if g.places.Busy() == 0 {
		g.processors.Wait()
	}
}

// late are the runs that keep a processor although their ctx has ended. A handler that waits for other jobs keeps none.
func (g *group) late() []workgroup.Late[run] {
	return g.overtime.Held(func(r *run) bool { a := r.absence.Load(); return a != nil && a.Away() })
}

// hung is how many processors such runs keep. More may have come back from a wait than there are processors.
func (g *group) hung() int { return min(len(g.late()), g.concurrency) }

// at is the worker in a partition; nil where there is none.
func (g *group) at(partition int) *worker {
	for _, w := range g.workers {
		if w.site.partition == partition {
			return w
		}
	}
	return nil
}

// give hands runs to the processors.
func (w *worker) give(runs []*run) {
	w.group.adding.Lock()
	defer w.group.adding.Unlock()
	w.runners.Add(runs)
}

// untaken takes back what no processor has taken of what this worker gave.
func (w *worker) untaken() (own []*run) {
	w.group.adding.Lock()
	defer w.group.adding.Unlock()
	var others []*run
	for _, r := range w.runners.Untaken() {
		if r.worker == w {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	w.runners.Add(others)
	return own
}
