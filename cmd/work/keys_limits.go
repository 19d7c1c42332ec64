package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/describe"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newKeysLimitCommand(a *cli.App) *cobra.Command {
	var limit work.Limit
	var rate string
	var force bool
	cmd := &cobra.Command{
		Use:   "limit NAME KEY",
		Short: "Limit one key of a queue by hand, over all workers",
		Long: `limit is in force at once and until keys reset, whatever the code says of all keys of the name; it may allow
more than that. What runs goes on.`,
		Example: `  work keys limit export customer-7 --running 10
  work keys limit call 'key of ann' --rate 100/1m`,
		Args: cli.Exactly(2, "the name of a queue and one of its keys"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			wanted := limit
			if err := readRate(rate, &wanted); err != nil {
				return err
			}
			if wanted == (work.Limit{}) {
				return exit.Usagef("nothing is limited: give --running, as 10, or --rate, as 100/1m; " +
					"to let no job begin: work keys stop")
			}
			return onKey(ctx, a, keyOrder{"limit", args[0], args[1], force}, func(ctx context.Context,
				i *inspect.Inspector) (string, error) {
				return describe.Limit(wanted), i.SetKeyLimit(ctx, args[0], args[1], wanted)
			})
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&limit.Concurrent, "running", 0, "how many `jobs` of the key may run at a time")
	flags.StringVar(&rate, "rate", "", "how many of its jobs may begin in which time, as `100/1m`")
	flags.IntVar(&limit.Burst, "burst", 0, "how many `jobs` may begin one right after the other")
	cli.Force(cmd, &force)
	a.CompleteKey(cmd)
	return cmd
}

// readRate reads "100/1m".
func readRate(text string, into *work.Limit) error {
	if text == "" {
		return nil
	}
	jobs, per, found := strings.Cut(text, "/")
	n, err := strconv.Atoi(jobs)
	if err != nil || !found || n < 1 {
		return exit.Usagef("--rate is %q: give how many jobs and in which time, as 100/1m", text)
	}
	if per != "" && (per[0] < '0' || per[0] > '9') { // 100/m
		per = "1" + per
	}
	if into.Per, err = time.ParseDuration(per); err != nil {
		return exit.Usagef("--rate is %q: give a duration behind the slash, as 100/1m", text)
	}
	into.Rate = n
	return nil
}

func newKeysStopCommand(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "stop NAME KEY",
		Short: "Let no more jobs of one key of a queue begin",
		Long: `stop lets what runs go on, and enqueueing too; other keys of the queue are not concerned. It holds until keys
reset, or keys limit.`,
		Example: "  work keys stop sync customer-42",
		Args:    cli.Exactly(2, "the name of a queue and one of its keys"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return onKey(ctx, a, keyOrder{"stop", args[0], args[1], force}, func(ctx context.Context,
				i *inspect.Inspector) (string, error) {
				return "stopped", i.StopKey(ctx, args[0], args[1])
			})
		}),
	}
	cli.Force(cmd, &force)
	a.CompleteKey(cmd)
	return cmd
}

func newKeysResetCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reset NAME KEY",
		Short:   "Take back what was set for one key by hand",
		Long:    "reset puts in force again what the code says of all keys of the name, or nothing.",
		Example: "  work keys reset sync customer-42",
		Args:    cli.Exactly(2, "the name of a queue and one of its keys"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return onKey(ctx, a, keyOrder{"reset", args[0], args[1], true}, func(ctx context.Context,
				i *inspect.Inspector) (string, error) {
				return "as all other keys", i.ResetKeyLimit(ctx, args[0], args[1])
			})
		}),
	}
	a.CompleteKey(cmd)
	return cmd
}

// keyOrder is what is done to which key.
type keyOrder struct {
	action, name, key string
	force             bool // whatever it is called
}

// onKey does something to a key, and tells what holds for it now.
func onKey(ctx context.Context, a *cli.App, o keyOrder,
	do func(context.Context, *inspect.Inspector) (string, error)) error {
	return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		if err := cli.CheckNames(ctx, i, o.force, o.name); err != nil {
			return err
		}
		now, err := do(ctx, i)
		if err != nil {
			return err
		}
		return a.Console().Tell(struct {
			Action string `json:"action"`
			Name   string `json:"name"`
			Key    string `json:"key"`
		}{o.action, o.name, o.key}, fmt.Sprintf("%s, key %s: %s", human.Visible(o.name), human.Visible(o.key), now))
	})
}
