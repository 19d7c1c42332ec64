package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// digestLength is how many digits the digest of a group of errors has.
const digestLength = 32

// wholeGroup is the digest of the group that begins so. A whole one stays as it is: its group may be forgotten, and its
// jobs not.
func wholeGroup(ctx context.Context, i *inspect.Inspector, begin string) (string, error) {
	if begin == "" || len(begin) == digestLength {
		return begin, nil
	}
	groups, err := i.Errors(ctx, "")
	if err != nil {
		return "", err
	}
	var fit []string
	for _, group := range groups {
		if strings.HasPrefix(group.Digest, begin) {
			fit = append(fit, group.Digest)
		}
	}
	switch len(fit) {
	case 0:
		return "", &exit.StatusError{Status: exit.NotFound,
			Err: fmt.Errorf("no group of errors begins with %s: `work errors` lists them", human.Visible(begin))}
	case 1:
		return fit[0], nil
	}
	return "", exit.Usagef("%s groups of errors begin with %s: give more of it", human.Number(len(fit)),
		human.Visible(begin))
}

// NewErrorsRetryCommand is jobs retry of a group.
func NewErrorsRetryCommand(a *cli.App, name *string) *cobra.Command {
	var f actionFlags
	state := string(work.StateDead)
	action := jobActions()[0]
	cmd := &cobra.Command{
		Use:   "retry GROUP",
		Short: "Retry the jobs whose last error is of a group",
		Long: `retry is jobs retry --state dead --error-group GROUP.

Exit status: 5 if some of them were left as they are.`,
		Example: `  work errors retry 3f2a91bc --dry-run`,
		Args:    cli.Exactly(1, "one group, as work errors prints them"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return actOnJobs(ctx, a, jobOrder{action: action, flags: f, selected: true,
				selection: selectionFlags{state: state, name: *name, group: args[0]}})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", state, "`state` of the jobs: "+alternatives(action.states))
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	flags.IntVar(&f.limit, "limit", 0, "at most so many `jobs`; 0 is all")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask before very many records are looked at")
	action.flags(flags, &f)
	a.CompleteFlag(cmd, "state", func(*cobra.Command) []string { return words(action.states) })
	return cmd
}
