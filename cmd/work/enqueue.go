package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
)

// enqueueFlags are those of enqueue alone. What was not given is not passed on: then the job's own options count.
type enqueueFlags struct {
	in        time.Duration
	at        string
	id        string
	retries   int
	timeout   time.Duration
	retention time.Duration
	front     bool
	meta      []string
	source    int64
	key       string
	weight    int
	needs     []string
	text      bool
	within    time.Duration
	force     bool
	given     func(name string) bool
}

func newEnqueueCommand(a *cli.App) *cobra.Command {
	var f enqueueFlags
	cmd := &cobra.Command{
		Use:   "enqueue NAME ARG...",
		Short: "Enqueue one job",
		Long: `enqueue stores a job and prints its id. Each ARG is a JSON value, passed on as it stands.
Arguments that begin with a minus come after --.`,
		Example: `  work enqueue create_watch 42 1234567890123456
  work enqueue send_mail '{"to":"a@example.org"}' --in 5m --id mail-77
  work enqueue --string greet Ann Bob`,
		Args: requireName,
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return enqueueJob(ctx, a, f, args[0], args[1:])
		}),
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.in, "in", 0, "run it after this `duration`, as 90s or 2h")
	flags.StringVar(&f.at, "at", "", "run it at this `time`, as 2030-01-31T09:00:00Z (RFC 3339)")
	flags.StringVar(&f.id, "id", "", "`id` of the job; if there is one with this id already, nothing is stored")
	flags.IntVar(&f.retries, "retries", 0, "`attempts` after the first")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long an attempt may take, as a `duration`")
	flags.DurationVar(&f.retention, "retention", 0, "keep how it ended and its result for this `duration`")
	flags.BoolVar(&f.front, "front", false, "put it before the jobs that wait")
	flags.StringArrayVar(&f.meta, "meta", nil, "note for its handler and for people, `key=value`; may be repeated")
	flags.Int64Var(&f.source, "source", 0, "`number` of what the job is about")
	flags.StringVar(&f.key, "key", "", "`key` on whose behalf it is done, as the id of a customer: keys have turns")
	flags.IntVar(&f.weight, "weight", 1, "`turns` of that key where others have one")
	flags.StringSliceVar(&f.needs, "needs", nil, "`labels` that a worker must have to run it, with commas between")
	flags.BoolVar(&f.text, "string", false, "take every ARG as a string, not as JSON")
	flags.DurationVar(&f.within, "within", 10*time.Second, "give up after this `duration` if Redis does not answer")
	cli.Force(cmd, &f.force)
	return cmd
}

// requireName refuses a call without a job name.
func requireName(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("the name of the job is missing: work enqueue NAME ARG")
	}
	return nil
}

// enqueueJob runs the command. The id is always chosen here, so that it is known also when it is not known whether the
// job is stored.
func enqueueJob(ctx context.Context, a *cli.App, f enqueueFlags, name string, args []string) error {
	if !f.given("id") {
		f.id = strings.ToLower(rand.Text())
	}
	entry, err := f.entry(name, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.within, &cli.LateError{Within: f.within})
	defer cancel()
	err = a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		return cli.CheckNames(ctx, i, f.force, name)
	})
	if err != nil {
		return err
	}
	enq, err := a.Enqueuer()
	if err != nil {
		return err
	}
	receipts, err := enq.EnqueueMany(ctx, []work.Entry{entry})
	return concludeEnqueue(a, f.id, receipts[0], enqueueErrors{call: err, close: enq.Close()})
}

// enqueueErrors are what went wrong with the call, and with the end of the connection.
type enqueueErrors struct{ call, close error }

