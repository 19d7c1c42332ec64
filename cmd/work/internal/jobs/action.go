package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// jobAction is something that can be done to jobs: to those whose ids are given, or to all that are selected.
type jobAction struct {
	name, past  string // "retry", "retried"
	short, more string
	needs       string       // flags without which it cannot be, in examples
	states      []work.State // that a selection may be of
	destroys    bool         // so it asks first
	flags       func(*pflag.FlagSet, *actionFlags)
	one         func(context.Context, *inspect.Inspector, actionFlags, string) error
	bulk        func(actionFlags) inspect.Action
}

// actionFlags are those of all these commands.
type actionFlags struct {
	dryRun bool
	yes    bool
	limit  int
	fresh  bool
	when   cli.TimeFlags
	due    time.Time // when, by the clock of Redis
}

// cancellable are the states of jobs that are not done.
var cancellable = []work.State{work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
	work.StateStalled}

// jobActions are the commands. cancel alone has no bulk: what it reaches runs, too.
func jobActions() []jobAction {
	return []jobAction{
		{name: "retry", past: "retried", short: "Retry jobs that are dead, wait for their next attempt, or have ended",
			states: []work.State{work.StateDead, work.StateRetrying},
			more: "A dead job has one more attempt, or with --fresh as many as a new one. A job that has ended\n" +
				"(give its id) is enqueued again as another one, once, if its args are kept.",
			flags: func(flags *pflag.FlagSet, f *actionFlags) {
				flags.BoolVar(&f.fresh, "fresh", false, "give them as many attempts as new ones")
			},
			one: func(ctx context.Context, i *inspect.Inspector, f actionFlags, id string) error {
				return i.RetryNow(ctx, id, f.retry()...)
			},
			bulk: func(f actionFlags) inspect.Action { return inspect.ActionRetryNow(f.retry()...) }},
		{name: "cancel", past: "cancelled", short: "End jobs before they are done", states: cancellable,
			more: "Those that wait end at once. Those that run end when their handlers return, whose contexts end " +
				"within\na second."},
		{name: "delete", past: "deleted", short: "Remove jobs, with all that is kept of them", states: restingStates,
			destroys: true,
			more:     "It asks first, unless --yes is given.", needs: " --yes",
			one:  plain((*inspect.Inspector).Delete),
			bulk: func(actionFlags) inspect.Action { return inspect.ActionDelete }},
		{name: "reschedule", past: "rescheduled", short: "Change when jobs are due",
			states: []work.State{work.StateScheduled, work.StateRetrying},
			more:   "Give --in or --at.", needs: " --in 1h",
			flags: func(flags *pflag.FlagSet, f *actionFlags) { f.when.Register(flags) },
			one: func(ctx context.Context, i *inspect.Inspector, f actionFlags, id string) error {
				return i.Reschedule(ctx, id, f.due)
			},
			bulk: func(f actionFlags) inspect.Action { return inspect.ActionReschedule(f.due) }},
		{name: "run", past: "put into a queue", short: "Put scheduled jobs into their queues at once",
			states: []work.State{work.StateScheduled},
			one:    plain((*inspect.Inspector).RunNow),
			bulk:   func(actionFlags) inspect.Action { return inspect.ActionRunNow }},
		{name: "front", past: "moved to the front", short: "Put queued jobs before the others of their queue",
			states: []work.State{work.StateQueued},
			one:    plain((*inspect.Inspector).MoveToFront),
			bulk:   func(actionFlags) inspect.Action { return inspect.ActionMoveToFront }},
		{name: "stall", past: "stalled", short: "Put jobs aside, until they are resumed",
			states: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying},
			one:    plain((*inspect.Inspector).Stall),
			bulk:   func(actionFlags) inspect.Action { return inspect.ActionStall }},
		{name: "resume", past: "resumed", short: "Put stalled jobs back into their queues",
			states: []work.State{work.StateStalled},
			one:    plain((*inspect.Inspector).Resume),
			bulk:   func(actionFlags) inspect.Action { return inspect.ActionResume }},
	}
}

// plain is an action that no flag changes.
func plain(do func(*inspect.Inspector, context.Context, string) error) func(context.Context, *inspect.Inspector,
	actionFlags, string) error {
	return func(ctx context.Context, i *inspect.Inspector, _ actionFlags, id string) error { return do(i, ctx, id) }
}

func (f actionFlags) retry() []inspect.RetryOption {
	if f.fresh {
		return []inspect.RetryOption{inspect.FreshAttempts()}
	}
	return nil
}

func newJobActionCommand(a *cli.App, action jobAction) *cobra.Command {
	var f actionFlags
	var s selectionFlags
	more := strings.TrimSpace(action.more + "\n\nIt asks before it changes a whole state, which --state without " +
		"another flag or --limit selects.")
	asks := "do not ask before a whole state is changed, or very many records are looked at"
	if action.destroys {
		more, asks = action.more, "do not ask"
	}
	cmd := &cobra.Command{
		Use:   action.name + " [ID...]",
		Short: action.short,
		Long: strings.TrimSpace(fmt.Sprintf(`%s takes the ids of jobs, or - to read them from the lines of standard input, or flags that select
jobs of one state: %s. %s

What is selected is gone through in pages while workers go on; a job that has moved on meanwhile is
left alone. At Ctrl-C it says how far it got, and what was done stays done: the same command goes on.

Exit status: 3 if none of the named jobs is there, 5 if some were left as they are.`, action.name,
			alternatives(action.states), more)),
		Example: fmt.Sprintf(`  work jobs %[1]s mail-77%[3]s
  work jobs %[1]s --state %[2]s --name export --dry-run%[3]s
  work jobs search --state %[2]s --tag eu --ids --limit 0 | work jobs %[1]s -%[3]s`, action.name, action.states[0],
			action.needs),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return actOnJobs(ctx, a, jobOrder{action: action, flags: f, selection: s, selected: s.given(),
				args: args})
		}),
	}
	s.register(a, cmd, action.states)
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	flags.IntVar(&f.limit, "limit", 0, "of those that are selected at most so many `jobs`; 0 is all")
	flags.BoolVarP(&f.yes, "yes", "y", false, asks)
	if action.flags != nil {
		action.flags(flags, &f)
	}
	return cmd
}

