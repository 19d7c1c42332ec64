package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// completionTimeout is how long a shell waits for Redis while somebody types.
const completionTimeout = 500 * time.Millisecond

// CompleteFlag completes the values of a flag.
func (a *App) CompleteFlag(cmd *cobra.Command, flag string, values func(*cobra.Command) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return values(cmd), cobra.ShellCompDirectiveNoFileComp
		})
	if err != nil {
		panic(err) // there is no such flag, which every test notices
	}
}

// CompleteArgs completes the arguments of a command.
func (a *App) CompleteArgs(cmd *cobra.Command, values func(*cobra.Command) []string) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return values(cmd), cobra.ShellCompDirectiveNoFileComp
	}
}

// QueueNames completes names of queues.
func (a *App) QueueNames(cmd *cobra.Command) []string {
	return complete(a, cmd, (*inspect.Inspector).Queues,
		func(q inspect.QueueInfo) string { return human.Visible(q.Name) })
}

// WorkerIDs completes ids of workers, with their hosts.
func (a *App) WorkerIDs(cmd *cobra.Command) []string {
	return complete(a, cmd, (*inspect.Inspector).Workers, func(w inspect.WorkerInfo) string {
		return human.Visible(w.ID) + "\t" + human.Visible(w.Host)
	})
}

// ScheduleIDs completes ids of schedules, with their specs.
func (a *App) ScheduleIDs(cmd *cobra.Command) []string {
	return complete(a, cmd, (*inspect.Inspector).Schedules,
		func(s inspect.ScheduleInfo) string { return human.Visible(s.ID) + "\t" + human.Visible(s.Spec) })
}

// complete asks Redis. Where it does not answer there is nothing to choose from, and nothing to say in the middle of a
// line.
func complete[T any](a *App, cmd *cobra.Command, ask func(*inspect.Inspector, context.Context) ([]T, error),
	text func(T) string) []string {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var texts []string
	_ = a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		things, err := ask(i, ctx)
		for _, thing := range things {
			texts = append(texts, text(thing))
		}
		return err
	})
	return texts
}
