package jobs

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
)

// selectionFlags say which jobs a command is about.
type selectionFlags struct {
	state     string
	name      string
	id        string
	tag       string
	key       string
	errorText string
	group     string
	failure   string
	args      string
	meta      []string
	source    int64
	older     cli.Span

	changed func(flag string) bool // reports whether it was typed; nil where no flags select
}

// register adds the flags to a command. The states are those that make sense for it.
func (f *selectionFlags) register(a *cli.App, cmd *cobra.Command, states []work.State) {
	flags := cmd.Flags()
	f.changed = flags.Changed
	flags.StringVar(&f.state, "state", "", "`state` of the jobs: "+alternatives(states))
	flags.StringVar(&f.name, "name", "", "`name` of the jobs")
	flags.StringVar(&f.id, "id", "", "a `part` of the id")
	flags.StringVar(&f.tag, "tag", "", "`tag` that the job has among others")
	flags.StringVar(&f.key, "key", "", "`key` on whose behalf the job is done")
	flags.StringVar(&f.errorText, "error", "", "a `part` of the last error, or of the reason for which it died")
	flags.StringVar(&f.group, "error-group", "", "`digest` of the group that its last error is of: see work errors")
	flags.StringVar(&f.failure, "failure", "", "`kind` of the last failure, or of that with which it died: timeout")
	flags.StringVar(&f.args, "args", "", "a `part` of the arguments, as they stand in the JSON array")
	flags.StringArrayVar(&f.meta, "meta", nil, "note that it was given, `key=value`; may be repeated")
	flags.Int64Var(&f.source, "source", 0, "`number` of what the job is about")
	flags.Var(&f.older, "older-than", "dead or stalled for so long, or else enqueued so long ago, as 90s, 2h or 7d")
	a.CompleteFlag(cmd, "state", func(*cobra.Command) []string { return words(states) })
	a.CompleteFlag(cmd, "failure", func(*cobra.Command) []string { return []string{string(event.FailureTimeout)} })
	a.CompleteFlag(cmd, "name", a.QueueNames)
}

// selectionNames are the flags.
var selectionNames = []string{"state", "name", "id", "tag", "key", "error", "error-group", "failure", "args", "meta",
	"source", "older-than"}

// given reports whether any of the flags was typed.
func (f *selectionFlags) given() bool { return slices.ContainsFunc(selectionNames, f.typed) }

func (f *selectionFlags) typed(flag string) bool { return f.changed != nil && f.changed(flag) }

// selection is what the flags say, in one of these states or, where that may be left out, in none.
func (f *selectionFlags) selection(states []work.State) (inspect.Selection, error) {
	if err := checkState(f.state, states); err != nil {
		return inspect.Selection{}, err
	}
	if f.older == 0 && f.typed("older-than") {
		return inspect.Selection{}, exit.Usagef("--older-than is 0s, and every job is that old: give a longer time, " +
			"or leave it out")
	}
	if f.source == 0 && f.typed("source") {
		return inspect.Selection{}, exit.Usagef("--source is 0, which stands for any: give another number, or " +
			"leave it out")
	}
	if f.failure != "" && f.failure != string(event.FailureTimeout) {
		return inspect.Selection{}, exit.Usagef("--failure is %q: give timeout", f.failure)
	}
	meta, err := pairs(f.meta)
	return inspect.Selection{
		State: work.State(f.state), Name: f.name, ID: f.id, Tag: f.tag, Key: f.key,
		ErrorText: f.errorText, ErrorGroup: f.group,
		Failure: event.FailureKind(f.failure), ArgsText: f.args,
		Meta: meta, Source: f.source, OlderThan: f.older.Duration(),
	}, err
}

// pairs reads key=value.
func pairs(texts []string) (map[string]string, error) {
	var meta map[string]string
	for _, text := range texts {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return nil, exit.Usagef("--meta is %q: give key=value", text)
		}
		if meta == nil {
			meta = map[string]string{}
		}
		meta[key] = value
	}
	return meta, nil
}

func checkState(state string, states []work.State) error {
	if state == "" || slices.Contains(states, work.State(state)) {
		return nil
	}
	return exit.Usagef("--state is %q: give %s", state, alternatives(states))
}

// The states of a job that lives, those of which workers leave it alone, and those in which it has ended.
var (
	livingStates = []work.State{work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
		work.StateStalled, work.StateDead}
	restingStates = []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
		work.StateDead}
	endedStates = []work.State{work.StateSucceeded, work.StateCancelled, work.StateDiscarded, work.StateExpired,
		work.StateDeleted}
	listedStates = slices.Concat(livingStates, endedStates)
)

func words(states []work.State) []string {
	texts := make([]string, len(states))
	for i, state := range states {
		texts[i] = string(state)
	}
	return texts
}

// alternatives is "queued, running or dead".
func alternatives(states []work.State) string {
	texts := words(states)
	if n := len(texts); n > 1 {
		texts = append(texts[:n-2], texts[n-2]+" or "+texts[n-1])
	}
	return strings.Join(texts, ", ")
}

// selectionText is a selection in words, for a question.
func selectionText(s inspect.Selection) string {
	parts := []string{string(s.State) + " jobs"}
	if isWhole(s) {
		parts[0] = "all " + parts[0]
	}
	for _, part := range []struct{ is, word string }{
		{s.Name, "named"}, {s.ID, "with an id that has"}, {s.Tag, "with the tag"},
		{s.Key, "of the key"},
		{s.ErrorText, "with an error that has"},
		{s.ErrorGroup, "of the group of errors"}, {string(s.Failure), "that failed by a"},
		{s.ArgsText, "with args that have"},
	} {
		if part.is != "" {
			parts = append(parts, part.word, human.Visible(part.is))
		}
	}
	if len(s.Meta) > 0 || s.Source != 0 || s.OlderThan != 0 {
		parts = append(parts, "that fit the other flags")
	}
	return strings.Join(parts, " ")
}
