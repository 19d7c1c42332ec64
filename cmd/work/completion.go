package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

// completionPatience is how long a shell waits for Redis while somebody types.
const completionPatience = 500 * time.Millisecond

// completeFlag completes the values of a flag.
func (a *app) completeFlag(cmd *cobra.Command, flag string, values func(*cobra.Command) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return values(cmd), cobra.ShellCompDirectiveNoFileComp
		})
	if err != nil {
		panic(err) // there is no such flag, which every test notices
	}
}

// completeArgs completes the arguments of a command.
func (a *app) completeArgs(cmd *cobra.Command, values func(*cobra.Command) []string) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return values(cmd), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) queueNames(cmd *cobra.Command) []string {
	return complete(a, cmd, (*work.Inspector).Queues, func(q work.QueueInfo) string { return visible(q.Name) })
}

func (a *app) workerIDs(cmd *cobra.Command) []string {
	return complete(a, cmd, (*work.Inspector).Workers, func(w work.WorkerInfo) string {
		return visible(w.ID) + "\t" +
			visible(w.Host)
	})
}

func (a *app) scheduleIDs(cmd *cobra.Command) []string {
	return complete(a, cmd, (*work.Inspector).Schedules,
		func(s work.ScheduleInfo) string { return visible(s.ID) + "\t" + visible(s.Spec) })
}

// complete asks Redis. Where it does not answer there is nothing to choose from, and nothing to say in the middle of a
// line.
func complete[T any](a *app, cmd *cobra.Command, ask func(*work.Inspector, context.Context) ([]T, error),
	text func(T) string) []string {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	var texts []string
	_ = a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
		things, err := ask(i, ctx)
		for _, thing := range things {
			texts = append(texts, text(thing))
		}
		return err
	})
	return texts
}
