package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newAuditCommand(a *cli.App) *cobra.Command {
	var opts inspect.AuditOptions
	var part cli.PageFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List what people did by dashboards, the newest first",
		Long: `audit lists what people did by dashboards and their API, and what they were refused: the last 90 days, at most
10,000 entries. What this program does itself is not among it.`,
		Example: `  work audit --actor ann
  work audit --target mail-77 --json`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if err := part.Validate(); err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				return listAudit(ctx, a, i, opts, part)
			})
		}),
	}
	cmd.Flags().StringVar(&opts.Actor, "actor", "", "only what this `person` did")
	cmd.Flags().StringVar(&opts.Action, "action", "", "only this `action`, as /job-retry")
	cmd.Flags().StringVar(&opts.Target, "target", "", "only what was done to this `id` or name")
	part.Register(cmd, "how many entries")
	return cmd
}

func listAudit(ctx context.Context, a *cli.App, i *inspect.Inspector, opts inspect.AuditOptions,
	part cli.PageFlags) error {
	c := a.Console()
	page := func(cursor string, limit, printed int) (int, string, error) {
		opts.Cursor, opts.Limit = cursor, limit
		page, err := i.Audit(ctx, opts)
		if err != nil {
			return 0, "", err
		}
		return len(page.Entries), page.Next, cli.Rows(c, page.Entries, printed, auditTable)
	}
	return part.List(ctx, c, "nothing of that kind was done", page)
}

func auditTable(entries []inspect.AuditEntry) *console.Table {
	t := console.NewTable(console.Left("WHEN (UTC)"), console.Left("WHO"), console.Left("FROM"), console.Left("ACTION"),
		console.Left("OUTCOME"), console.Left("TO"), console.Prose("WHAT CAME OF IT"))
	for _, e := range entries {
		targets := e.Targets
		if e.LeftOut > 0 {
			targets = append(targets, human.Grouped(int64(e.LeftOut))+" more")
		}
		t.Add(human.Stamp(e.At), human.OrDash(e.Actor), human.OrDash(e.Remote), human.Visible(e.Action),
			human.Visible(e.Outcome), human.OrDash(strings.Join(targets, ", ")), human.Visible(e.Detail))
	}
	return t
}
