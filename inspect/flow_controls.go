package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// CancelFlow is [flow.Cancel], for those who enqueue nothing. One that is not sealed is removed, and no error.
func (i *Inspector) CancelFlow(ctx context.Context, id string) (FlowInfo, error) {
	return i.steerFlow(ctx, id, func(ctx context.Context) error {
		_, err := flow.Cancel(ctx, i.enqueuer(), id)
		return err
	})
}

// PauseFlow is [flow.Pause].
func (i *Inspector) PauseFlow(ctx context.Context, id string) (FlowInfo, error) {
	return i.steerFlow(ctx, id, func(ctx context.Context) error {
		_, err := flow.Pause(ctx, i.enqueuer(), id)
		return err
	})
}

// ResumeFlow is [flow.Resume].
func (i *Inspector) ResumeFlow(ctx context.Context, id string) (FlowInfo, error) {
	return i.steerFlow(ctx, id, func(ctx context.Context) error {
		_, err := flow.Resume(ctx, i.enqueuer(), id)
		return err
	})
}

// RetryFlow is [flow.Retry].
func (i *Inspector) RetryFlow(ctx context.Context, id string) (FlowInfo, error) {
	return i.steerFlow(ctx, id, func(ctx context.Context) error {
		_, err := flow.Retry(ctx, i.enqueuer(), id)
		return err
	})
}

// DeleteFlow removes a flow that has ended before its time, with what its members have returned and with what is kept
// of those that did not end well; those in the morgue stay there. One that is not sealed goes as well. One that runs is
// a *[work.InvalidError]: cancel it first.
func (i *Inspector) DeleteFlow(ctx context.Context, id string) error {
	v, found, err := i.findFlow(ctx, id)
	if err != nil {
		return err
	}
	if found.Outer() != "" {
		return &work.InvalidError{What: "flow " + excerpt.Brief(id), Value: "in flow " + excerpt.Brief(found.Outer()),
			Remedy: "delete that one: it goes with it"}
	}
	done, err := false, error(nil)
	switch state := flow.State(found.State); {
	case state == flow.Filling:
		done, err = flowdb.Of(v.store).Remove(ctx, id, time.Millisecond)
	case state.Ended():
		done, err = flowdb.Of(v.store).Forget(ctx, id)
	}
	if err != nil {
		return flowFailed(id, err)
	}
	if !done {
		return &work.InvalidError{What: "flow " + excerpt.Brief(id), Value: "one that goes on",
			Remedy: "cancel it first, and delete it when it has ended"}
	}
	return nil
}

// steerFlow does something about a flow, and tells how far it is then. One that is gone by then is told as it was.
func (i *Inspector) steerFlow(ctx context.Context, id string, do func(context.Context) error) (FlowInfo, error) {
	v, found, err := i.findFlow(ctx, id)
	if err != nil {
		return FlowInfo{}, err
	}
	err = do(ctx)
	if errors.Is(err, flow.ErrNoFlow) && found.State == string(flow.Filling) {
		info := v.flowInfo(&found)
		info.State = flow.Cancelled
		return info, nil
	}
	if err != nil {
		return FlowInfo{}, err
	}
	return i.Flow(ctx, id)
}
