package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// maxStoppedWorkers is how many are listed: all that are kept.
const maxStoppedWorkers = 1000

func listStoppedWorkers(ctx context.Context, a *cli.App, i *inspect.Inspector) error {
	workers, err := i.StoppedWorkers(ctx, maxStoppedWorkers)
	if err != nil {
		return err
	}
	return console.List(a.Console(), workers, "no worker has stopped within a week", stoppedTable)
}

func stoppedTable(workers []inspect.StoppedWorker) *console.Table {
	t := console.NewTable(console.ID("WORKER"), console.Left("HOST"), console.Right("PID"), console.Left("ENDED"),
		console.Left("WHY"), console.Right("UP"), console.Right("DONE"), console.Right("FAILED"), console.Right("DEAD"),
		console.Right("HELD"), console.Prose("NAMES"))
	for _, w := range workers {
		names := make([]string, len(w.Names), len(w.Names)+1)
		for n, of := range w.Names {
			names[n] = of.Name
		}
		if w.NamesLeftOut > 0 {
			names = append(names, fmt.Sprintf("%d more", w.NamesLeftOut))
		}
		t.Add(human.Visible(w.ID), human.OrDash(w.Host), fmt.Sprint(w.PID), human.Stamp(w.Ended), human.Visible(w.Why),
			human.Duration(w.Uptime()), fmt.Sprint(w.Ran.Done), fmt.Sprint(w.Ran.Failed), fmt.Sprint(w.Ran.Dead),
			fmt.Sprint(w.Held), human.Visible(strings.Join(names, ", ")))
	}
	return t
}
