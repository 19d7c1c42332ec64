package intake

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/retry"
)

// Store is what an intake needs of Redis. *rdb.Store is one.
type Store interface {
	// EnqueueIn makes one numbered call of a lane: see rdb.Store.
	EnqueueIn(ctx context.Context, in rdb.LaneCall, jobs []rdb.NewJob) (rdb.Enqueued, error)
	// Lanes returns what Redis knows of lanes, in their order.
	Lanes(ctx context.Context, lanes []string) ([]rdb.LaneState, error)
	// Record returns the record of a job, nil when there is none.
	Record(ctx context.Context, id string) ([]byte, error)
	// Amend changes a job that nobody holds.
	Amend(ctx context.Context, a rdb.Amendment) (rdb.Amended, error)
}

// Uploads stores objects in time for the jobs that need them.
type Uploads interface {
	// Ensure returns when the object is there. It may be called again after an error.
	Ensure(ctx context.Context, hash string, content []byte) error
	// Forget says that Redis has not found the object.
	Forget(hash string)
	// ForgetAll says that Redis may have lost any of them.
	ForgetAll()
}

// Config is what an intake is made of.
type Config struct {
	Site                        // of partition 0
	Directory Directory         // knows which others there are; nil: none
	Others    func(int) Site    // of those, by number: asked once for each; nil only without a Directory
	Clock     *redisclock.Clock // learns the clock of Redis from each reply
	Timeout   time.Duration     // of each call, when its ctx does not end earlier
	Closed    error             // what callers get after Close
	Steps     retry.Steps

	// Fetch returns the content of an object of partition 0; nil where jobs of others refer to none of these.
	Fetch func(ctx context.Context, hash string) ([]byte, error)
	// Lost is told what Redis has forgotten, in a goroutine that Close waits for; nil: nobody is.
	Lost func(Loss)
}

// Intake stores jobs. All methods may be called concurrently.
type Intake struct {
	lanes *lanes
}

// New makes an intake. It has no goroutines until somebody calls it.
func New(config Config) *Intake { return &Intake{lanes: newLanes(config)} }

// Put stores one job.
func (in *Intake) Put(ctx context.Context, job *Job) Result {
	if err := in.lanes.enter(); err != nil {
		return Result{Outcome: NotStored, Err: err}
	}
	defer in.lanes.leave()
	a := in.putOne(ctx, job)
	return in.settle(ctx, job, &a, 0)
}

// PutAll stores many jobs in calls of at most rdb.MaxBatch jobs and 1 MiB, and tells what became of each, in their
// order. With the first call that Redis does not take it ends: the jobs behind it are NotStored without an Err. Where
// there are several partitions that is so for those of each home: what is bound to one that is away is not stored, and
// all else is. It waits for replicas once all calls are made. It returns an error, and tells of none, when it is
// closed.
func (in *Intake) PutAll(ctx context.Context, jobs []Job, tell func(i int, result Result)) error {
	if err := in.lanes.enter(); err != nil {
		return err
	}
	defer in.lanes.leave()
	whole := &delivery{all: jobs, jobs: newJobs(jobs)}
	if groups := whole.groups(in.lanes.current()); len(groups) > 1 {
		in.putChains(ctx, whole, groups, tell)
		return nil
	}
	in.putChain(ctx, whole, tell)
	return nil
}

// putChains stores the jobs of each home in calls one after the other, and all homes at the same time.
func (in *Intake) putChains(ctx context.Context, whole *delivery, groups [][]int, tell func(int, Result)) {
	results := make([]Result, len(whole.all))
	var putting sync.WaitGroup
	for _, which := range groups {
		putting.Go(func() {
			some := whole.pick(which)
			defer func() {
				if value := recover(); value != nil {
					for _, i := range which {
						results[i] = Result{Err: in.lanes.Steps.Panicked(value)}
					}
				}
			}()
			in.putChain(ctx, some, func(k int, result Result) {
				whole.all[which[k]].ID = some.all[k].ID
				results[which[k]] = result
			})
		})
	}
	putting.Wait()
	for i, result := range results {
		tell(i, result)
	}
}

