package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

func newJobsCommand(a *app) *cobra.Command {
	cmd := a.group("jobs", "Look at jobs, and decide about them")
	cmd.AddCommand(newJobsListCommand(a), newJobsSearchCommand(a), newJobsShowCommand(a), newJobsWaitCommand(a),
		newJobsLogCommand(a))
	for _, action := range jobActions() {
		cmd.AddCommand(newJobActionCommand(a, action))
	}
	return cmd
}

// group is a command that only holds others.
func (a *app) group(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  a.knownCommand,
		RunE:  a.runs(func(_ context.Context, cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
}

// needSome refuses a call without an argument.
func needSome(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s: `%s --help` shows examples", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

func newJobsShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID...",
		Short: "Show all that is known of jobs",
		Long: `show prints where each job stands, what happened to it and, if it waits, why. - reads the ids from the
lines of standard input.

Exit status: 3 if none of the jobs is there, 5 if some are not.`,
		Example: `  work jobs show mail-77
  work jobs show mail-77 --json | jq .errors`,
		Args: needSome("ids of jobs"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			ids, err := a.idsFrom(args)
			if err != nil {
				return err
			}
			return a.inspect(ctx, func(ctx context.Context,
				i *work.Inspector) error {
				return a.showJobs(ctx, i, ids, jobBlocks)
			})
		}),
	}
}

// jobBlocks are all facts of each job, with a line between two.
func jobBlocks(c *console, jobs []*work.JobInfo) []string {
	var lines []string
	for n, job := range jobs {
		if n > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, jobLines(c, job)...)
	}
	return lines
}

// showJobs prints those that are there. It is an error if some are not.
func (a *app) showJobs(ctx context.Context, i *work.Inspector, ids []string,
	lines func(*console, []*work.JobInfo) []string) error {
	found, err := i.Jobs(ctx, ids...)
	if err != nil {
		return err
	}
	var jobs []*work.JobInfo
	var missing []string
	for n, job := range found {
		if job == nil {
			missing = append(missing, ids[n])
			continue
		}
		jobs = append(jobs, job)
	}
	if len(jobs) > 0 {
		if err := showAll(a, jobs, func(c *console) []string { return lines(c, jobs) }); err != nil {
			return err
		}
	}
	status := exitUndone
	if len(jobs) == 0 {
		status = exitNotFound
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return &unfulfilledError{status: status, err: fmt.Errorf("job %s: %w", visible(missing[0]), work.ErrNotFound)}
	}
	return &unfulfilledError{status: status,
		err: fmt.Errorf("%s of %s are not there, %s among them", grouped(int64(len(missing))),
			counted(len(ids), "job"), visible(missing[0]))}
}

// logFlags are those of jobs log.
type logFlags struct {
	follow bool
	lines  int
}

func newJobsLogCommand(a *app) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log ID",
		Short: "Print what a job has written to its log",
		Example: `  work jobs log export-1 --lines 20
  work jobs log export-1 --follow`,
		Args: exactly(1, "the id of one job"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.inspect(ctx, func(ctx context.Context,
				i *work.Inspector) error {
				return a.jobLog(ctx, i, f, args[0])
			})
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what it writes, until it has ended")
	flags.IntVar(&f.lines, "lines", 0, "the newest `lines` only; 0 is all that are kept")
	return cmd
}

// exactly refuses more or fewer than n arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%s takes %s, but here are %s", cmd.CommandPath(), what, counted(len(args), "argument"))
	}
}

func (a *app) jobLog(ctx context.Context, i *work.Inspector, f logFlags, id string) error {
	switch {
	case f.lines < 0:
		return usagef("--lines is %d: give 1 or more, or 0 for all", f.lines)
	case f.lines > 0 && f.follow:
		return usagef("--lines and --follow exclude each other: a log that is followed begins with its oldest line")
	case f.follow:
		return a.followLog(ctx, i, id)
	}
	log, err := i.Log(ctx, id, f.lines)
	if err != nil {
		return err
	}
	if len(log) == 0 {
		a.note("this job has written nothing")
		return nil
	}
	lines := make([]loggedLine, len(log))
	for n, line := range log {
		lines[n] = newLoggedLine(line)
	}
	return showAll(a, lines, func(*console) []string {
		var texts []string
		for _, line := range lines {
			texts = append(texts, line.String())
		}
		return texts
	})
}

// followLog prints each line as it comes.
func (a *app) followLog(ctx context.Context, i *work.Inspector, id string) error {
	for line, err := range i.FollowLog(ctx, id) {
		if err != nil {
			return err
		}
		shown := newLoggedLine(line)
		if err := a.show(shown, func(*console) []string { return []string{shown.String()} }); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
