package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/describe"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newQueuesCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queues [NAME]",
		Short: "Show the queues, or one of them",
		Long: `queues prints for each name of a job how many wait and run, for how long the next one has waited, what the
last five minutes have brought, how many workers serve it, and what holds it up; where names share a queue, which.

Exit status: 3 if there is no queue of that name.`,
		Example: `  work queues
  work queues export --json | jq .waiting`,
		Args: cli.AtMost(1, "at most one name"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context,
				i *inspect.Inspector) error {
				return showQueues(ctx, a, i, args)
			})
		}),
	}
	a.CompleteArgs(cmd, a.QueueNames)
	cmd.AddCommand(newQueuesDestroyCommand(a), newQueuesKeepCommand(a))
	return cmd
}

func showQueues(ctx context.Context, a *cli.App, i *inspect.Inspector, args []string) error {
	server, err := i.Server(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		q, err := i.Queue(ctx, args[0])
		if err != nil {
			return err
		}
		return a.Console().Show(q, func(c *console.Console) []string { return c.Summary(queueFacts(q, server)) })
	}
	queues, err := i.Queues(ctx)
	if err != nil {
		return err
	}
	return console.List(a.Console(), queues, "there are no queues",
		func(queues []inspect.QueueInfo) *console.Table { return queueTable(queues, server) })
}

func queueTable(queues []inspect.QueueInfo, server inspect.ServerInfo) *console.Table {
	columns := []console.Column{console.Left("QUEUE"), console.Right("WAITING"), console.Right("OLDEST"),
		console.Right("RUNNING"), console.Right("WORKERS"), console.Right("DONE 5M"), console.Right("FAILED 5M"),
		console.Right("DEAD 5M"), console.Prose("HELD UP BY")}
	shared := slices.ContainsFunc(queues, func(q inspect.QueueInfo) bool { return queueNames(q) != "-" })
	if shared {
		columns = slices.Insert(columns, 1, console.Left("NAMES"))
	}
	t := console.NewTable(columns...)
	for _, q := range queues {
		cells := []string{human.Visible(q.Name), human.Number(q.Waiting),
			human.Since(q.Oldest, server.Now),
			human.Number(q.Running), human.Number(q.Workers),
			human.Grouped(q.Done), human.Grouped(q.Failed), human.Grouped(q.Dead), queueHolds(q)}
		if shared {
			cells = slices.Insert(cells, 1, queueNames(q))
		}
		t.Add(cells...)
	}
	return t
}

// queueNames are the names that share the queue, or of a name that shares one where its jobs wait.
func queueNames(q inspect.QueueInfo) string {
	if q.SharedQueue != "" {
		return "in " + human.Visible(q.SharedQueue)
	}
	names := make([]string, len(q.Names))
	for i, name := range q.Names {
		names[i] = human.Visible(name)
	}
	return cmp.Or(strings.Join(names, ", "), "-")
}

// queueHolds is what keeps jobs of the queue from beginning.
func queueHolds(q inspect.QueueInfo) string {
	text := ""
	add := func(is bool, word string) {
		switch {
		case !is:
		case text == "":
			text = word
		default:
			text += ", " + word
		}
	}
	add(q.Problem != "", human.Visible(q.Problem))
	add(q.Paused, "a pause")
	if q.Limit != nil {
		limit := describe.Limit(q.Limit.Limit)
		add(limit != "", "a limit: "+limit)
	}
	add(q.Parked > 0, "limits of keys: "+human.Number(q.Parked)+" parked")
	add(q.Workers == 0 && q.Waiting > 0, "no worker serves it")
	add(q.Hung > 0, hungWorkers(q.Hung, q.Workers))
	for _, n := range q.Needs {
		add(n.Hung > 0, fmt.Sprintf("%s (%s)", hungWorkers(n.Hung, n.Workers), strings.Join(n.Labels, " and ")))
		add(q.Workers > 0 && n.Workers == 0 && n.Waiting > 0, fmt.Sprintf("%s need %s, which no worker has",
			human.Number(n.Waiting), strings.Join(n.Labels, " and ")))
	}
	add(!q.DestroyAt.IsZero(), "to be destroyed at "+human.Stamp(q.DestroyAt))
	return cmp.Or(text, "-")
}

// hungWorkers says how many of the workers hang.
func hungWorkers(hung, of int) string {
	if hung == of {
		return "handlers beyond their time: every processor of " + human.Counted(of, "worker") + " hangs"
	}
	return fmt.Sprintf("handlers beyond their time: every processor of %s of %s workers hangs", human.Number(hung),
		human.Number(of))
}

func queueFacts(q inspect.QueueInfo, server inspect.ServerInfo) []console.SummaryLine {
	facts := []console.SummaryLine{{"queue", human.Visible(q.Name)}}
	if names := queueNames(q); names != "-" {
		facts = append(facts, console.SummaryLine{"names", names})
	}
	facts = append(facts, []console.SummaryLine{
		{"waiting", human.Number(q.Waiting)},
		{"oldest", human.When(q.Oldest, server.Now)},
		{"running", human.Number(q.Running)},
		{"workers", human.Number(q.Workers)}, {"held by", queueHolds(q)},
		{"goes", human.When(q.DestroyAt, server.Now)},
		{"lately", fmt.Sprintf("%s done, %s failed, %s dead in the last five full minutes", human.Grouped(q.Done),
			human.Grouped(q.Failed), human.Grouped(q.Dead))},
	}...)
	for _, n := range q.Needs {
		facts = append(facts, console.SummaryLine{"needs", fmt.Sprintf("%s: %s waiting, %s running, %s",
			strings.Join(n.Labels, " and "), human.Number(n.Waiting), human.Number(n.Running),
			human.Counted(n.Workers, "worker"))})
	}
	return append(facts, console.SummaryLine{"active", human.When(q.LastActive, server.Now)})
}
