package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// stocked is a namespace with something of each kind that commands change.
type stocked struct {
	t         *testing.T
	server    redistest.Server
	driver    redisconn.Driver
	namespace string
	samples   map[string]string // what is given for the words in the usage of a command
}

func newStocked(t *testing.T, server redistest.Server) *stocked {
	t.Helper()
	s := &stocked{t: t, server: server, namespace: redistest.Namespace(t)}
	driver, err := redisconn.Open(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	s.driver = driver
	enq, err := work.NewEnqueuer(server.DSN(), work.Namespace(s.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: server.DSN(), Namespace: s.namespace,
		Logger: slog.New(slog.DiscardHandler)}).
		Job("mail", func() error { return work.Bury(errors.New("there is no mailbox")) }).
		Job("export", func() error { return work.RetryIn(time.Hour, errors.New("the disk is full")) })
	store := func(entries ...work.Entry) {
		_, err := enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
	}
	store(work.Entry{Name: "mail", Options: []work.EnqueueOption{work.ID("mail-1")}}, work.Entry{Name: "export"})
	require.NoError(t, pool.Start(t.Context()))
	require.NoError(t, pool.Drain(t.Context()))
	require.NoError(t, pool.Stop(context.Background()))
	store(work.Entry{Name: "mail", Options: []work.EnqueueOption{work.ID("mail-2")}},
		work.Entry{Name: "mail", Options: []work.EnqueueOption{work.ID("mail-3")}},
		work.Entry{Name: "mail", In: time.Hour, Options: []work.EnqueueOption{work.Key("ann")}})
	inspector, err := inspect.New(server.DSN(), work.Namespace(s.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	require.NoError(t, inspector.AddSchedule(t.Context(), "@daily", "mail", work.PeriodicOptions{ID: "nightly"}))
	require.NoError(t, inspector.SetLimit(t.Context(), "mail", work.Limit{Concurrent: 2}))
	require.NoError(t, inspector.Stall(t.Context(), "mail-3"))
	groups, err := inspector.Errors(t.Context(), "mail")
	require.NoError(t, err)
	require.Len(t, groups, 1)
	s.samples = map[string]string{"NAME": "mail", "ID": "mail-1", "ARG": "1", "KEY": "ann", "SPEC": "@daily",
		"MESSAGE": "echo", "JSON": "1", "RULE": "queues-unserved", "GROUP": groups[0].Digest, "DIR": t.TempDir(),
		"N": "1", "command": "version"}
	return s
}

// all is what is in the namespace.
func (s *stocked) all() map[string]string {
	s.t.Helper()
	ask := func(calls ...redisconn.Call) (values []any) {
		replies, err := s.driver.Pipeline(s.t.Context(), calls...)
		require.NoError(s.t, err)
		for n, reply := range replies {
			require.NoError(s.t, reply.Err, calls[n].Command)
			values = append(values, reply.Value)
		}
		return values
	}
	keys := ask(redisconn.Call{Command: "KEYS", Args: []any{"{" + s.namespace + "}:*"}})[0].([]any)
	calls := make([]redisconn.Call, len(keys))
	for n, key := range keys {
		calls[n] = redisconn.Call{Command: "TYPE", Args: []any{key}}
	}
	for n, kind := range ask(calls...) {
		read, known := map[string]redisconn.Call{"string": {Command: "GET"}, "hash": {Command: "HGETALL"},
			"set": {Command: "SMEMBERS"}, "list": {Command: "LRANGE", Args: []any{0, -1}},
			"zset":   {Command: "ZRANGE", Args: []any{0, -1, "WITHSCORES"}},
			"stream": {Command: "XRANGE", Args: []any{"-", "+"}}}[fmt.Sprintf("%s", kind)]
		require.True(s.t, known, "key %s of type %s", keys[n], kind)
		read.Args = append([]any{keys[n]}, read.Args...)
		calls[n] = read
	}
	found := map[string]string{}
	for n, value := range ask(calls...) {
		members, are := value.([]any)
		if are && calls[n].Command != "LRANGE" && calls[n].Command != "ZRANGE" { // in no order
			slices.SortFunc(members, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		found[fmt.Sprintf("%s", keys[n])] = fmt.Sprintf("%s", value)
	}
	return found
}

// refused says why the program refuses a command line, and fails where it does not, or where it may have gone further.
func (s *stocked) refused(in string, args ...string) string {
	s.t.Helper()
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute) // of a command that serves until it is interrupted
	defer cancel()
	a := &cli.App{In: strings.NewReader(in), Out: &out, Err: &errOut, Hurry: context.Background()}
	status := run(ctx, a, append(args, "--redis", s.server.DSN(), "--namespace", s.namespace))
	assert.Equal(s.t, exit.Usage, status, "%q: %s%s", args, out.String(), errOut.String())
	return errOut.String()
}

// eachCommand calls do with every command there is, also those that cobra adds, and looks whether it has changed
// anything.
func eachCommand(t *testing.T, do func(t *testing.T, s *stocked, cmd *cobra.Command)) {
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newStocked(t, server)
		root := newRootCommand(&cli.App{})
		root.InitDefaultHelpCmd()
		root.InitDefaultCompletionCmd()
		var walk func(*cobra.Command)
		walk = func(cmd *cobra.Command) {
			cmd.LocalFlags() // adds the flags of its parents to its own
			t.Run(cmd.CommandPath(), func(t *testing.T) {
				of := *s
				of.t = t
				before := of.all()
				require.NotEmpty(t, before)
				do(t, &of, cmd)
				assert.Equal(t, before, of.all(), "what is in Redis")
			})
			for _, below := range cmd.Commands() {
				walk(below)
			}
		}
		walk(root)
	})
}

// path returns the words of a command without the name of the program.
func path(cmd *cobra.Command) []string { return strings.Fields(cmd.CommandPath())[1:] }

var usageWord = regexp.MustCompile(`\[?([A-Za-z]+)(\.\.\.)?]?`)

// arguments are good ones for a command: of all that its usage names, and of those alone that it needs.
func (s *stocked) arguments(cmd *cobra.Command) (all, needed []string) {
	s.t.Helper()
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if word == "[flags]" {
			continue
		}
		sample, known := s.samples[usageWord.FindStringSubmatch(word)[1]]
		require.True(s.t, known, "give a sample of %s, for %s", word, cmd.CommandPath())
		all = append(all, sample)
		if !strings.HasPrefix(word, "[") {
			needed = append(needed, sample)
		}
	}
	return all, needed
}

// willing are flags with which a command asks nothing, and has what it needs.
func willing(cmd *cobra.Command) (flags []string) {
	for _, name := range []string{"yes", "force"} {
		if cmd.Flags().Lookup(name) != nil {
			flags = append(flags, "--"+name)
		}
	}
	return append(flags, ofState(cmd)...)
}

// ofState is the flag of the first state that a command takes.
func ofState(cmd *cobra.Command) []string {
	complete, there := cmd.GetFlagCompletionFunc("state")
	if !there {
		return nil
	}
	states, _ := complete(cmd, nil, "")
	return []string{"--state", states[0]}
}

// A script gives an empty flag when its variable is not set. Left out it would select everything, so each flag of each
// command refuses it, before anything is read or changed.
func TestAnEmptyFlagIsRefusedByEveryCommand(t *testing.T) {
	t.Parallel()
	eachCommand(t, func(t *testing.T, s *stocked, cmd *cobra.Command) {
		_, needed := s.arguments(cmd)
		line := slices.Concat(path(cmd), needed, willing(cmd))
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			forms := [][]string{{"--" + flag.Name + "="}, {"--" + flag.Name + "= "}}
			if flag.NoOptDefVal == "" {
				forms = append(forms, []string{"--" + flag.Name, ""})
				if flag.Shorthand != "" {
					forms = append(forms, []string{"-" + flag.Shorthand, ""})
				}
			}
			if strings.HasSuffix(flag.Value.Type(), "Slice") || strings.HasSuffix(flag.Value.Type(), "Array") {
				forms = append(forms, []string{"--" + flag.Name, "", "--" + flag.Name, "a=b"})
			}
			for _, form := range forms {
				assert.Contains(t, s.refused("", append(slices.Clone(line), form...)...), "--"+flag.Name+" is empty")
			}
			if flag.Value.Type() == "stringSlice" {
				for _, list := range []string{"a,", ",a", "a,,b", ","} {
					assert.Contains(t, s.refused("", append(slices.Clone(line), "--"+flag.Name, list)...),
						"--"+flag.Name+" is ")
				}
			}
		})
	})
}

