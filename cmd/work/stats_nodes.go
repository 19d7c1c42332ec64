package main

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// showNodes prints the servers alone.
func showNodes(ctx context.Context, a *cli.App, i *inspect.Inspector, names []string) error {
	if len(names) > 0 {
		return exit.Usagef("--nodes shows the servers of the namespace, whatever the jobs: leave out %s",
			human.Visible(names[0]))
	}
	found, err := i.Topology(ctx)
	if err != nil {
		return err
	}
	return a.Console().Show(found, func(c *console.Console) []string { return nodeLines(c, found) })
}

// severalNodes are the lines of the servers where there are several. That they cannot be told is no failure of what
// was asked for.
func severalNodes(ctx context.Context, i *inspect.Inspector, names []string) func(*console.Console) []string {
	none := func(*console.Console) []string { return nil }
	if len(names) > 0 {
		return none
	}
	found, err := i.Topology(ctx)
	if err != nil || len(found.Nodes) < 2 {
		return none
	}
	return func(c *console.Console) []string { return append([]string{""}, nodeLines(c, found)...) }
}

// nodeLines are the table of the servers, and what is to be said of them together.
func nodeLines(c *console.Console, found inspect.Topology) []string {
	t := console.NewTable(console.Left("SERVER"), console.Left("ROLE"), console.Left("STATE"), console.Right("BEHIND"),
		console.Right("SILENT"), console.Right("MEMORY"), console.Right("LIMIT"), console.Left("VERSION"))
	problems := found.Problems
	for _, n := range found.Nodes {
		role := human.OrDash(n.Role)
		if n.Home || n.OfHome {
			role += " *"
		}
		behind, silent := "-", "-"
		if n.Lag != nil {
			behind, silent = mebibytes(n.Lag.Bytes), n.Lag.Silent.Round(time.Second).String()
		}
		t.Add(human.OrDash(n.Addr), role, human.OrDash(n.State), behind, silent, mebibytesOrDash(n.MemoryUsed),
			mebibytesOrDash(n.MemoryMax), human.OrDash(n.Version))
		if n.Problem != "" {
			problems = append(problems, fmt.Sprintf("%s: %s", n.Addr, n.Problem))
		}
	}
	lines := t.Render(c)
	if found.More > 0 {
		lines = append(lines, human.Number(found.More)+" more")
	}
	lines = append(lines, c.Wrap(console.Plain, "* has the namespace: "+placeOf(found))...)
	for _, problem := range problems {
		lines = append(lines, c.Wrap(console.Plain, human.Visible(problem))...)
	}
	return lines
}

// placeOf is where the namespace is among its servers.
func placeOf(found inspect.Topology) string {
	place := fmt.Sprintf("slot %d", found.Slot)
	switch {
	case found.Mode == "cluster":
		place += " of a cluster whose state is " + human.OrDash(found.ClusterState)
	case found.Sentinel != nil:
		s := found.Sentinel
		place = fmt.Sprintf("primary %s of %d Sentinels, quorum %d, state %s", human.Visible(s.Primary), s.Sentinels,
			s.Quorum, human.Visible(s.State))
	default:
		place += ", where there is no cluster"
	}
	return place
}

// mebibytes is a size with as much as one wants to see.
func mebibytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

func mebibytesOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return mebibytes(n)
}
