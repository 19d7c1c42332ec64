package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

func newQueuesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queues [NAME]",
		Short: "Show the queues, or one of them",
		Long: `queues prints for each name of a job how many wait and run, for how long the next one has waited, what the
last five minutes have brought, how many workers serve it, and what holds it up.

Exit status: 3 if there is no queue of that name.`,
		Example: `  work queues
  work queues export --json | jq .waiting`,
		Args: atMost(1, "at most one name"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error { return a.queues(ctx, i, args) })
		}),
	}
	a.completeArgs(cmd, a.queueNames)
	return cmd
}

func (a *app) queues(ctx context.Context, i *work.Inspector, args []string) error {
	server, err := i.Server(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		q, err := i.Queue(ctx, args[0])
		if err != nil {
			return err
		}
		return a.show(q, func(c *console) []string { return factLines(c, queueFacts(q, server)) })
	}
	queues, err := i.Queues(ctx)
	if err != nil {
		return err
	}
	return list(a, queues, "there are no queues",
		func(queues []work.QueueInfo) *table { return queueTable(queues, server) })
}

func queueTable(queues []work.QueueInfo, server work.ServerInfo) *table {
	t := &table{columns: []column{{title: "QUEUE"}, {title: "WAITING", right: true}, {title: "OLDEST", right: true},
		{title: "RUNNING", right: true},
		{title: "WORKERS", right: true}, {title: "DONE 5M", right: true}, {title: "FAILED 5M", right: true},
		{title: "DEAD 5M", right: true}, {title: "HELD UP BY", prose: true}}}
	for _, q := range queues {
		t.rows = append(t.rows, []string{visible(q.Name), number(q.Waiting), sinceText(q.Oldest, server.Now),
			number(q.Running), number(q.Workers),
			grouped(q.Done), grouped(q.Failed), grouped(q.Dead), queueHolds(q)})
	}
	return t
}

func number(n int) string { return grouped(int64(n)) }

// queueHolds is what keeps jobs of the queue from beginning.
func queueHolds(q work.QueueInfo) string {
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
	add(q.Problem != "", visible(q.Problem))
	add(q.Paused, "a pause")
	if q.Limit != nil {
		limit := limitText(q.Limit.Limit)
		add(limit != "", "a limit: "+limit)
	}
	add(q.Workers == 0 && q.Waiting > 0, "no worker serves it")
	return fallback(text, "-")
}

func queueFacts(q work.QueueInfo, server work.ServerInfo) []fact {
	facts := []fact{
		{"queue", visible(q.Name)}, {"waiting", number(q.Waiting)}, {"oldest", momentText(q.Oldest, server.Now)},
		{"running", number(q.Running)},
		{"workers", number(q.Workers)}, {"held by", queueHolds(q)},
		{"lately", fmt.Sprintf("%s done, %s failed, %s dead in the last five full minutes", grouped(q.Done),
			grouped(q.Failed), grouped(q.Dead))},
	}
	return append(facts, fact{"active", momentText(q.LastActive, server.Now)})
}
