package intake

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/replicas"
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
	Store   Store
	Clock   *redisclock.Clock // learns the clock of Redis from each reply
	Timeout time.Duration     // of each call, when its ctx does not end earlier
	Uploads Uploads           // may be nil where no job has Contents
	Closed  error             // what callers get after Close
	Steps   retry.Steps

	// Witness dials a connection for those who wait for replicas; nil where nobody does.
	Witness func(ctx context.Context) (replicas.Witness, error)
	// Lost is told what Redis has forgotten, in a goroutine that Close waits for; nil: nobody is.
	Lost func(Loss)
}

// Intake stores jobs. All methods may be called concurrently.
type Intake struct {
	lanes   *lanes
	uploads Uploads
	store   Store
}

// New makes an intake. It has no goroutines until somebody calls it.
func New(config Config) *Intake {
	return &Intake{lanes: newLanes(config), uploads: config.Uploads, store: config.Store}
}

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
// order. With the first call that Redis does not take it ends: the jobs behind it are NotStored without an Err. It
// waits for replicas once all calls are made. It returns an error, and tells of none, when it is closed.
func (in *Intake) PutAll(ctx context.Context, jobs []Job, tell func(i int, result Result)) error {
	if err := in.lanes.enter(); err != nil {
		return err
	}
	defer in.lanes.leave()
	most, _ := wanted(jobs)
	all, sent, told := newJobs(jobs), 0, 0
	var parts []sentPart // that are not told of
	for stored := true; stored && sent < len(jobs); {
		p := in.putPart(ctx, jobs, all, sent)
		sent, stored = p.to, p.answer.outcome == Stored
		if parts = append(parts, p); most > 0 && stored && sent < len(jobs) {
			continue
		}
		for _, p := range parts {
			for i := range jobs[p.from:p.to] {
				tell(p.from+i, in.settle(ctx, &jobs[p.from+i], &p.answer, i))
			}
			told = p.to
		}
		parts = parts[:0]
	}
	for i := told; i < len(jobs); i++ {
		tell(i, Result{Outcome: NotStored})
	}
	return nil
}

// sentPart is a part of the jobs of one caller, with the answer to its call.
type sentPart struct {
	from, to int
	answer   answer
}

// putPart stores as many jobs as fit into a call.
func (in *Intake) putPart(ctx context.Context, jobs []Job, all []rdb.NewJob, from int) sentPart {
	to, bytes := from, 0
	for to < len(jobs) && to-from < rdb.MaxBatch && (to == from || bytes+jobs[to].bytes() <= maxCallBytes) {
		bytes += jobs[to].bytes()
		to++
	}
	return sentPart{from, to, in.put(ctx, jobs[from:to], all[from:to], bytes)}
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
	return in.lanes.move(ctx, bytes, step)
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
func (l *lanes) move(ctx context.Context, bytes int, step func(context.Context) error) error {
	if ctx.Err() != nil {
		return excerpt.Error(context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.Timeout+time.Duration(bytes)*time.Microsecond, l.timedOut())
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	err := l.Steps.UntilAnswered(ctx, step)
	if err != nil && l.life.Err() != nil {
		return retry.JoinCause(l.Closed, err)
	}
	return err
}