// The same goes for arguments: in each place, and behind those that a command takes.
func TestAnEmptyArgumentIsRefusedByEveryCommand(t *testing.T) {
	t.Parallel()
	eachCommand(t, func(t *testing.T, s *stocked, cmd *cobra.Command) {
		all, _ := s.arguments(cmd)
		asked := slices.DeleteFunc(willing(cmd), func(flag string) bool { return flag != "--yes" && flag != "--force" })
		for place := range len(all) + 1 {
			for _, empty := range []string{"", " "} {
				args := slices.Clone(all[:place])
				args = append(args, empty)
				args = append(args, all[min(place+1, len(all)):]...)
				said := s.refused("", slices.Concat(path(cmd), asked, args)...)
				assert.Contains(t, said, fmt.Sprintf("argument %d of %s is empty", place+1, cmd.CommandPath()))
				said = s.refused("", slices.Concat(path(cmd), asked, []string{"--"}, args)...)
				assert.Contains(t, said, fmt.Sprintf("argument %d of %s is empty", place+1, cmd.CommandPath()))
			}
		}
	})
}

// zeroMeans are the flags of numbers and times whose zero says something of its own, by name or by command and name.
// Each other one refuses it, since it would be as if the flag had been left out.
var zeroMeans = map[string]string{
	"limit":          "all",
	"lines":          "all",
	"within":         "wait for ever, or for migrate not at all",
	"in":             "now",
	"since":          "the present minute",
	"idle":           "at once",
	"jitter":         "none",
	"retries":        "no attempt after the first",
	"retention":      "nothing is kept",
	"enqueue source": "it is about nothing",
	"concurrent":     "no limit",
	"rate":           "no limit",
	"burst":          "one at a time",
	"per":            "nothing, without a rate",
	"alert-after":    "the usual minute",
	"workers":        "as many as the demo needs",
	"slow":           "no longer",
	"flaky":          "none",
	"scheduled":      "none",
	"args-bytes":     "none",
	"duration":       "a number of jobs instead",
}

