// Package command is the command migrate: its flags, and what it prints.
package command

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/asynq"
	"github.com/265d0351/work/cmd/work/internal/migrate/gocraft"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/redisconn"
)

// New makes the command.
func New(a *cli.App) *cobra.Command {
	cmd := a.Group("migrate", "Bring jobs of another library over, while both run")
	cmd.Long = `migrate takes the jobs of another library out of its Redis and stores them here, each once, while both sides
go on: see docs/coming-over.md. It may be killed at any moment and started again.`
	cmd.AddCommand(newAsynq(a), newGocraft(a))
	return cmd
}

// flags are those of migrate alone.
type flags struct {
	from, to  string
	namespace string // of the old side
	asynq     asynq.Options
	maxFails  []string // "4", "mail=4"
	idle      cli.Span
	within    cli.Span
	options   migrate.Options
	given     func(name string) bool
}

// migration is a command that brings over the jobs of one library.
type migration struct {
	library string
	cmd     *cobra.Command
	source  func(driver redisconn.Driver, f *flags) migrate.Source
}

func newAsynq(a *cli.App) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "asynq",
		Short: "Bring tasks of asynq over",
		Long: `asynq brings over tasks that are pending, scheduled, to be retried or archived, and active ones whose lease has
run out; others that are active it waits for. Archived ones are stalled here, with the tag was-dead. The type of
a task is the name of its job, its payload is the one argument: JSON as it stands, else a JSON string.`,
		Example: `  work migrate asynq --from redis://old:6379/0 --to redis://new:6379/0 --namespace shop --dry-run
  work migrate asynq --from redis://old:6379/0 --to redis://new:6379/0 --namespace shop --follow`,
	}
	cmd.Flags().StringArrayVar(&f.asynq.Queues, "queue", nil, "only this queue, a `name`; may be repeated")
	cmd.Flags().BoolVar(&f.asynq.Groups, "groups", false, "also tasks that wait in groups, each as a job of its own")
	return f.register(a, migration{"asynq", cmd,
		func(d redisconn.Driver, f *flags) migrate.Source { return asynq.New(d, f.asynq) }})
}

func newGocraft(a *cli.App) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "gocraft",
		Short: "Bring jobs of gocraft/work over",
		Long: `gocraft brings over jobs that wait, are scheduled, to be retried or dead, and those in progress of pools without a
heartbeat; others that are in progress it waits for. Dead ones are stalled here, with the tag was-dead. Args are one
argument, an object; jobs that were enqueued with nil, as periodic ones are, have none.`,
		Example: `  work migrate gocraft --from redis://old:6379/0 --from-namespace app --namespace shop --dry-run
  work migrate gocraft --from redis://old:6379/0 --from-namespace app --namespace shop --max-fails 4 \
    --max-fails export=1 --follow`,
	}
	cmd.Flags().StringVar(&f.namespace, "from-namespace", "work", "namespace of the old side, a `name`")
	cmd.Flags().StringArrayVar(&f.maxFails, "max-fails", nil,
		"MaxFails of the old handlers, to count `failures` on: 4, or export=1 for those of one name; may be repeated. "+
			"Without it jobs have all attempts of the handlers here")
	return f.register(a, migration{"gocraft", cmd,
		func(d redisconn.Driver, f *flags) migrate.Source {
			fails, _ := readMaxFails(f.maxFails) // it was checked
			return gocraft.New(d, f.namespace, fails)
		}})
}

