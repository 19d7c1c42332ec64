package work

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/slowbody"
	"github.com/265d0351/work/internal/workgroup"
)

// UnhealthyError says what keeps a pool from running jobs. errors.Is and errors.As look into each problem.
type UnhealthyError struct{ Problems []HealthProblem } // one at least

// HealthProblem is one thing that is wrong with a pool.
type HealthProblem struct {
	Worker    string    // the id of the worker; empty for the pool as a whole
	Component string    // "pool", "heartbeater", "fetcher", ...
	Since     time.Time // when it was last right; zero for a pool that was never started
	Err       error     // what is wrong
}

// What a [HealthProblem] may be, beside [ErrNotStarted], [ErrStopping], [ErrStopped] and [ErrOutdated].
var (
	// ErrUnanswered: Redis has not answered the heartbeats of a worker lately. What they met with is wrapped beside it.
	ErrUnanswered = errors.New("redis has answered no heartbeat of this worker")
	// ErrStalled: the heartbeater itself does not come round: the process was paused, or is stuck.
	ErrStalled = errors.New("the heartbeater does not come round: the process was paused, or an observer or log " +
		"handler does not return")
	// ErrLoopDown: a background loop has panicked and is about to be started again. A LoopPanicked event has told why.
	ErrLoopDown = errors.New("this loop does not run: it has panicked, and is started again within seconds")
	// ErrProcessorsHang: every processor of the pool is held by a handler that ignores its ctx: the time of its job is
	// up (Timeout or Deadline), or it was cancelled or fenced 5 seconds ago. No job begins until one of them returns.
	ErrProcessorsHang = errors.New("every processor is held by a handler that does not return although its time is up")
)

func (e *UnhealthyError) Error() string { return excerpt.Cut(e.text()) }

func (e *UnhealthyError) text() string {
	return "the worker pool is not healthy: " + excerpt.Some(len(e.Problems), excerpt.Whole-excerpt.Name, "; ",
		func(i int) string { return e.Problems[i].String() })
}

// Unwrap returns what is wrong.
func (e *UnhealthyError) Unwrap() []error {
	var all []error
	for _, problem := range e.Problems {
		all = append(all, problem.Err)
	}
	return all
}

func (p HealthProblem) String() string { return healthreport.Problem(p).String() }

// askTimeout is how long Healthy waits at the most for a heartbeat that it asked for.
const askTimeout = time.Second

// Healthy returns nil when the pool is started and not stopping, Redis has said within the last three seconds
// (HeartbeatLife) that every worker of it is registered, their loops run, and a processor is free or runs a job whose
// time is not up. Otherwise it returns an *[UnhealthyError]. It looks at what is known; only where the last answer is
// too old it asks for a heartbeat and waits for it, no longer than a second or until ctx ends. A pool needs no help to
// become healthy again: it goes on by itself once Redis is back, or a handler returns.
func (p *WorkerPool) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return p.healthyBy(ctx)
}

// healthyBy is Healthy with all the time that ctx has.
func (p *WorkerPool) healthyBy(ctx context.Context) error {
	problems := p.unready()
	if len(problems) > 0 && p.askAgain(ctx, problems) {
		problems = p.unready()
	}
	if len(problems) == 0 {
		return nil
	}
	return &UnhealthyError{Problems: problems}
}

// unready are the problems that keep the pool from running jobs now.
func (p *WorkerPool) unready() []HealthProblem {
	problems := p.problems(liveness.Healthy(p.options.HeartbeatLife))
	late := p.hanging()
	if late == nil {
		return problems
	}
	jobs := excerpt.Some(len(late), excerpt.Whole/4, ", ", func(i int) string { return late[i].Item.title() })
	err := fmt.Errorf("%w: %d processors, jobs %s; have their handlers heed their ctx, and replace this process if "+
		"none returns", ErrProcessorsHang, p.concurrency, jobs)
	return append(problems, HealthProblem{Component: "processors", Since: late[p.concurrency-1].Since, Err: err})
}

