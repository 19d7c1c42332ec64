package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// askFlags are those of workers ask.
type askFlags struct {
	all    bool
	within time.Duration
}

func newWorkersAskCommand(a *cli.App) *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "ask [ID] MESSAGE [JSON]",
		Short: "Send a message to a worker, or to all, and print the answers",
		Long: `ask sends a message, with JSON if need be, and prints what each worker answers. Every worker answers echo
and info; what else, its program decides (WorkerPool.OnMessage).

Exit status: 3 if none of the named workers is registered, 5 if one did not answer, or with an error.`,
		Example: `  work workers ask --all info
  work workers ask 3f2a91bc echo '{"a":1}' --within 5s --json`,
		Args: cobra.RangeArgs(1, 3),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if f.within <= 0 {
				return exit.Usagef("--within is %s: give a duration above zero, as 5s", f.within)
			}
			var ids []string
			if !f.all {
				ids, args = args[:1], args[1:]
			}
			if len(args) < 1 || len(args) > 2 {
				return &exit.UsageError{Err: errors.New("say which worker, or --all, then which message, and its JSON")}
			}
			var payload any
			if len(args) == 2 {
				if !json.Valid([]byte(args[1])) {
					return exit.Usagef("%s is no JSON", human.Visible(args[1]))
				}
				payload = json.RawMessage(args[1])
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				return askWorkers(ctx, a, i, asked{ids, args[0], payload, f.within})
			})
		}),
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "all that are registered")
	cmd.Flags().DurationVar(&f.within, "within", 5*time.Second, "give up after this `duration`")
	return cmd
}

// asked is what is asked of which workers; of all where none is named.
type asked struct {
	ids     []string
	message string
	payload any
	within  time.Duration
}

// workerAnswer is what is printed of one.
type workerAnswer struct {
	Worker string          `json:"worker"`
	Value  json.RawMessage `json:"value,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func askWorkers(ctx context.Context, a *cli.App, i *inspect.Inspector, q asked) error {
	ids, err := wholeWorkers(ctx, i, q.ids)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, q.within, &cli.LateError{Within: q.within})
	defer cancel()
	answers, err := i.Ask(limited, ids, q.message, q.payload)
	if err != nil {
		return err
	}
	shown, failed := make([]workerAnswer, len(answers)), error(nil)
	for n, answer := range answers {
		shown[n] = workerAnswer{Worker: answer.Worker, Value: answer.Value}
		if answer.Err != nil {
			shown[n].Error, failed = answer.Err.Error(), answer.Err
		}
	}
	if err := console.List(a.Console(), shown, "no workers are registered", answerTable); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failed != nil && exit.IsMissing(failed) && len(answers) == 1:
		return failed
	case failed != nil:
		return &exit.StatusError{Status: exit.Undone, Err: fmt.Errorf("not all workers answered: %w", failed)}
	}
	return nil
}

func answerTable(answers []workerAnswer) *console.Table {
	t := console.NewTable(console.ID("WORKER"), console.Prose("ANSWER"))
	for _, answer := range answers {
		text := string(answer.Value)
		if answer.Error != "" {
			text = "error: " + answer.Error
		}
		t.Add(human.Visible(answer.Worker), human.Visible(text))
	}
	return t
}