// An age of 0 and a source of 0 select every job.
func TestAZeroThatWouldSelectAllIsRefused(t *testing.T) {
	t.Parallel()
	eachCommand(t, func(t *testing.T, s *stocked, cmd *cobra.Command) {
		_, needed := s.arguments(cmd)
		words := path(cmd)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			numbers := slices.Contains([]string{"int", "int64", "duration", "span"}, flag.Value.Type())
			if !numbers || zeroMeans[flag.Name] != "" ||
				zeroMeans[strings.Join(append(slices.Clone(words), flag.Name), " ")] != "" {
				return
			}
			zero := "0"
			if flag.Value.Type() == "span" {
				zero = "0s"
			}
			said := s.refused("", slices.Concat(words, needed, willing(cmd), []string{"--" + flag.Name, zero})...)
			assert.Contains(t, strings.ToLower(said), flag.Name)
		})
	})
}

// What changes a whole state asks first, without --yes: another flag of the selection may have been forgotten. A limit
// bounds it, so it asks nothing then.
func TestAWholeStateIsAskedAboutFirst(t *testing.T) {
	t.Parallel()
	asked := 0
	eachCommand(t, func(t *testing.T, s *stocked, cmd *cobra.Command) {
		if cmd.Flags().Lookup("dry-run") == nil || cmd.Flags().Lookup("older-than") == nil {
			return // it changes no selection
		}
		asked++
		line := append(path(cmd), ofState(cmd)...)
		if cmd.Flags().Lookup("in") != nil {
			line = append(line, "--in", "1h")
		}
		state := ofState(cmd)[1]
		said := s.refused("no\n", line...)
		assert.Regexp(t, fmt.Sprintf(`^%s: %s .*all %s jobs,.* in namespace .*\? \[yes/no] work: the answer was "no", `+
			`so nothing was changed\n$`, cmd.CommandPath(), cmd.Name(), state), said)
		assert.Contains(t, s.refused("", line...), "nothing was answered, and nothing was changed: give --yes")
		if cmd.Flags().Lookup("limit") != nil {
			s.refused("", append(line, "--limit", "1000000")...)
		}
		if cmd.Name() == "delete" {
			return // which asks in any case
		}
		got := call(slices.Concat(line, []string{"--name", "nobody", "--redis", s.server.DSN(), "--namespace",
			s.namespace})...)
		assert.Equal(t, exit.OK, got.status, got.err)
		assert.Empty(t, got.err, "part of a state")
		got = call(slices.Concat(line, []string{"--dry-run", "--redis", s.server.DSN(), "--namespace", s.namespace})...)
		assert.Equal(t, exit.OK, got.status, got.err)
		assert.Empty(t, got.err, "nothing is done")
	})
	t.Cleanup(func() { assert.GreaterOrEqual(t, asked, 8, "the commands that change selections") })
}

// With --string an empty argument is a text as any other; its job has it. A shell completes an empty word.
func TestAnEmptyWordThatIsMeant(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newStocked(t, server)
		on := []string{"--redis", s.server.DSN(), "--namespace", s.namespace}
		got := call(append([]string{"enqueue", "--string", "mail", "", "--id", "texts"}, on...)...)
		require.Equal(t, exit.OK, got.status, got.err)
		assert.Contains(t, call(append([]string{"jobs", "show", "texts", "--json"}, on...)...).out, `"args":[""]`)
		got = call(append([]string{"schedules", "add", "--string", "@daily", "mail", "", "--id", "texts"}, on...)...)
		require.Equal(t, exit.OK, got.status, got.err)
		before := s.all()
		s.refused("", "enqueue", "--string", "", "Ann")
		s.refused("", "schedules", "add", "--string", "", "mail")
		s.refused("", "schedules", "add", "--string", "@daily", "")
		assert.Equal(t, before, s.all())
		for _, request := range []string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd} {
			got = call(slices.Concat([]string{request}, on, []string{"jobs", "retry", "--state", ""})...)
			assert.Contains(t, got.out, "dead\nretrying\n")
		}
	})
}
