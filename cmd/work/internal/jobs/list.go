package jobs

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// listFlags say how many jobs are listed, and how.
type listFlags struct {
	limit  int
	newest bool
	ended  bool
	over   bool // they are of a state in which jobs have ended
	cursor string
	ids    bool
	yes    bool
}

func (f *listFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.limit, "limit", 50, "at most so many `jobs`; 0 is all")
	flags.BoolVar(&f.newest, "newest", false, "the newest, or due last, first; so come those that have ended anyway")
	flags.BoolVar(&f.ended, "ended", false, "without a state: behind all others also those that have ended")
	flags.StringVar(&f.cursor, "cursor", "", "go on where a list has ended: the `cursor` that it named")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask before very many records are looked at")
	flags.BoolVar(&f.ids, "ids", false, "print the ids only, for the - of other commands")
}

// order completes the flags for jobs of that state: of those that have ended the newest come first, unless
// --newest=false was typed.
func (f *listFlags) order(cmd *cobra.Command, state work.State) error {
	if f.ended && state != "" {
		return exit.Usagef("--ended adds states to a list of all: leave it out with --state %s", state)
	}
	f.over = state.Ended()
	if f.over && !cmd.Flags().Changed("newest") {
		f.newest = true
	}
	return nil
}

func newJobsListCommand(a *cli.App) *cobra.Command {
	var f listFlags
	var state, name string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, of one state or of all",
		Long: `list prints jobs: of a queue those first that run next, of others those first that are due first or
came first, of those that have ended the last. Jobs that have ended are kept for as long as their
retention says, of each name and state the last 10,000.

With a state (and, for queued jobs and those that have ended, a name) it costs what the page costs,
however many jobs there are. A name of others, which do not run, is looked for in all of that state: it
asks first where these are more than 100,000.`,
		Example: `  work jobs list --state dead
  work jobs list --state succeeded --name export
  work jobs list --state queued --name export --limit 10 --json
  work jobs list --state dead --limit 0 --ids | work jobs retry -`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			of := inspect.Selection{State: work.State(state), Name: name}
			if err := checkState(state, listedStates); err != nil {
				return err
			}
			if err := f.order(cmd, of.State); err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				return listJobs(ctx, a, f, pagesOf(i, of, f))
			})
		}),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&state, "state", "", "`state` of the jobs: "+alternatives(listedStates))
	cmd.Flags().StringVar(&name, "name", "", "`name` of the jobs")
	a.CompleteFlag(cmd, "state", func(*cobra.Command) []string { return words(listedStates) })
	a.CompleteFlag(cmd, "name", a.QueueNames)
	return cmd
}

func newJobsSearchCommand(a *cli.App) *cobra.Command {
	var f listFlags
	var s selectionFlags
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Find jobs by what they are and what became of them",
		Long: `search looks through the jobs, 2,000 records at a time, and prints those that fit all flags. It reads
every record on its way, which takes about a second for 30,000, and asks first where there are more than
100,000: in a namespace with many jobs, name a state and a name.`,
		Example: `  work jobs search --id mail-77
  work jobs search --state dead --error timeout --older-than 7d
  work jobs search --name export --args '"customer":42' --json`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			selection, err := s.selection(listedStates)
			if err != nil {
				return err
			}
			if err := f.order(cmd, selection.State); err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if selection.ErrorGroup, err = wholeGroup(ctx, i, selection.ErrorGroup); err != nil {
					return err
				}
				return listJobs(ctx, a, f, found(i, selection, f))
			})
		}),
	}
	f.register(cmd)
	s.register(a, cmd, listedStates)
	return cmd
}

// jobPages reads pages of jobs, from the beginning or from a cursor on.
type jobPages func(ctx context.Context, cursor string, limit int) (jobPage, error)

// jobPage is one of them. It may be empty and not be the last.
type jobPage struct {
	jobs           []*inspect.JobInfo
	next           string
	through, total int // how many were looked at, of about how many; 0 where the next page is near anyway
}

// pagesOf are the jobs of a state and a name where they can be read as such, and otherwise those that are found by
// looking.
func pagesOf(i *inspect.Inspector, of inspect.Selection, f listFlags) jobPages {
	needsName := of.State == work.StateQueued || of.State.Ended()
	canName := needsName || of.State == work.StateRunning
	if of.State == "" || (needsName && of.Name == "") || (of.Name != "" && !canName) {
		return found(i, of, f)
	}
	return func(ctx context.Context, cursor string, limit int) (jobPage, error) {
		page, err := i.Page(ctx, inspect.PageOptions{State: of.State, Name: of.Name, Newest: f.newest, Cursor: cursor,
			Limit: limit})
		return jobPage{jobs: page.Jobs, next: page.Next}, err
	}
}

