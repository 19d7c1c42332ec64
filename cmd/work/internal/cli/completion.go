package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// CompletionTimeout is how long a shell waits for Redis while somebody types. Tests are more patient.
var CompletionTimeout = 500 * time.Millisecond

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

// CompleteKey completes the name of a queue and then one of its keys, of those that are the noisiest.
func (a *App) CompleteKey(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return a.QueueNames(cmd), cobra.ShellCompDirectiveNoFileComp
		case 1:
			keys := func(i *inspect.Inspector, ctx context.Context) ([]inspect.KeyInfo, error) {
				page, err := i.Keys(ctx, inspect.KeysOptions{Name: args[0]})
				return page.Keys, err
			}
			return complete(a, cmd, keys, func(k inspect.KeyInfo) string { return human.Visible(k.Key) }),
				cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
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

// FlowIDs completes ids of flows, of those that were stored last.
func (a *App) FlowIDs(cmd *cobra.Command) []string {
	flows := func(i *inspect.Inspector, ctx context.Context) ([]inspect.FlowInfo, error) {
		page, err := i.Flows(ctx, inspect.FlowsOptions{})
		return page.Flows, err
	}
	return complete(a, cmd, flows,
		func(f inspect.FlowInfo) string { return human.Visible(f.ID) + "\t" + string(f.State) })
}

// complete asks Redis. Where it does not answer there is nothing to choose from, and nothing to say in the middle of a
// line.
func complete[T any](a *App, cmd *cobra.Command, ask func(*inspect.Inspector, context.Context) ([]T, error),
	text func(T) string) []string {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTimeout)
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
