// Package jobs is `work jobs`: the commands that look at jobs and that decide about them, one by one or all that a
// selection fits.
//
// NewCommand is what the program adds to its commands; `work errors retry` is here as well, since it is a selection.
package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// NewCommand makes the command, with those below it.
func NewCommand(a *cli.App) *cobra.Command {
	cmd := a.Group("jobs", "Look at jobs, and decide about them")
	cmd.AddCommand(newJobsListCommand(a), newJobsSearchCommand(a), newJobsShowCommand(a), newJobsWaitCommand(a),
		newJobsLogCommand(a), newJobsStepsCommand(a), newJobsSendCommand(a))
	for _, action := range jobActions() {
		cmd.AddCommand(newJobActionCommand(a, action))
	}
	return cmd
}

func newJobsShowCommand(a *cli.App) *cobra.Command {
	keys := ""
	cmd := &cobra.Command{
		Use:   "show ID...",
		Short: "Show all that is known of jobs",
		Long: `show prints where each job stands, what happened to it and, if it waits, why. - reads the ids from the
lines of standard input.

Args and results that codecs have stored are shown as sealed. With --keys, a file of keys as seal.ReadKeys reads
it, they are opened.

Exit status: 3 if none of the jobs is there, 5 if some are not.`,
		Example: `  work jobs show mail-77
  work jobs show mail-77 --json | jq .errors`,
		Args: cli.NeedSome("ids of jobs"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			ids, err := a.IDs(args)
			if err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context,
				i *inspect.Inspector) error {
				look, err := opening(i, keys)
				if err != nil {
					return err
				}
				return showJobs(ctx, a, look, ids, func(c *console.Console, jobs []*inspect.JobInfo) []string {
					return jobBlocks(c, jobs, func(job *inspect.JobInfo) []string { return stepsOf(ctx, i, c, job) })
				})
			})
		}),
	}
	cmd.Flags().StringVar(&keys, "keys", "", "open what is sealed by the keys in this `file`")
	return cmd
}

// jobBlocks are all facts of each job, with a line between two.
func jobBlocks(c *console.Console, jobs []*inspect.JobInfo, steps func(*inspect.JobInfo) []string) []string {
	var lines []string
	for n, job := range jobs {
		if n > 0 {
			lines = append(lines, "")
		}
		lines = append(append(lines, jobLines(c, job)...), steps(job)...)
	}
	return lines
}

// lookFunc is Inspector.Jobs.
type lookFunc func(ctx context.Context, ids ...string) ([]*inspect.JobInfo, error)

// opening is Inspector.Jobs with what is compressed opened, and what is sealed by a file of keys; "" is none.
func opening(i *inspect.Inspector, keys string) (lookFunc, error) {
	codecs, err := cli.Codecs(keys)
	if err != nil {
		return nil, err
	}
	opener, err := inspect.NewOpener(codecs...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, ids ...string) ([]*inspect.JobInfo, error) {
		found, err := i.Jobs(ctx, ids...)
		for _, job := range found {
			if job == nil {
				continue
			}
			if failed := opener.Job(job); failed != nil && err == nil && keys != "" {
				err = failed
			}
		}
		return found, err
	}, nil
}

// showJobs prints those that are there. It is an error if some are not.
func showJobs(ctx context.Context, a *cli.App, look lookFunc, ids []string,
	lines func(*console.Console, []*inspect.JobInfo) []string) error {
	found, err := look(ctx, ids...)
	if err != nil {
		return err
	}
	var jobs []*inspect.JobInfo
	var missing []string
	for n, job := range found {
		if job == nil {
			missing = append(missing, ids[n])
			continue
		}
		jobs = append(jobs, job)
	}
	if len(jobs) > 0 {
		if err := console.ShowAll(a.Console(), jobs,
			func(c *console.Console) []string { return lines(c, jobs) }); err != nil {
			return err
		}
	}
	status := exit.Undone
	if len(jobs) == 0 {
		status = exit.NotFound
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return &exit.StatusError{Status: status, Err: fmt.Errorf("job %s: %w", human.Visible(missing[0]),
			work.ErrNotFound)}
	}
	return &exit.StatusError{Status: status,
		Err: fmt.Errorf("%s of %s are not there, %s among them", human.Grouped(int64(len(missing))),
			human.Counted(len(ids), "job"), human.Visible(missing[0]))}
}