// register gives a command what all of them have.
func (f *flags) register(a *cli.App, m migration) *cobra.Command {
	f.idle, f.within = cli.Span(5*time.Minute), cli.Span(2*time.Minute)
	set := m.cmd.Flags()
	set.StringVar(&f.from, "from", os.Getenv("WORK_MIGRATE_FROM"),
		"`DSN` of the Redis of the old side (env WORK_MIGRATE_FROM)")
	set.Lookup("from").DefValue = "" // it may hold a password
	set.StringVar(&f.to, "to", "", "`DSN` of this side, instead of --redis")
	set.BoolVar(&f.options.DryRun, "dry-run", false, "only say what would be done")
	set.BoolVar(&f.options.Follow, "follow", false, "go on until the old side stays empty, or Ctrl-C")
	set.Var(&f.idle, "idle", "with --follow: end when there was nothing for so long")
	set.Var(&f.within, "within", "how long to wait for what runs on the old side")
	m.cmd.Long += `

Without --follow it ends when the old side is empty. Jobs that cannot come over stay there and are told.

Exit status: 5 if something is left on the old side.`
	m.cmd.Args = cli.AtMost(0, "no argument")
	m.cmd.RunE = a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
		f.given = cmd.Flags().Changed
		if dsn.HasPassword(f.from) {
			a.WarnOfSecret(cmd, "from", "WORK_MIGRATE_FROM")
		}
		if dsn.HasPassword(f.to) {
			a.WarnOfSecret(cmd, "to", "WORK_REDIS")
		}
		return run(ctx, a, f, m)
	})
	return m.cmd
}

// check refuses what cannot be.
func (f *flags) check(a *cli.App) error {
	if f.to != "" {
		a.Redis = f.to
	}
	switch {
	case f.from == "":
		return exit.Usagef("the old side is missing: give --from redis://localhost:6379/0 or set WORK_MIGRATE_FROM")
	case dsn.InMemory(f.from):
		return exit.Usagef("--from is in the memory of this program: name the Redis of the old side")
	case f.options.DryRun && f.options.Follow:
		return exit.Usagef("--dry-run and --follow exclude each other: give one")
	case f.given("idle") && !f.options.Follow:
		return exit.Usagef("--idle is for --follow: give both")
	case f.given("within") && f.options.Follow:
		return exit.Usagef("--within is not for --follow, which waits as long as it takes: give one")
	}
	_, err := readMaxFails(f.maxFails)
	return err
}

// readMaxFails reads "4" and "export=1".
func readMaxFails(given []string) (gocraft.MaxFails, error) {
	fails := gocraft.MaxFails{}
	for _, text := range given {
		name, number := "", text
		if at := strings.LastIndexByte(text, '='); at >= 0 {
			name, number = text[:at], text[at+1:]
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return nil, exit.Usagef("--max-fails is %q: give a number, zero or more, or NAME=NUMBER", text)
		}
		fails[name] = n
	}
	return fails, nil
}

func run(ctx context.Context, a *cli.App, f *flags, m migration) error {
	if err := f.check(a); err != nil {
		return err
	}
	driver, err := redisconn.Open(f.from)
	if err != nil {
		return exit.Usagef("--from: %w", err)
	}
	defer driver.Close() //lint:ignore errcheck what was to be said has been
	return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		steady, between, stop := interrupt.Gently(ctx, a.Hurry)
		defer stop()
		steps := a.Console().Steps("jobs")
		o := f.options
		o.Idle, o.Within, o.Between, o.Progress = f.idle.Duration(), f.within.Duration(), between, steps.Set
		target := &migrate.Target{Directory: inside.Inspector(i).Partitions, Inspector: i}
		report, err := migrate.New(m.source(driver, f), driver, target, o).Run(steady)
		steps.Clear()
		if told := tell(a, report); told != nil {
			return told
		}
		return status(ctx, report, err)
	})
}

// status says whether all came over.
func status(ctx context.Context, r *migrate.Report, err error) error {
	switch {
	case err != nil:
		return interrupt.Cause(ctx, err)
	case r.DryRun || r.Complete:
		return nil
	}
	left := 0
	for _, n := range r.Left {
		left += n
	}
	verb := "are"
	if left == 1 {
		verb = "is"
	}
	return &exit.StatusError{Status: exit.Undone,
		Err: fmt.Errorf("%s %s left on the old side", human.Counted(left, "job"), verb)}
}
