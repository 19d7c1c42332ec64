package worktest

import (
	"context"
	"strings"
	"testing"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
)

// FlowOutcome is what came of a flow.
type FlowOutcome struct {
	flow.Progress
	States map[string]inspect.MemberState // of each member, by its name
	// the last attempt of each member that had one; "@done" or "@dead" is what ran at the end. A member of a flow that
	// is in it has the name of that, a slash and its own
	Members map[string]*Outcome
	// who ran, in the order in which attempts ended: a member once for each
	Ran []string
}

// End is the last attempt of the job of OnDone or OnDeath; nil where none ran.
func (o *FlowOutcome) End() *Outcome {
	if done := o.Members["@done"]; done != nil {
		return done
	}
	return o.Members["@dead"]
}

// RunFlow stores a flow and runs it to its end, all as in production, through the middleware and the handlers that are
// registered with pool, and returns what came of it: who was done, who died and was cancelled, what members returned,
// and what ran at the end. Attempts that fail are tried again, the clock is moved to the time of each.
//
// The pool itself, its Redis and its observers have no part in it, as with [Run]. Where a job has no handler, or waits
// for one in the morgue ([flow.Job.Hold]), the flow does not end: then its State is still [flow.Running]. It fails the
// test if the flow cannot be stored, and after 20 seconds.
func RunFlow(t testing.TB, pool *work.WorkerPool, f *flow.Flow) *FlowOutcome {
	t.Helper()
	r := New(t)
	r.Hold(t)
	options := r.Options()
	options.Only = nil
	clone := pool.Clone(options)
	inside.Pool(clone).Times.Hasty = true
	ctx, cancel := within(t)
	defer cancel()
	if _, err := flow.Enqueue(ctx, clone.Enqueuer(), f); err != nil {
		_ = clone.Stop(ctx) // it has only a connection to close
		t.Fatalf("worktest: the flow cannot be run: %v", err)
	}
	r.Start(t, clone)
	run := &flowRun{t: t, redis: r, pool: clone, id: f.ID()}
	run.drain(ctx)
	outcome := run.outcome(ctx)
	if err := clone.Stop(ctx); err != nil {
		t.Errorf("worktest: the pool that ran flow %q did not stop in good order: %v", f.ID(), err)
	}
	return outcome
}

// flowRun is a flow under way.
type flowRun struct {
	t     testing.TB
	redis *Redis
	pool  *work.WorkerPool
	id    string
}

// drain runs all that there is. What stands ready beyond what one script puts into queues comes there in between: so it
// is the end when nothing was to be done about flows before, and nothing has run then.
func (r *flowRun) drain(ctx context.Context) {
	r.t.Helper()
	for {
		page, err := inspect.Of(r.pool).Flows(ctx, inspect.FlowsOptions{Filter: inspect.FlowsReleasing, Limit: 1})
		if err != nil {
			r.t.Fatalf("worktest: flow %q cannot be read: %v", r.id, err)
		}
		before := len(r.redis.spy.Events())
		if err := drainAll(ctx, r.redis, r.pool, maxMoves); err != nil {
			r.t.Fatalf("worktest: flow %q did not come to its end: %v%s", r.id, err, remedy(err))
		}
		if len(page.Flows) == 0 && page.Next == "" && len(r.redis.spy.Events()) == before {
			return
		}
	}
}

// outcome reads what came of it.
func (r *flowRun) outcome(ctx context.Context) *FlowOutcome {
	r.t.Helper()
	enq := r.redis.Enqueuer(r.t)
	progress, err := flow.Read(ctx, enq, r.id)
	o := &FlowOutcome{Progress: progress, States: map[string]inspect.MemberState{}, Members: map[string]*Outcome{}}
	for cursor := ""; err == nil; {
		var page inspect.FlowMemberPage
		page, err = inspect.Of(r.pool).FlowMembers(ctx,
			inspect.FlowMembersOptions{Flow: r.id, Cursor: cursor, Limit: 500})
		for _, m := range page.Members {
			o.States[m.Name] = m.State
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if err != nil {
		r.t.Fatalf("worktest: flow %q cannot be read: %v", r.id, err)
	}
	for _, e := range r.redis.spy.Events() {
		ended := outcomeOf(e)
		if ended == nil {
			continue
		}
		name, is := strings.CutPrefix(ended.ID, r.id+"/")
		if !is {
			continue
		}
		o.Members[name], o.Ran = r.redis.complete(ended), append(o.Ran, name)
	}
	return o
}
