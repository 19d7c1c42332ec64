package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newWorkersWaitCommand(a *cli.App) *cobra.Command {
	var within time.Duration
	var names []string
	cmd := &cobra.Command{
		Use:   "wait N",
		Short: "Wait until so many workers are there",
		Long: `wait returns once N workers have a heartbeat and may fetch: those that were made quiet or told to stop do not
count. With --name only workers count that serve all of these names.

Exit status: 0 if they are there, 5 if --within has passed before.`,
		Example: "  work workers wait 3 --name mail --within 1m",
		Args:    cli.Exactly(1, "how many workers"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 {
				return exit.Usagef("%s is no number of workers: give 1 or more", human.Visible(args[0]))
			}
			if within < 0 {
				return exit.Usagef("--within is %s: give a positive duration, as 90s", within)
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				return waitForWorkers(ctx, a, i, workersWanted{n, names, within})
			})
		}),
	}
	cmd.Flags().DurationVar(&within, "within", 0, "give up after this `duration`; 0 waits for ever")
	cmd.Flags().StringSliceVar(&names, "name", nil, "only workers that serve this `name`; may be given several times")
	a.CompleteFlag(cmd, "name", a.QueueNames)
	return cmd
}

// workersWanted are the workers that a call waits for.
type workersWanted struct {
	n      int
	names  []string
	within time.Duration
}

// workersThere is what a wait prints.
type workersThere struct {
	Wanted  int      `json:"wanted"`
	There   int      `json:"there"`
	Workers []string `json:"workers"`
}

func waitForWorkers(ctx context.Context, a *cli.App, i *inspect.Inspector, w workersWanted) error {
	limited, cancel := ctx, func() {}
	if w.within > 0 {
		limited, cancel = context.WithTimeoutCause(ctx, w.within, &cli.LateError{Within: w.within})
	}
	defer cancel()
	ids, err := i.WaitForWorkers(limited, w.n, w.names...)
	late := ctx.Err() == nil && limited.Err() != nil
	if err != nil && !late {
		return err
	}
	there := workersThere{Wanted: w.n, There: len(ids), Workers: append([]string{}, ids...)}
	if err != nil {
		if a.JSON {
			_ = a.Console().Tell(there, "") // the error says it as well
		}
		return &exit.StatusError{Status: exit.Undone, Err: err}
	}
	return a.Console().Tell(there, fmt.Sprintf("%s there", human.Counted(len(ids), "worker")))
}
