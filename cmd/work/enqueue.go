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
)

// enqueueFlags are those of enqueue alone. What was not given is not passed on: then the job's own options count.
type enqueueFlags struct {
	in      time.Duration
	at      string
	id      string
	retries int
	timeout time.Duration
	front   bool
	meta    []string
	source  int64
	text    bool
	within  time.Duration
	given   func(name string) bool
}

func newEnqueueCommand(a *app) *cobra.Command {
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
		RunE: a.runs(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return a.enqueue(ctx, f, args[0], args[1:])
		}),
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.in, "in", 0, "run it after this `duration`, as 90s or 2h")
	flags.StringVar(&f.at, "at", "", "run it at this `time`, as 2030-01-31T09:00:00Z (RFC 3339)")
	flags.StringVar(&f.id, "id", "", "`id` of the job; if there is one with this id already, nothing is stored")
	flags.IntVar(&f.retries, "retries", 0, "`attempts` after the first")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long an attempt may take, as a `duration`")
	flags.BoolVar(&f.front, "front", false, "put it before the jobs that wait")
	flags.StringArrayVar(&f.meta, "meta", nil, "note for its handler and for people, `key=value`; may be repeated")
	flags.Int64Var(&f.source, "source", 0, "`number` of what the job is about")
	flags.BoolVar(&f.text, "string", false, "take every ARG as a string, not as JSON")
	flags.DurationVar(&f.within, "within", 10*time.Second, "give up after this `duration` if Redis does not answer")
	return cmd
}

// requireName refuses a call without a job name.
func requireName(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("the name of the job is missing: work enqueue NAME ARG")
	}
	return nil
}

// enqueue runs the command. The id is always chosen here, so that it is known also when it is not known whether the job
// is stored.
func (a *app) enqueue(ctx context.Context, f enqueueFlags, name string, args []string) error {
	if !f.given("id") {
		f.id = strings.ToLower(rand.Text())
	}
	entry, err := f.entry(name, args)
	if err != nil {
		return err
	}
	enq, err := a.enqueuer()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.within, &lateError{within: f.within})
	defer cancel()
	receipts, err := enq.EnqueueMany(ctx, []work.Entry{entry})
	return a.conclude(f, receipts[0], err, enq.Close())
}

// lateError says that --within has passed.
type lateError struct{ within time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("no answer within %s (--within)", e.within) }

// Is makes it a missed deadline for errors.Is.
func (*lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// conclude tells what became of the job. What is known to be stored is printed first, whatever else went wrong.
func (a *app) conclude(f enqueueFlags, got work.Receipt, err, closeErr error) error {
	var printErr error
	if got.ID != "" {
		printErr = a.printReceipt(a.out, got)
	}
	var invalid *work.InvalidError
	var failed *work.EnqueueError
	switch {
	case errors.As(err, &invalid):
		return &usageError{err: err}
	case errors.As(err, &failed) && len(failed.Unknown) > 0:
		return fmt.Errorf("%w: run it again with --id %s to be sure that it is stored once (if it has ended by then, it "+
			""+
			""+
			""+
			""+
			""+
			"would run again)", err, f.id)
	case err != nil:
		return err
	case printErr != nil:
		return printErr
	case closeErr != nil:
		return fmt.Errorf("the job is stored, but the connection did not close in good order: %w", closeErr)
	}
	return nil
}

// enqueuer needs a Redis that outlives this program.
func (a *app) enqueuer() (*work.Enqueuer, error) {
	if err := a.needRedis(); err != nil {
		return nil, err
	}
	enq, err := work.NewEnqueuer(a.redis, work.Namespace(a.namespace))
	if err != nil {
		return nil, &usageError{err: err}
	}
	return enq, nil
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
		return e, usagef("--in %s and --at %s exclude each other: give one", f.in, f.at)
	case f.in < 0:
		return e, usagef("--in is %s: give a positive duration, as 90s", f.in)
	case f.within <= 0:
		return e, usagef("--within is %s: give a duration above zero, as 10s", f.within)
	case f.given("at"):
		at, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return e, usagef("--at is %q: give a time as 2030-01-31T09:00:00Z or 2030-01-31T10:00:00+01:00", f.at)
		}
		if at.IsZero() { // which would be taken for none given
			return e, usagef("--at is %s: give a time after 1970", f.at)
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
		return nil, usagef("argument %d is not UTF-8, which JSON cannot hold: encode it, for example as base64", place)
	case f.text:
		return text, nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text), nil
	case strings.HasPrefix(text, "-"):
		return nil, usagef("argument %d begins with - and is not JSON: flags come before --", place)
	}
	return nil, usagef("argument %d is not JSON: wrap strings in quotes, as '\"ann\"', or give --string", place)
}

func (f enqueueFlags) options() ([]work.EnqueueOption, error) {
	options := []work.EnqueueOption{work.ID(f.id)}
	if f.given("retries") {
		options = append(options, work.Retries(f.retries))
	}
	if f.given("timeout") {
		options = append(options, work.Timeout(f.timeout))
	}
	if f.front {
		options = append(options, work.Front())
	}
	for _, pair := range f.meta {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, usagef("--meta is %q: give key=value", pair)
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

func (a *app) printReceipt(out io.Writer, got work.Receipt) error {
	if a.json {
		return json.NewEncoder(out).
			Encode(receipt{ID: got.ID, Name: got.Name, RunAt: got.RunAt, Duplicate: got.Duplicate})
	}
	if got.Duplicate && !a.quiet {
		fmt.Fprintf(a.err, "work: a job with the id %s was there already, nothing was stored\n", got.ID)
	}
	_, err := fmt.Fprintln(out, got.ID)
	return err
}
