package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/265d0351/work"
)

// deed is what a command does to each of some things that are named by their ids.
type deed struct {
	verb, past string // "retry", "retried"
	noun       string // "job"
	each       bool   // what became of each is told, not only how many there were
	batch      int    // how many at a time; 0 is 1
	do         func(ctx context.Context, ids []string) ([]upshot, error)
}

// upshot is what became of one thing. An error of it is no reason to leave out the others.
type upshot struct {
	ID     string   `json:"id"`
	Action string   `json:"action"`
	Done   bool     `json:"done"`
	Effect string   `json:"effect,omitempty"` // more about what was done
	Job    string   `json:"job,omitempty"`    // id of the job that was enqueued
	Took   *seconds `json:"took,omitempty"`   // until the answer came
	Error  string   `json:"error,omitempty"`
	err    error
}

// oneByOne makes what is done to one thing into what a deed does.
func oneByOne(do func(ctx context.Context, id string) error) func(context.Context, []string) ([]upshot, error) {
	return func(ctx context.Context, ids []string) ([]upshot, error) {
		return judged(upshot{ID: ids[0]}, do(ctx, ids[0]))
	}
}

// judged tells an error of one thing from one that the next thing would meet with, too.
func judged(of upshot, err error) ([]upshot, error) {
	if err != nil && !isOwn(err) {
		return nil, err
	}
	of.err = err
	return []upshot{of}, nil
}

// isOwn tells whether an error has to do with the one thing that was named.
func isOwn(err error) bool {
	var state *work.StateError
	var far *work.FarError
	var cancel *work.CancelError
	var invalid *work.InvalidError
	return isMissing(err) || errors.As(err, &state) || errors.As(err, &far) || errors.As(err, &cancel) ||
		errors.As(err, &invalid)
}

// carryOut does it to all, and tells what became of them, also where it cannot go on.
func (a *app) carryOut(ctx context.Context, d deed, ids []string) error {
	r := &deedRun{app: a, deed: d, total: len(ids), out: bufio.NewWriter(a.out), steps: a.steps(d.past)}
	var broken error
	steady, between, stop := a.gently(ctx)
	defer stop()
	for batch := range slices.Chunk(ids, max(d.batch, 1)) {
		if between(); steady.Err() != nil {
			broken = context.Cause(steady)
			break
		}
		upshots, err := d.do(steady, batch)
		for _, u := range upshots {
			r.count(u)
		}
		if broken = err; err != nil {
			break
		}
		r.progress()
	}
	r.steps.clear()
	printed := r.sum()
	switch {
	case broken != nil && r.total > 1:
		return fmt.Errorf("it ended after %d of %s: %w", r.done+r.undone, counted(r.total, d.noun),
			orInterrupted(ctx, broken))
	case broken != nil:
		return orInterrupted(ctx, broken)
	case printed != nil:
		return printed
	}
	return r.verdict()
}

// orInterrupted is what broke something off: Ctrl-C where it was that.
func orInterrupted(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return errInterrupted
	}
	return err
}

// deedRun is a deed under way.
type deedRun struct {
	*app
	deed
	total, done, undone, missing int
	effects                      []string // of what was done, in the order of their first
	howMany                      map[string]int
	last                         error
	out                          *bufio.Writer
	steps                        *steps
}

func (r *deedRun) count(u upshot) {
	u.Action, u.Done = r.verb, u.err == nil
	if u.err != nil {
		u.Error = u.err.Error()
		r.last = u.err
		r.undone++
		if isMissing(u.err) {
			r.missing++
		}
	} else {
		r.done++
		r.effect(u.Effect)
	}
	switch {
	case r.json:
		_ = newEncoder(r.out).Encode(u) // a write that fails is told by the last one
	case u.err != nil && r.total > 1:
		r.steps.clear()
		fmt.Fprintf(r.app.err, "%s: %s\n", r.path, visible(u.Error))
	case u.err == nil && r.each:
		fmt.Fprintln(r.out, eachLine(u))
	}
}

func (r *deedRun) effect(text string) {
	if text == "" {
		return
	}
	if r.howMany == nil {
		r.howMany = map[string]int{}
	}
	if r.howMany[text]++; r.howMany[text] == 1 {
		r.effects = append(r.effects, text)
	}
}

// eachLine is an upshot in a line.
func eachLine(u upshot) string {
	switch {
	case u.Took != nil:
		return visible(u.ID) + "  " + u.Took.String()
	case u.Job != "":
		return visible(u.Job)
	}
	return visible(u.ID)
}

// progress is shown where there is much to do.
func (r *deedRun) progress() {
	if r.total > manyThings && !r.json {
		r.steps.set(r.done+r.undone, r.total)
	}
}

const manyThings = 100

// sum prints what is left to say.
func (r *deedRun) sum() error {
	if !r.json && !r.each && !r.quiet && r.done > 0 {
		fmt.Fprintln(r.out, r.summary())
	}
	return r.out.Flush()
}

func (r *deedRun) summary() string {
	text := counted(r.done, r.noun) + " " + r.past
	if r.done < r.total {
		text = fmt.Sprintf("%s of %s %s", number(r.done), counted(r.total, r.noun), r.past)
	}
	var notes []string
	for _, effect := range r.effects {
		notes = append(notes, fmt.Sprintf("%s %s", number(r.howMany[effect]), effect))
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	return text
}

// verdict is an error if something was left undone.
func (r *deedRun) verdict() error {
	status := exitUndone
	if r.missing == r.total {
		status = exitNotFound
	}
	switch {
	case r.undone == 0:
		return nil
	case r.total == 1:
		return &unfulfilledError{status: status, err: r.last}
	}
	return &unfulfilledError{status: status, err: fmt.Errorf("%s of %s could not be %s", number(r.undone),
		counted(r.total, r.noun), r.past)}
}

// idsFrom are the ids that were given, or those in the lines of the input where "-" was.
func (a *app) idsFrom(args []string) ([]string, error) {
	if len(args) != 1 || args[0] != "-" {
		return args, nil
	}
	text, err := io.ReadAll(a.in)
	if err != nil {
		return nil, fmt.Errorf("the ids cannot be read from standard input: %w", err)
	}
	var ids []string
	for line := range strings.Lines(string(text)) {
		if id := strings.TrimSpace(line); id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
