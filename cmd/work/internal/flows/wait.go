package flows

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/flow"
)

func newWaitCommand(a *cli.App) *cobra.Command {
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait until a flow has ended, and show how far it is",
		Long: `wait returns at the end of a flow: Redis tells it. Meanwhile it shows how many members have ended, which it
asks for once a second.

Exit status: 0 if all members are done, 4 if not, 3 if there is no such flow, 1 if --within has passed.`,
		Example: "  work flows wait import-9 --within 1h",
		Args:    cli.Exactly(1, "the id of one flow"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if within < 0 {
				return exit.Usagef("--within is %s: give a positive duration, as 90s", within)
			}
			enq, err := a.Enqueuer()
			if err != nil {
				return err
			}
			err = waitFor(ctx, a, enq, args[0], within)
			if closeErr := enq.Close(); err == nil {
				err = closeErr
			}
			return cli.Explain(ctx, err)
		}),
	}
	cmd.Flags().DurationVar(&within, "within", 0, "give up after this `duration`; 0 waits for ever")
	a.CompleteArgs(cmd, a.FlowIDs)
	return cmd
}

// lookEvery is how often the bar is told how far the flow is. The end is told by Redis.
const lookEvery = time.Second

// ended is how a flow has ended.
type ended struct {
	ID    string     `json:"id"`
	State flow.State `json:"state"`
	Total int        `json:"total"`
	Done  int        `json:"done"`
	Dead  int        `json:"dead"`
}

func waitFor(ctx context.Context, a *cli.App, enq *work.Enqueuer, id string, within time.Duration) error {
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, within, &cli.LateError{Within: within})
		defer cancel()
	}
	c := a.Console()
	steps, over := c.Steps("members"), make(chan struct{})
	var end flow.Progress
	var err error
	go func() {
		defer close(over)
		end, err = flow.Wait(ctx, enq, id)
	}()
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for waiting := true; waiting; {
		select {
		case <-over:
			waiting = false
		case <-looks.C:
			if p, failed := flow.Read(ctx, enq, id); failed == nil && p.Total > 0 {
				steps.Set(p.Total-p.Left, p.Total)
			}
		}
	}
	steps.Clear()
	if err != nil {
		return err
	}
	return tellEnd(c, end)
}

func tellEnd(c *console.Console, p flow.Progress) error {
	text := fmt.Sprintf("flow %s: %s, %s of %s done", human.Visible(p.ID), p.State, human.Number(p.Done),
		human.Counted(p.Total, "member"))
	err := c.Tell(ended{ID: p.ID, State: p.State, Total: p.Total, Done: p.Done, Dead: p.Dead}, text)
	if err == nil && p.State != flow.Done {
		err = &exit.StatusError{Status: exit.Unhappy,
			Err: fmt.Errorf("flow %s did not end well: it is %s", human.Visible(p.ID), p.State)}
	}
	return err
}