// hanging are the runs that keep processors although their time is up, in the order in which it was, if they keep every
// processor of a started pool: also those that a pool which grows has not taken yet. It is nil else.
func (p *WorkerPool) hanging() (all []workgroup.Late[run]) {
	p.mu.Lock()
	groups, started := p.groups, p.state == poolStarted
	p.mu.Unlock()
	hung := 0
	for _, g := range groups {
		late := g.late()
		all, hung = append(all, late...), hung+min(len(late), g.concurrency)
	}
	if !started || hung < p.concurrency {
		return nil
	}
	slices.SortFunc(all, workgroup.Late[run].Compare)
	return all
}

// problems are those of the pool as a whole, or of its workers.
func (p *WorkerPool) problems(limits liveness.Limits) []HealthProblem {
	p.mu.Lock()
	state, since, workers := p.state, p.stopsSince, p.workers
	p.mu.Unlock()
	switch state {
	case poolNew, poolStarting:
		return []HealthProblem{{Component: "pool", Err: ErrNotStarted}}
	case poolStopping:
		select {
		case <-p.stopped:
			return []HealthProblem{{Component: "pool", Since: since, Err: ErrStopped}}
		default:
			return []HealthProblem{{Component: "pool", Since: since, Err: ErrStopping}}
		}
	}
	var found []HealthProblem
	for _, w := range workers {
		id := w.session().rdb.ID
		for _, problem := range w.signs.Problems(time.Now(), limits) {
			found = append(found, healthProblem(id, problem))
		}
		if outdated := w.outdated.Load(); outdated != nil {
			found = append(found, HealthProblem{Worker: id, Component: "layout", Err: *outdated})
		}
		if refused := w.rights.Refused(); refused != nil {
			found = append(found, HealthProblem{Worker: id, Component: "rights", Err: refused})
		}
	}
	return slices.Concat(found, p.members.problems(), p.binding.problems())
}

// healthProblem is what a sign that is too old means.
func healthProblem(worker string, p liveness.Problem) HealthProblem {
	problem := HealthProblem{Worker: worker, Component: p.Component, Since: p.Since}
	switch p.Kind {
	case liveness.Unanswered:
		problem.Err = fmt.Errorf("%w: %w", ErrUnanswered, p.Err)
	case liveness.Stalled:
		problem.Err = ErrStalled
	case liveness.LoopDown:
		problem.Err = ErrLoopDown
	}
	return problem
}

// askAgain has heartbeats sent where they are the problem. It returns false when there is no such worker.
func (p *WorkerPool) askAgain(ctx context.Context, problems []HealthProblem) bool {
	late := map[string]bool{}
	for _, problem := range problems {
		if problem.Component == liveness.Heartbeater {
			late[problem.Worker] = true
		}
	}
	p.mu.Lock()
	workers := p.workers
	p.mu.Unlock()
	var asking sync.WaitGroup
	asked := false
	for _, w := range workers {
		if late[w.session().rdb.ID] {
			asked = true
			asking.Go(func() { w.beatNow(ctx) })
		}
	}
	asking.Wait()
	return asked
}

// HealthHandler serves what the probes of an orchestrator ask for, with status 200 or 503 and a JSON body that says
// why:
//
//	GET /live   fails when the process should be replaced: a loop of a started pool has not run for 10 seconds, or
//	            its heartbeater has not come round for 30. That Redis is away is no reason.
//	GET /ready  is Healthy.
//
// The body is {"status":"ok"} or {"status":"failed","problems":[{"component","worker","since","error"}]}. Its errors
// name hosts and workers, so it belongs on a port for the inside. Below a prefix use http.StripPrefix.
func (p *WorkerPool) HealthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, p.deadly()) })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		unhealthy := errchain.Find[*UnhealthyError](p.Healthy(r.Context()))
		if unhealthy == nil {
			unhealthy = &UnhealthyError{}
		}
		writeHealth(w, unhealthy.Problems)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slowbody.Limit(w, r)
		mux.ServeHTTP(w, r)
	})
}

// deadly are the problems that do not mend themselves. A pool that is not started yet, or is being stopped, has none.
func (p *WorkerPool) deadly() []HealthProblem {
	var found []HealthProblem
	for _, problem := range p.problems(liveness.Alive) {
		if problem.Component != "pool" {
			found = append(found, problem)
		}
	}
	return found
}

func writeHealth(w http.ResponseWriter, problems []HealthProblem) {
	shown := make([]healthreport.Problem, len(problems))
	for i, problem := range problems {
		shown[i] = healthreport.Problem(problem)
	}
	healthreport.Answer(w, shown)
}