// jobOrder is a call of one of these commands.
type jobOrder struct {
	action    jobAction
	flags     actionFlags
	selection selectionFlags
	selected  bool // flags of the selection were given
	args      []string
}

var errNothingSelected = errors.New(
	"say which jobs: their ids, - for ids from standard input, or a selection, as --state dead --name export")

// actOnJobs decides between the two ways to name jobs.
func actOnJobs(ctx context.Context, a *cli.App, o jobOrder) error {
	if err := o.validate(); err != nil {
		return err
	}
	return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) (err error) {
		if o.action.name == "reschedule" {
			if o.flags.due, err = o.flags.when.Time(ctx, i); err != nil {
				return err
			}
		}
		if o.selected {
			return actOnSelection(ctx, a, i, o)
		}
		return actOnIDs(ctx, a, i, o)
	})
}

func (o jobOrder) validate() error {
	switch {
	case len(o.args) == 0 && !o.selected:
		return &exit.UsageError{Err: errNothingSelected}
	case len(o.args) > 0 && o.selected:
		return exit.Usagef("ids and a selection exclude each other: give one of them")
	case o.flags.limit < 0:
		return exit.Usagef("--limit is %d: give 1 or more, or 0 for all", o.flags.limit)
	case len(o.args) > 0 && o.flags.limit > 0:
		return exit.Usagef("--limit %d is for a selection: with ids, give fewer of them", o.flags.limit)
	case o.selected && o.selection.state == "":
		return exit.Usagef("--state is missing: a selection is of one state, %s", alternatives(o.action.states))
	}
	_, err := o.selection.selection(o.action.states)
	return err
}

func actOnIDs(ctx context.Context, a *cli.App, i *inspect.Inspector, o jobOrder) error {
	ids, err := a.IDs(o.args)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		a.Console().Note("no ids were given, nothing is done")
		return nil
	}
	if o.flags.dryRun {
		a.Console().Note("this is a dry run: nothing is done")
		return showJobs(ctx, a, i.Jobs, ids,
			func(c *console.Console, jobs []*inspect.JobInfo) []string { return jobTable(jobs).Render(c) })
	}
	if o.action.destroys && !o.flags.yes {
		if err := a.Console().Confirm(fmt.Sprintf("%s %s in namespace %s?", o.action.name, manyIDs(ids),
			a.Namespace)); err != nil {
			return err
		}
	}
	d := cli.Action{Verb: o.action.name, Past: o.action.past, Noun: "job"}
	switch {
	case o.action.name == "retry":
		d.Do = func(ctx context.Context, ids []string) ([]cli.Result, error) {
			return retryOne(ctx, i, o.flags, ids[0])
		}
	case o.action.one == nil:
		d.Batch, d.Do = mostOfPage,
			func(ctx context.Context, ids []string) ([]cli.Result, error) { return cancelAll(ctx, i, ids) }
	default:
		d.Do = cli.OneByOne(func(ctx context.Context, id string) error { return o.action.one(ctx, i, o.flags, id) })
	}
	return a.CarryOut(ctx, d, ids)
}

// retryOne retries a job, or enqueues it again if it has ended.
func retryOne(ctx context.Context, i *inspect.Inspector, f actionFlags, id string) ([]cli.Result, error) {
	of := cli.Result{ID: id}
	err := i.RetryNow(ctx, id, f.retry()...)
	if refused := (*inspect.StateError)(nil); errors.As(err, &refused) && refused.State.Ended() {
		var receipt work.Receipt
		receipt, err = i.EnqueueAgain(ctx, id)
		if of.Job = receipt.ID; receipt.Duplicate {
			of.Effect = "it had been enqueued again before"
		}
	}
	return cli.ResultOf(of, err)
}

// manyIDs names the jobs of a question.
func manyIDs(ids []string) string {
	if len(ids) == 1 {
		return "job " + human.Visible(ids[0])
	}
	return fmt.Sprintf("%s, %s the first", human.Counted(len(ids), "job"), human.Visible(ids[0]))
}

// cancelAll cancels so many at a time. Those of which nothing is known after an error are not among the results.
func cancelAll(ctx context.Context, i *inspect.Inspector, ids []string) ([]cli.Result, error) {
	cancelled, err := i.Cancel(ctx, ids...)
	var results []cli.Result
	for _, r := range cancelled {
		if r.Effect == "" {
			continue
		}
		o := cli.Result{ID: r.ID, Err: r.Err()}
		if r.Effect == work.CancelFlagged {
			o.Effect = "running, to end when the handler returns"
		}
		results = append(results, o)
	}
	return results, err
}