// concludeEnqueue tells what became of the job. What is known to be stored is printed first, whatever else went wrong.
func concludeEnqueue(a *cli.App, id string, got work.Receipt, errs enqueueErrors) error {
	err, closeErr := errs.call, errs.close
	var printErr error
	if got.ID != "" {
		printErr = printReceipt(a, a.Out, got)
	}
	var invalid *work.InvalidError
	var failed *work.EnqueueError
	switch {
	case errors.As(err, &invalid):
		return &exit.UsageError{Err: err}
	case errors.As(err, &failed) && len(failed.Unknown) > 0:
		return fmt.Errorf("%w: run it again with --id %s to be sure that it is stored once (if it has ended by then, "+
			"it would run again)", err, id)
	case err != nil:
		return err
	case printErr != nil:
		return printErr
	case closeErr != nil:
		return fmt.Errorf("the job is stored, but the connection did not close in good order: %w", closeErr)
	}
	return nil
}

// entry turns flags and arguments into a job.
func (f enqueueFlags) entry(name string, texts []string) (work.Entry, error) {
	e := work.Entry{Name: name, Source: f.source, In: f.in, Args: make([]any, len(texts))}
	for i, text := range texts {
		arg, err := f.argument(i+1, text)
		if err != nil {
			return e, err
		}
		e.Args[i] = arg
	}
	switch {
	case f.given("in") && f.given("at"):
		return e, exit.Usagef("--in %s and --at %s exclude each other: give one", f.in, f.at)
	case f.in < 0:
		return e, exit.Usagef("--in is %s: give a positive duration, as 90s", f.in)
	case f.within <= 0:
		return e, exit.Usagef("--within is %s: give a duration above zero, as 10s", f.within)
	case f.given("at"):
		at, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return e, exit.Usagef("--at is %q: give a time as 2030-01-31T09:00:00Z or 2030-01-31T10:00:00+01:00", f.at)
		}
		if at.IsZero() { // which would be taken for none given
			return e, exit.Usagef("--at is %s: give a time after 1970", f.at)
		}
		e.At = at
	}
	var err error
	e.Options, err = f.options()
	return e, err
}

// argument checks the ARG at the given place, counted from 1. JSON goes on byte for byte, so that large numbers stay
// exact. An error does not repeat it: terminals and logs keep what is printed, and it may be secret.
func (f enqueueFlags) argument(place int, text string) (any, error) {
	switch {
	case !utf8.ValidString(text):
		return nil, exit.Usagef("argument %d is not UTF-8, which JSON cannot hold: encode it, for example as base64",
			place)
	case f.text:
		return text, nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text), nil
	case strings.HasPrefix(text, "-"):
		return nil, exit.Usagef("argument %d begins with - and is not JSON: flags come before --", place)
	}
	return nil, exit.Usagef("argument %d is not JSON: wrap strings in quotes, as '\"ann\"', or give --string", place)
}

func (f enqueueFlags) options() ([]work.EnqueueOption, error) {
	options := []work.EnqueueOption{work.ID(f.id)}
	if f.given("retries") {
		options = append(options, work.Retries(f.retries))
	}
	if f.given("timeout") {
		options = append(options, work.Timeout(f.timeout))
	}
	if f.given("retention") {
		options = append(options, work.Retention(f.retention))
	}
	if f.front {
		options = append(options, work.Front())
	}
	if f.given("key") {
		options = append(options, work.Key(f.key))
	}
	if f.given("weight") {
		options = append(options, work.Weight(f.weight))
	}
	if f.given("needs") {
		options = append(options, work.Needs(f.needs...))
	}
	for _, pair := range f.meta {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, exit.Usagef("--meta is %q: give key=value", pair)
		}
		options = append(options, work.Meta(key, value))
	}
	return options, nil
}

// receipt is what enqueue prints as JSON.
type receipt struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	RunAt     time.Time `json:"run_at"`
	Duplicate bool      `json:"duplicate"`
}

func printReceipt(a *cli.App, out io.Writer, got work.Receipt) error {
	if a.JSON {
		return json.NewEncoder(out).
			Encode(receipt{ID: got.ID, Name: got.Name, RunAt: got.RunAt, Duplicate: got.Duplicate})
	}
	if got.Duplicate && !a.Quiet {
		fmt.Fprintf(a.Err, "work: a job with the id %s was there already, nothing was stored\n", got.ID)
	}
	_, err := fmt.Fprintln(out, got.ID)
	return err
}
