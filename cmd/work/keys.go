package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/describe"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// keysFlags are those of keys alone.
type keysFlags struct {
	cli.PageFlags
	force bool
}

func newKeysCommand(a *cli.App) *cobra.Command {
	var f keysFlags
	cmd := &cobra.Command{
		Use:   "keys NAME",
		Short: "Show the keys of a queue, the noisiest first",
		Long: `keys prints on whose behalf jobs of a queue wait and run: the customers, where keys are these. Keys with the
most jobs that may not begin come first, and those whose last job will wait longest for its turn. A page
costs the same with ten keys and with a million.

SHARE is the part of the jobs with a key that run now. Where over 1,000 jobs wait for their turn WAITING is
about right, and begins with ~. WEIGHT is unknown of a key of which no job waits.`,
		Example: `  work keys sync
  work keys sync --limit 0 --json | jq -r 'select(.waiting > 1000) | .key'`,
		Args: cli.Exactly(1, "the name of one queue"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if err := f.Validate(); err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if err := cli.CheckNames(ctx, i, f.force, args[0]); err != nil {
					return err
				}
				return listKeys(ctx, a.Console(), i, args[0], f)
			})
		}),
	}
	f.Register(cmd, "at most about so many `keys`")
	cli.Force(cmd, &f.force)
	a.CompleteArgs(cmd, a.QueueNames)
	cmd.AddCommand(newKeysLimitCommand(a), newKeysStopCommand(a), newKeysResetCommand(a))
	return cmd
}

func listKeys(ctx context.Context, c *console.Console, i *inspect.Inspector, name string, f keysFlags) error {
	none := "no job of this name that has a key waits or runs"
	return f.List(ctx, c, none, func(cursor string, limit, printed int) (int, string, error) {
		page, err := i.Keys(ctx, inspect.KeysOptions{Name: name, Cursor: cursor, Limit: limit})
		if err != nil {
			return 0, "", err
		}
		return len(page.Keys), page.Next, cli.Rows(c, page.Keys, printed, keyTable)
	})
}

func keyTable(keys []inspect.KeyInfo) *console.Table {
	t := console.NewTable(console.Left("KEY"), console.Right("WAITING"), console.Right("PARKED"),
		console.Right("RUNNING"), console.Right("SHARE"), console.Right("WEIGHT"), console.Left("LIMIT"),
		console.Prose("WHY NOT MORE"))
	for _, k := range keys {
		waiting := human.Number(k.Waiting)
		if !k.Exact {
			waiting = "~" + waiting
		}
		weight := "-" // not known
		if k.Weight > 0 {
			weight = human.Number(k.Weight)
		}
		t.Add(human.Visible(k.Key), waiting, human.Number(k.Parked), human.Number(k.Running), keyShare(k),
			weight, human.OrDash(keyLimit(k)), human.OrDash(keyReasons(k)))
	}
	return t
}

// keyShare is the part of what runs that is the key's.
func keyShare(k inspect.KeyInfo) string {
	switch {
	case k.Share == 0:
		return "-"
	case k.Share < 0.01:
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", 100*k.Share)
}

// keyLimit is what restrains a key, and whether somebody has set it by hand.
func keyLimit(k inspect.KeyInfo) string {
	var words []string
	if k.Stopped {
		words = append(words, "stopped")
	}
	if limit := describe.Limit(k.Limit); limit != "" {
		words = append(words, limit)
	}
	if k.Ordered {
		words = append(words, "in order")
	}
	if k.Operator {
		words = append(words, "by hand")
	}
	return strings.Join(words, ", ")
}

// keyReasons is why more jobs of a key do not begin.
func keyReasons(k inspect.KeyInfo) string {
	if k.Problem != "" {
		return human.Visible(k.Problem)
	}
	texts := make([]string, len(k.Why))
	for i, reason := range k.Why {
		texts[i] = human.Visible(reason.String())
	}
	return strings.Join(texts, ", ")
}