// found are the jobs that a search finds.
func found(i *inspect.Inspector, selection inspect.Selection, f listFlags) jobPages {
	return func(ctx context.Context, cursor string, limit int) (jobPage, error) {
		page, err := i.Search(ctx, selection,
			inspect.SearchOptions{Cursor: cursor, Limit: limit, Newest: f.newest, Ended: f.ended})
		return jobPage{jobs: page.Jobs, next: page.Next, through: page.Through, total: page.Total}, err
	}
}

// mostOfPage is how many jobs a page may have.
const mostOfPage = 500

// listJobs prints the jobs page by page, so that a long list needs no more memory than a page.
func listJobs(ctx context.Context, a *cli.App, f listFlags, read jobPages) error {
	if f.limit < 0 {
		return exit.Usagef("--limit is %d: give 1 or more, or 0 for all", f.limit)
	}
	p := &jobPrinter{App: a, ids: f.ids, table: jobTable, console: a.Console(), out: bufio.NewWriter(a.Out)}
	if f.over {
		p.table = endedTable
	}
	steps := a.Console().Steps("looked at")
	defer steps.Clear()
	for cursor := f.cursor; ; {
		page, err := read(ctx, cursor, pageSize(f.limit, p.printed))
		if err != nil {
			return err
		}
		steps.Clear()
		if err := p.print(page.jobs); err != nil {
			return err
		}
		cursor = page.next
		switch {
		case cursor == "":
			if p.printed == 0 {
				a.Console().Note("there are no such jobs")
			}
			return nil
		case f.limit > 0 && p.printed >= f.limit:
			a.Console().Note("there may be more: go on with --cursor %s", cursor)
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w: go on with --cursor %s", context.Cause(ctx), cursor)
		case !f.yes && page.total-page.through > mostUnasked:
			if err := confirmWalk(a, page, cursor, p); err != nil {
				return err
			}
			f.yes = true
		case page.total > 0 && !a.JSON:
			steps.Set(page.through, page.total)
		}
	}
}

// mostUnasked is how many records are looked at without a question, and walkPace how many take about a second.
const (
	mostUnasked = 100_000
	walkPace    = 30_000
)

// confirmWalk asks before all records are read for what may be few jobs. What was found so far is printed.
func confirmWalk(a *cli.App, page jobPage, cursor string, p *jobPrinter) error {
	question := walkQuestion(page.total - page.through)
	if !a.Console().CanAnswer() {
		return exit.Usagef("%s nobody can be asked without a terminal: give --yes, or go on with --cursor %s", question,
			cursor)
	}
	if err := a.Console().Confirm(question); err != nil {
		return fmt.Errorf("%w; %s found, go on with --cursor %s", err, human.Counted(p.printed, "job"), cursor)
	}
	return nil
}

func walkQuestion(records int) string {
	return fmt.Sprintf("look at %s more records, about %s of work for Redis and this program?", human.Number(records),
		(time.Duration(records/walkPace) * time.Second).String())
}

func pageSize(limit, printed int) int {
	if limit == 0 {
		return mostOfPage
	}
	return min(mostOfPage, limit-printed)
}

// jobPrinter prints pages of jobs one after the other.
type jobPrinter struct {
	*cli.App
	ids     bool
	table   func([]*inspect.JobInfo) *console.Table
	console *console.Console
	out     *bufio.Writer
	printed int
}

func (p *jobPrinter) print(jobs []*inspect.JobInfo) error {
	if len(jobs) == 0 {
		return nil
	}
	switch {
	case p.JSON:
		if err := p.encode(jobs); err != nil {
			return err
		}
	case p.ids:
		for _, job := range jobs {
			fmt.Fprintln(p.out, job.ID)
		}
	default:
		lines := p.table(jobs).Render(p.console)
		if p.printed > 0 {
			lines = lines[1:] // one title is enough
		}
		for _, line := range lines {
			fmt.Fprintln(p.out, line)
		}
	}
	p.printed += len(jobs)
	return p.out.Flush()
}

// encode prints an object for each job.
func (p *jobPrinter) encode(jobs []*inspect.JobInfo) error {
	encoder := console.NewEncoder(p.out)
	for _, job := range jobs {
		var shown any = job
		if p.ids {
			shown = map[string]string{"id": job.ID}
		}
		if err := encoder.Encode(shown); err != nil {
			return err
		}
	}
	return nil
}
