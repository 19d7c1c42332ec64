package flows

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
)

// order is something that is done to a flow.
type order struct {
	name, past, short, long string
	asks                    bool
	do                      func(*inspect.Inspector, context.Context, string) error
	refusal                 func(*inspect.FlowInfo) string // why it cannot be done, for a dry run; "" where it can
}

var orders = []order{
	{"cancel", "cancelled", "Cancel flows, with all members that have not ended",
		"None of its members begins any more, and those that run are told. Neither OnDone nor OnDeath runs. A flow " +
			"that is not sealed is removed.", false, told((*inspect.Inspector).CancelFlow), nil},
	{"pause", "paused", "Keep members of flows from being put into their queues",
		"Those that are in their queues already, or run, go on. The flow does not end meanwhile.", false,
		told((*inspect.Inspector).PauseFlow), nil},
	{"resume", "resumed", "Let paused flows go on", "", false, told((*inspect.Inspector).ResumeFlow), nil},
	{"retry", "retried", "Run those members again that are not done",
		"The flow must have ended. What is done stays so, and what runs at its end runs once more.", false,
		told((*inspect.Inspector).RetryFlow), refusedRetry},
	{"delete", "deleted", "Remove flows that have ended; asks first",
		"What members have returned goes with it, and what is kept of those that did not end well. Jobs in the " +
			"morgue stay there.", true, (*inspect.Inspector).DeleteFlow, refusedDelete},
}

func told(do func(*inspect.Inspector, context.Context, string) (inspect.FlowInfo, error)) func(*inspect.Inspector,
	context.Context, string) error {
	return func(i *inspect.Inspector, ctx context.Context, id string) error {
		_, err := do(i, ctx, id)
		return err
	}
}

func refusedRetry(f *inspect.FlowInfo) string {
	if f.State == flow.DeadEnded || f.State == flow.Cancelled || f.State == flow.Reopening {
		return ""
	}
	return "it is " + stateOf(f) + ": only one that has ended, and not well, can be"
}

func refusedDelete(f *inspect.FlowInfo) string {
	if f.State.Ended() || f.State == flow.Filling {
		return ""
	}
	return "it is " + stateOf(f) + ": cancel it first"
}

// orderFlags are those of an order.
type orderFlags struct{ dryRun, yes bool }

func newOrderCommand(a *cli.App, o order) *cobra.Command {
	var f orderFlags
	long := o.short + "."
	if o.long != "" {
		long += " " + o.long
	}
	cmd := &cobra.Command{
		Use:   o.name + " ID...",
		Short: o.short,
		Long: long + ` - reads the ids from the lines of standard input.

Exit status: 3 if none of the flows is there, 5 if some were left undone.`,
		Example: fmt.Sprintf("  work flows %[1]s order-7\n"+
			"  work flows list --state dead --json | jq -r .id | work flows %[1]s -", o.name),
		Args: cli.NeedSome("ids of flows"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			ids, err := a.IDs(args)
			if err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if o.asks && !f.yes && !f.dryRun {
					question := fmt.Sprintf("%s %s in namespace %s?", o.name, human.Counted(len(ids), "flow"),
						a.Namespace)
					if err := a.Console().Confirm(question); err != nil {
						return err
					}
				}
				return a.CarryOut(ctx, o.action(i, f.dryRun), ids)
			})
		}),
	}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	if o.asks {
		cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	}
	a.CompleteArgs(cmd, a.FlowIDs)
	return cmd
}

func (o order) action(i *inspect.Inspector, dryRun bool) cli.Action {
	action := cli.Action{Verb: o.name, Past: o.past, Noun: "flow"}
	action.Do = cli.OneByOne(func(ctx context.Context, id string) error { return o.do(i, ctx, id) })
	if dryRun {
		action.Past = "would be " + o.past
		action.Do = cli.OneByOne(func(ctx context.Context, id string) error { return o.foretell(ctx, i, id) })
	}
	return action
}

// foretell looks whether it could be done.
func (o order) foretell(ctx context.Context, i *inspect.Inspector, id string) error {
	info, err := i.Flow(ctx, id)
	if err != nil || o.refusal == nil {
		return err
	}
	if why := o.refusal(&info); why != "" {
		return &work.InvalidError{What: "flow " + human.Visible(id), Value: "one that cannot be " + o.past, Remedy: why}
	}
	return nil
}
