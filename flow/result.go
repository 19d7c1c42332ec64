package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// ErrNoFlow is returned for a job that is in no flow, and for a flow that is not there (any more).
var ErrNoFlow = errors.New("there is no such flow")

// NoResultError says that a member has no result.
type NoResultError struct {
	Flow, Member string
	State        string // how it has ended: "done" (its handler returns no value), "dead", "cancelled" and so on
}

func (e *NoResultError) Error() string {
	what := "member " + brief(e.Member) + " of flow " + brief(e.Flow)
	if e.State == "done" {
		return what + " is done but has no result: its handler must return a value beside its error"
	}
	return what + " ended as " + e.State + ", so it has no result"
}

// Result returns what an earlier member of the flow of job has returned beside its error, by its name in the flow: one
// that job waits for by After. The job of OnDone or OnDeath may ask for that of any member. Results are kept as long as
// the flow, and up to 1 MiB of JSON each.
//
// Asked for another member it is a *[work.InvalidError] that says so; for one without a result it is a
// *[NoResultError]. ctx is that of the handler. It may be called concurrently.
func Result[T any](ctx context.Context, job *work.Job, member string) (T, error) {
	var result T
	flow, name, err := partOf(job)
	if err != nil {
		return result, err
	}
	store, err := storeOf(ctx, work.EnqueuerFromContext(ctx), flow)
	if err != nil {
		return result, err
	}
	var found flowdb.Result
	err = answered(ctx, func(ctx context.Context) (err error) {
		found, err = flowdb.Of(store).Result(ctx, flow, name, member)
		return err
	})
	switch {
	case err != nil:
		return result, fmt.Errorf("the result of member %s of flow %s cannot be read: %w", brief(member), brief(flow),
			err)
	case found.State == "":
		return result, fmt.Errorf("flow %s: %w", brief(flow), ErrNoFlow)
	case !found.Waited && !strings.HasPrefix(name, "@"):
		return result, mistake("result of "+brief(member), "not one that job "+brief(name)+" waits for",
			"name "+brief(member)+" in After of that job")
	case found.Ended != "done" || found.Result == nil:
		return result, &NoResultError{Flow: flow, Member: member, State: found.Ended}
	}
	id := flow + "/" + member
	if found.Away {
		id += "/" + flowdb.LodgedJob
	}
	open, err := inside.Opened(work.EnqueuerFromContext(ctx), id, found.Result)
	if err != nil {
		return result, err
	}
	if err := exactjson.Unmarshal(open, &result); err != nil {
		var none T
		return none, fmt.Errorf("the result of member %s of flow %s does not fit a %T: %w", brief(member), brief(flow),
			none, err)
	}
	return result, nil
}

// ResultOf is [Result] of a member of a kind, whose results have a type. The name of the member is that of the kind,
// unless [Job.Named] gave it another: "" is that of the kind.
func ResultOf[A, R any](ctx context.Context, job *work.Job, kind *work.Kind[A, R], member string) (R, error) {
	if member == "" {
		member = kind.Name()
	}
	return Result[R](ctx, job, member)
}

// partOf are the flow and the name in it of a job.
func partOf(job *work.Job) (flow, name string, err error) {
	if job != nil {
		id := strings.TrimSuffix(job.ID, "/"+flowdb.LodgedJob)
		if at := strings.LastIndex(id, "/"); at > 0 {
			name, _, _ = strings.Cut(id[at+1:], "#")
			if !strings.HasPrefix(name, "@") {
				name = id[at+1:]
			}
			return id[:at], name, nil
		}
		return "", "", fmt.Errorf("job %s is in no flow: %w", brief(job.ID), ErrNoFlow)
	}
	return "", "", mistake("job", "nil", "give the one that the handler has")
}
