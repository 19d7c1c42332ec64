package flow

import (
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/ids"
)

// Flow is a graph of jobs that is not stored yet. One goroutine makes it; [Enqueue] may be called again with it.
type Flow struct {
	id      string
	jobs    []*Job
	onDone  *work.Entry
	onDeath *work.Entry
	keep    time.Duration
	errs    []error
	given   bool   // somebody has chosen the id
	fresh   bool   // the id was made, and nobody has tried to store the flow
	known   string // its digest, where middleware may have changed what it has
	outer   *Job   // what it is in another flow, if it is in one
}

// defaultKeep is how long a flow is kept when it has ended, unless Retention says otherwise.
const defaultKeep = 24 * time.Hour

// New begins a flow. There is one flow of an id: while one is kept, [Enqueue] of another one stores nothing, and the
// Receipt says Duplicate. The id has 1 to 100 bytes of UTF-8 without control characters and slashes; if it is empty,
// one is made.
func New(id string) *Flow {
	fresh := id == ""
	if fresh {
		id = ids.Job(time.Now())
	}
	return &Flow{id: id, keep: defaultKeep, given: !fresh, fresh: fresh}
}

// ID is the id of the flow: of one that is in another, the id of that, a slash and its name there.
func (f *Flow) ID() string {
	if f.outer != nil {
		return f.outer.flow.ID() + "/" + f.outer.name
	}
	return f.id
}

// Job adds a job, as [work.Enqueuer.Enqueue] would enqueue it. It runs as soon as the flow is stored, unless After
// names others.
func (f *Flow) Job(name string, args ...any) *Job { return f.Entry(work.Entry{Name: name, Args: args}) }

// Entry is Job with an entry, which may have options, and be that of a [work.Kind]: f.Entry(Charge.Entry(args)). With
// a time the job is ready when that has come and those that it waits for have ended; In counts from the store of the
// flow. With Unique it has its lock from then on: where another job has that, [Enqueue] stores nothing and returns a
// *[LockError]. What belongs to a job that is enqueued by itself is refused: an id, Once, Front and WaitReplicas.
func (f *Flow) Entry(entry work.Entry) *Job {
	j := &Job{flow: f, name: entry.Name, entry: entry}
	f.jobs = append(f.jobs, j)
	return j
}

// Flow adds a flow: it begins when a job in its place would run, and has ended there when none of its members is left.
// Then it is done; or dead, if some of its members are not done; or cancelled. The jobs of its OnDone and OnDeath run
// by themselves, and nobody waits for them. Where f is cancelled, paused, resumed, retried or removed, so is the inner
// flow. It can be read, waited for, cancelled, paused and, while f goes on, retried by its own id: that of f, a slash
// and its name.
//
// A flow is in one other at the most, five may be in each other, and one that is in another is made by [New] without an
// id, and has no Retention of its own.
func (f *Flow) Flow(name string, inner *Flow) *Job {
	j := &Job{flow: f, name: name, inner: inner}
	f.jobs = append(f.jobs, j)
	if inner == nil {
		f.refuse("flow "+brief(name)+" in another one", "nil", "give one that New has returned")
		return j
	}
	for at := f; at != nil; at = at.above() {
		if at == inner {
			f.refuse("flow "+brief(name), "in itself", "make another flow for it")
			j.inner = New("")
			return j
		}
	}
	if inner.outer != nil {
		f.refuse("flow "+brief(name), "in two places", "make a flow for each")
		return j
	}
	inner.outer = j
	return j
}

// above is the flow that f is in; nil is none.
func (f *Flow) above() *Flow {
	if f.outer == nil {
		return nil
	}
	return f.outer.flow
}

// OnDone names the job that runs, once, when all members are done. It may ask for the results of all of them, see
// [Result]. A later call replaces an earlier one. It returns f.
func (f *Flow) OnDone(name string, args ...any) *Flow {
	f.onDone = &work.Entry{Name: name, Args: args}
	return f
}

// OnDeath names the job that runs, once, when the flow has ended and some member is dead, or has ended otherwise than
// done; not if the flow was cancelled. It returns f.
func (f *Flow) OnDeath(name string, args ...any) *Flow {
	f.onDeath = &work.Entry{Name: name, Args: args}
	return f
}

// Retention is how long the flow is kept when it has ended, with the results of its members; by default a day. As long
// as it is kept it can be read and retried, and its id is taken. It counts in whole milliseconds, and must be above
// zero. It returns f.
func (f *Flow) Retention(d time.Duration) *Flow {
	f.keep = d
	return f
}

// Job is a member of a [Flow] that is not stored yet: a job, or a flow.
type Job struct {
	flow  *Flow
	name  string
	entry work.Entry
	inner *Flow // that it is, instead of a job
	after []edge
	last  int // how many edges there were before the last After
}

// edge is one job that another one waits for.
type edge struct {
	from *Job
	rule rule
}

// Named gives the job another name in the flow than that of the job: each is there once. It has 1 to 80 bytes of UTF-8
// without control characters and slashes, and does not begin with "@". It returns j.
func (j *Job) Named(name string) *Job {
	j.name = name
	return j
}

// With adds options to the job, as [work.Entry] has them; a flow takes none. It returns j.
func (j *Job) With(opts ...work.EnqueueOption) *Job {
	j.entry.Options = append(j.entry.Options[:len(j.entry.Options):len(j.entry.Options)], opts...)
	return j
}

// After has the job wait for others of the same flow: it runs when all of them are done. When one ends otherwise it is
// cancelled, unless Even or Hold says something else. Calls add up. It returns j.
func (j *Job) After(jobs ...*Job) *Job {
	j.last = len(j.after)
	for _, from := range jobs {
		j.after = append(j.after, edge{from: from, rule: ruleCancel})
	}
	return j
}

// End is how a job may end otherwise than done.
type End int

// Dead stands for all ends but done: in the morgue, cancelled, discarded, expired, deleted.
const Dead End = 1

// Even has the job run also when the jobs that the last After named have ended so. It returns j.
func (j *Job) Even(end End) *Job { return j.rule("Even", end, ruleEven) }

// Hold has the job wait on while one of the jobs that the last After named is in the morgue, until that is retried; the
// flow does not end before. With any other end it is cancelled. It returns j.
func (j *Job) Hold(end End) *Job { return j.rule("Hold", end, ruleHold) }

func (j *Job) rule(method string, end End, r rule) *Job {
	if end != Dead {
		j.flow.refuse(method+" of job "+brief(j.name), "given another end than flow.Dead", "use flow.Dead")
	}
	if len(j.after) == j.last {
		j.flow.refuse(method+" of job "+brief(j.name), "called before After",
			"call After first: it says about which jobs")
	}
	for i := j.last; i < len(j.after); i++ {
		j.after[i].rule = r
	}
	return j
}
