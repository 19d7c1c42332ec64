package worktest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
)

// orders is a pool in which "pick" dies of article 13, and "charge" fails once.
func orders() *work.WorkerPool {
	charged := 0
	return work.NewWorkerPool(nil, 2, work.WorkerOptions{}).
		Job("charge", func(int) (string, error) {
			if charged++; charged == 1 {
				return "", errors.New("try again")
			}
			return "card-1", nil
		}).
		Job("pick", func(article int) error {
			if article == 13 {
				return work.Bury(errors.New("none left"))
			}
			return nil
		}).
		Job("ship", func(ctx context.Context, job *work.Job, _ int) (string, error) {
			card, err := flow.Result[string](ctx, job, "charge")
			return "paid with " + card, err
		}).
		Job("refund", func(int) error { return nil }).
		Job("close", func(int) error { return nil })
}

func purchase(article int) *flow.Flow {
	f := flow.New("order").OnDone("close", article).OnDeath("refund", article)
	f.Job("ship", article).After(f.Job("charge", article), f.Job("pick", article))
	return f
}

func TestAFlowIsRunToItsEnd(t *testing.T) {
	t.Parallel()
	done := RunFlow(t, orders(), purchase(7))
	assert.Equal(t, flow.Done, done.State)
	assert.Equal(t, "paid with card-1", ResultOf[string](t, done.Members["ship"]))
	assert.Equal(t, "order/@done", done.End().ID)
	assert.ElementsMatch(t, []string{"charge", "charge", "pick", "ship", "@done"}, done.Ran)
	assert.Equal(t, []string{"ship", "@done"}, done.Ran[3:])

	dead := RunFlow(t, orders(), purchase(13))
	assert.Equal(t, flow.DeadEnded, dead.State)
	assert.Equal(t, map[string]inspect.MemberState{"charge": "done", "pick": "dead", "ship": "cancelled"}, dead.States)
	assert.Equal(t, work.EndingBury, dead.Members["pick"].Ending)
	assert.Nil(t, dead.Members["ship"])
	assert.Equal(t, "order/@dead", dead.End().ID)
}

func TestAFlowThatIsHeldIsToldAsItStands(t *testing.T) {
	t.Parallel()
	f := flow.New("held")
	f.Job("ship", 13).After(f.Job("pick", 13)).Hold(flow.Dead)
	held := RunFlow(t, orders(), f)
	assert.Equal(t, flow.Running, held.State)
	assert.Equal(t, map[string]inspect.MemberState{"pick": "dead", "ship": "waiting"}, held.States)
	assert.Nil(t, held.End())
}

func TestALargeFlowIsRunToItsEnd(t *testing.T) {
	t.Parallel()
	f := flow.New("large").OnDone("close", 1)
	var all []*flow.Job
	for n := range 1200 {
		all = append(all, f.Job("pick", n+100).Named(fmt.Sprint("pick-", n)))
	}
	f.Job("close", 1).After(all...)
	large := RunFlow(t, orders(), f)
	assert.Equal(t, []any{flow.Done, 1201}, []any{large.State, large.Progress.Done})
	assert.Equal(t, []string{"close", "@done"}, large.Ran[len(large.Ran)-2:])
}

func TestAFlowThatCannotBeStoredFailsTheTest(t *testing.T) {
	t.Parallel()
	failed := failing(t, func(t testing.TB) { RunFlow(t, orders(), flow.New("empty")) })
	assert.Contains(t, failed, `the flow cannot be run: flow "empty" is without a job`)
}

func TestAFlowOfFlowsIsRunToItsEnd(t *testing.T) {
	t.Parallel()
	f, packing := flow.New("order").OnDone("close", 7), flow.New("").OnDone("refund", 7)
	packing.Job("ship", 7).After(packing.Job("charge", 7))
	f.Job("pick", 7).After(f.Flow("packing", packing))
	done := RunFlow(t, orders(), f)
	assert.Equal(t, flow.Done, done.State)
	assert.Equal(t, map[string]inspect.MemberState{"packing": "done", "pick": "done"}, done.States)
	assert.Equal(t, "paid with card-1", ResultOf[string](t, done.Members["packing/ship"]))
	assert.Equal(t, []string{"packing/charge", "packing/charge", "packing/ship"}, done.Ran[:3])
	assert.ElementsMatch(t, []string{"packing/@done", "pick", "@done"}, done.Ran[3:])
}