// putChain stores jobs in calls one after the other.
func (in *Intake) putChain(ctx context.Context, d *delivery, tell func(i int, result Result)) {
	most, _ := wanted(d.all)
	sent, told := 0, 0
	var parts []sentPart // that are not told of
	for stored := true; stored && sent < len(d.all); {
		p := in.putPart(ctx, d, sent)
		sent, stored = p.to, p.answer.outcome == Stored
		if parts = append(parts, p); most > 0 && stored && sent < len(d.all) {
			continue
		}
		for _, p := range parts {
			for i := range d.all[p.from:p.to] {
				tell(p.from+i, in.settle(ctx, &d.all[p.from+i], &p.answer, i))
			}
			told = p.to
		}
		parts = parts[:0]
	}
	for i := told; i < len(d.all); i++ {
		tell(i, Result{Outcome: NotStored})
	}
}

// sentPart is a part of the jobs of one caller, with the answer to its call.
type sentPart struct {
	from, to int
	answer   answer
}

// putPart stores as many jobs as fit into a call.
func (in *Intake) putPart(ctx context.Context, d *delivery, from int) sentPart {
	to, bytes := from, 0
	for to < len(d.all) && to-from < rdb.MaxBatch && (to == from || bytes+d.all[to].bytes() <= maxCallBytes) {
		bytes += d.all[to].bytes()
		to++
	}
	part := &delivery{all: d.all[from:to], jobs: d.jobs[from:to]}
	p := sentPart{from, to, in.put(ctx, part)}
	for i := range part.all {
		part.all[i].ID = part.jobs[i].ID
	}
	return p
}

// newJobs are the jobs as the store takes them.
func newJobs(jobs []Job) []rdb.NewJob {
	all := make([]rdb.NewJob, len(jobs))
	for i := range jobs {
		all[i] = jobs[i].NewJob
	}
	return all
}

// Ask takes a step that may be repeated, until it is done, ctx ends or the timeout has passed: a question to Redis.
func (in *Intake) Ask(ctx context.Context, step func(context.Context) error) error {
	if err := in.lanes.enter(); err != nil {
		return err
	}
	defer in.lanes.leave()
	return in.lanes.ask(ctx, step)
}

// Move takes a step that moves so many bytes and may be repeated, until it is done, ctx ends or its time is over: the
// timeout, and a second for each MB.
func (in *Intake) Move(ctx context.Context, bytes int, step func(context.Context) error) error {
	if err := in.lanes.enter(); err != nil {
		return err
	}
	defer in.lanes.leave()
	return in.lanes.move(ctx, bytes, in.lanes.Steps, step)
}

// Enter announces a caller that Close has to wait for; Leave must follow, unless there is an error.
func (in *Intake) Enter() error { return in.lanes.enter() }

// Leave says that a caller which has entered is done.
func (in *Intake) Leave() { in.lanes.leave() }

// Callers is how many calls are under way.
func (in *Intake) Callers() int {
	in.lanes.mu.Lock()
	defer in.lanes.mu.Unlock()
	return in.lanes.callers
}

// Close refuses new callers, waits for the present ones as long as a call may take, then ends what is under way. It is
// called once.
func (in *Intake) Close() error { return in.lanes.close() }

// CutOff ends what is under way, so that a Close need not wait for it.
func (in *Intake) CutOff() { in.lanes.cutOff() }

// ask is Ask for a caller that has entered.
func (l *lanes) ask(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Timeout, l.timedOut())
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	return l.Steps.UntilAnswered(ctx, step)
}

// move is Move for a caller that has entered.
func (l *lanes) move(ctx context.Context, bytes int, steps retry.Steps, step func(context.Context) error) error {
	if ctx.Err() != nil {
		return excerpt.Error(context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.Timeout+time.Duration(bytes)*time.Microsecond, l.timedOut())
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	err := steps.UntilAnswered(ctx, step)
	if err != nil && l.life.Err() != nil {
		return retry.JoinCause(l.Closed, err)
	}
	return err
}
