package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// Action is what a command does to each of some things that are named by their ids.
type Action struct {
	Verb, Past string // "retry", "retried"
	Noun       string // "job"
	Each       bool   // what became of each is told, not only how many there were
	Batch      int    // how many at a time; 0 is 1
	Do         func(ctx context.Context, ids []string) ([]Result, error)
}

// Result is what became of one thing. An error of it is no reason to leave out the others.
type Result struct {
	ID     string         `json:"id"`
	Action string         `json:"action"`
	Done   bool           `json:"done"`
	Effect string         `json:"effect,omitempty"` // more about what was done
	Job    string         `json:"job,omitempty"`    // id of the job that was enqueued
	Took   *human.Seconds `json:"took,omitempty"`   // until the answer came
	Error  string         `json:"error,omitempty"`
	Err    error          `json:"-"`
}

// OneByOne makes what is done to one thing into what an Action does.
func OneByOne(do func(ctx context.Context, id string) error) func(context.Context, []string) ([]Result, error) {
	return func(ctx context.Context, ids []string) ([]Result, error) {
		return ResultOf(Result{ID: ids[0]}, do(ctx, ids[0]))
	}
}

// ResultOf tells an error of one thing from one that the next thing would meet with, too.
func ResultOf(of Result, err error) ([]Result, error) {
	if err != nil && !isOwn(err) {
		return nil, err
	}
	of.Err = err
	return []Result{of}, nil
}

// CarryOut does it to all, and prints what became of them, also where it cannot go on. It is an error if something was
// left undone.
func (a *App) CarryOut(ctx context.Context, action Action, ids []string) error {
	r := &actionRun{App: a, Action: action, total: len(ids), out: bufio.NewWriter(a.Out),
		steps: a.Console().Steps(action.Past)}
	var broken error
	steady, between, stop := interrupt.Gently(ctx, a.Hurry)
	defer stop()
	for batch := range slices.Chunk(ids, max(action.Batch, 1)) {
		if between(); steady.Err() != nil {
			broken = context.Cause(steady)
			break
		}
		results, err := action.Do(steady, batch)
		for _, u := range results {
			r.count(u)
		}
		if broken = err; err != nil {
			break
		}
		r.progress()
	}
	r.steps.Clear()
	printed := r.sum()
	switch {
	case broken != nil && r.total > 1:
		return fmt.Errorf("it ended after %d of %s: %w", r.done+r.undone, human.Counted(r.total, action.Noun),
			interrupt.Cause(ctx, broken))
	case broken != nil:
		return interrupt.Cause(ctx, broken)
	case printed != nil:
		return printed
	}
	return r.failure()
}

// actionRun is an action under way.
type actionRun struct {
	*App
	Action
	total, done, undone, missing int
	effects                      []string // of what was done, in the order of their first
	howMany                      map[string]int
	last                         error
	out                          *bufio.Writer
	steps                        *console.Steps
}

func (r *actionRun) count(u Result) {
	u.Action, u.Done = r.Verb, u.Err == nil
	if u.Err != nil {
		u.Error = u.Err.Error()
		r.last = u.Err
		r.undone++
		if exit.IsMissing(u.Err) {
			r.missing++
		}
	} else {
		r.done++
		r.effect(u.Effect)
	}
	switch {
	case r.JSON:
		_ = console.NewEncoder(r.out).Encode(u) // a write that fails is told by the last one
	case u.Err != nil && r.total > 1:
		r.steps.Clear()
		fmt.Fprintf(r.App.Err, "%s: %s\n", r.Path, human.Visible(u.Error))
	case u.Err == nil && r.Each:
		fmt.Fprintln(r.out, eachLine(u))
	}
}

func (r *actionRun) effect(text string) {
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

// eachLine is a result in a line.
func eachLine(u Result) string {
	switch {
	case u.Took != nil:
		return human.Visible(u.ID) + "  " + u.Took.String()
	case u.Job != "":
		return human.Visible(u.Job)
	}
	return human.Visible(u.ID)
}

// progress is shown where there is much to do.
func (r *actionRun) progress() {
	if r.total > manyThings && !r.JSON {
		r.steps.Set(r.done+r.undone, r.total)
	}
}

const manyThings = 100

// sum prints what is left to say.
func (r *actionRun) sum() error {
	if !r.JSON && !r.Each && !r.Quiet && r.done > 0 {
		fmt.Fprintln(r.out, r.summary())
	}
	return r.out.Flush()
}

func (r *actionRun) summary() string {
	text := human.Counted(r.done, r.Noun) + " " + r.Past
	if r.done < r.total {
		text = fmt.Sprintf("%s of %s %s", human.Number(r.done), human.Counted(r.total, r.Noun), r.Past)
	}
	var notes []string
	for _, effect := range r.effects {
		notes = append(notes, fmt.Sprintf("%s %s", human.Number(r.howMany[effect]), effect))
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	return text
}

// failure is an error if something was left undone.
func (r *actionRun) failure() error {
	status := exit.Undone
	if r.missing == r.total {
		status = exit.NotFound
	}
	switch {
	case r.undone == 0:
		return nil
	case r.total == 1:
		return &exit.StatusError{Status: status, Err: r.last}
	}
	return &exit.StatusError{Status: status, Err: fmt.Errorf("%s of %s could not be %s", human.Number(r.undone),
		human.Counted(r.total, r.Noun), strings.TrimPrefix(r.Past, "would be "))}
}

// IDs are the ids that were given, or those in the lines of the input where "-" was.
func (a *App) IDs(args []string) ([]string, error) {
	if len(args) != 1 || args[0] != "-" {
		return args, nil
	}
	text, err := io.ReadAll(a.In)
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
