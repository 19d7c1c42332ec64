package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
)

func newJobsWaitCommand(a *cli.App) *cobra.Command {
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "wait ID...",
		Short: "Wait until jobs have ended",
		Long: `wait prints how each of the jobs has ended, as soon as it has, with its result where that is kept. - reads
the ids from the lines of standard input. It makes no difference whether a job ends before or after
the call, as long as its outcome is kept.

Exit status: 0 if all have ended well, 4 if one did not (it is dead, was cancelled, discarded or deleted,
or has expired), 3 if nothing is known of one, 1 if --within has passed.`,
		Example: `  work jobs wait mail-77 --within 1m
  id=$(work enqueue export 42) && work jobs wait "$id" --json | jq .result`,
		Args: cli.NeedSome("ids of jobs"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			ids, err := a.IDs(args)
			if err != nil {
				return err
			}
			if within < 0 {
				return exit.Usagef("--within is %s: give a positive duration, as 90s", within)
			}
			return waitForJobs(ctx, a, ids, within)
		}),
	}
	cmd.Flags().DurationVar(&within, "within", 0, "give up after this `duration`; 0 waits for ever")
	return cmd
}

// jobEnd is how a job has ended.
type jobEnd struct {
	ID     string          `json:"id"`
	State  work.State      `json:"state,omitempty"` // empty where nothing is known
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	err    error           // for which it is not known how it has ended
}

// waitForJobs prints the ends as they come. All are waited for in goroutines of their own, which share a connection.
func waitForJobs(ctx context.Context, a *cli.App, ids []string, within time.Duration) error {
	enq, err := a.Enqueuer()
	if err != nil {
		return err
	}
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, within, &cli.LateError{Within: within})
		defer cancel()
	}
	ends := make(chan jobEnd)
	var waiting sync.WaitGroup
	for _, id := range ids {
		waiting.Go(func() { ends <- waitForJob(ctx, enq, id) })
	}
	go func() {
		waiting.Wait()
		close(ends)
	}()
	err = tellEnds(a, ends, len(ids))
	if closeErr := enq.Close(); err == nil {
		err = closeErr
	}
	return cli.Explain(ctx, err)
}

// tellEnds prints each end. What is wrong with any is an error: the worst, where several are.
func tellEnds(a *cli.App, ends <-chan jobEnd, total int) error {
	var printed, unknown, missing error
	unhappy, missed := 0, 0
	var bad jobEnd
	for end := range ends {
		switch {
		case end.err == nil && end.State != work.StateSucceeded:
			unhappy++
			bad = end
		case end.err != nil && exit.IsMissing(end.err):
			missed++
			missing = end.err
		case end.err != nil:
			unknown = end.err
			continue // it has not ended, so there is nothing to print
		}
		if printed == nil {
			printed = a.Console().Show(end, func(c *console.Console) []string {
				return human.Wrap(end.String(),
					c.Width)
			})
		}
	}
	switch {
	case unknown != nil:
		return unknown
	case printed != nil:
		return printed
	case unhappy > 0 && total == 1:
		return &exit.StatusError{Status: exit.Unhappy,
			Err: fmt.Errorf("job %s did not end well: it is %s", human.Visible(bad.ID), bad.State)}
	case unhappy > 0:
		return &exit.StatusError{Status: exit.Unhappy,
			Err: fmt.Errorf("%s of %s did not end well", human.Grouped(int64(unhappy)), human.Counted(total, "job"))}
	case missed > 1:
		return &exit.StatusError{Status: exit.NotFound,
			Err: fmt.Errorf("of %s of %s nothing is known", human.Grouped(int64(missed)), human.Counted(total, "job"))}
	}
	return missing
}

// waitForJob waits for one.
func waitForJob(ctx context.Context, enq *work.Enqueuer, id string) jobEnd {
	result, err := work.Wait[json.RawMessage](ctx, enq, id)
	end := jobEnd{ID: id, State: work.StateSucceeded, Result: result}
	var failed *work.JobFailedError
	var none *work.NoResultError
	switch {
	case err == nil:
		return end
	case errors.As(err, &failed):
		end.State, end.Error = work.StateDead, cmp.Or(failed.Err, failed.Reason)
	case errors.As(err, &none):
		end.Error = none.Problem
		if none.State != "done" {
			end.State = work.State(none.State)
		}
	default:
		end.State, end.Error, end.err = "", err.Error(), err
	}
	return end
}

// String is the end in a line.
func (e jobEnd) String() string {
	text := human.Visible(e.ID) + "  " + cmp.Or(string(e.State), "unknown")
	if len(e.Result) > 0 {
		text += "  " + human.Visible(string(e.Result))
	}
	if e.Error != "" {
		text += "  " + human.Visible(e.Error)
	}
	return text
}
