package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// looks are the commands that print the most.
var looks = [][]string{
	{"queues"}, {"queues", "greet"}, {"jobs", "list"}, {"jobs", "search", "--tag", "eu"},
	{"jobs", "show", "mail-1", "import-1"}, {"workers"},
	{"schedules"}, {"errors"}, {"stats", "--since", "2h"}, {"limits"}, {"jobs", "wait", "report-1"},
	{"jobs", "retry", "--state", "dead", "--dry-run"},
	{"jobs", "delete", "mail-1", "--dry-run"}, {"purge", "greet", "--dry-run"},
}

// On a narrow terminal nothing is wider than it, but for a word that is longer than the line.
func TestNarrowTerminals(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Importing()
	for _, width := range []int{1, 20, 40, 80} {
		for _, args := range looks {
			var out, errOut bytes.Buffer
			a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errOut, Hurry: context.Background(),
				NoColor: true,
				Columns: func(io.Writer) int { return width }}
			assert.Equal(t, exit.OK, run(t.Context(), a, append(args, "--redis", s.Server.DSN(), "--no-color")),
				"%v: %s", args, errOut.String())
			assert.NotEmpty(t, out.String())
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSpace(line)
				if len(strings.Fields(line)) > 2 { // a fact is a word and at least one more
					assert.LessOrEqual(t, uniseg.StringWidth(line), max(width, 20), "%d columns, %v: %q", width, args,
						line)
				}
			}
		}
	}
}

// What cannot be written is a failure, and silent where nobody reads any more.
func TestListsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Importing()
	for _, args := range append(looks, []string{"jobs", "stall", "greet-1"}, []string{"workers", "ping"},
		[]string{"jobs", "log", "export-1"}) {
		for _, form := range [][]string{nil, {"--json"}} {
			var errOut bytes.Buffer
			line := slices.Concat(args, form, []string{"--redis", s.Server.DSN()})
			assert.Equal(t, exit.Failure, execute(line, strings.NewReader(""), broken{syscall.EPIPE}, &errOut), args)
			assert.NotContains(t, errOut.String(), "broken pipe")
			assert.Equal(t, exit.Failure, execute(line, strings.NewReader(""), broken{syscall.ENOSPC}, &errOut), args)
			assert.Contains(t, errOut.String(), "work: no space left on device\n")
		}
	}
	assert.Equal(t, work.StateStalled, s.State("greet-1"), "what was done is done")
}

// A reader that leaves, as head does, ends a real process without a word.
func TestReaderThatLeaves(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.many(2000)
	cmd := exec.Command(os.Args[0], "jobs", "list", "--state", "scheduled", "--limit", "0", "--json", "--redis",
		s.Server.DSN())
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	first, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	assert.True(t, json.Valid([]byte(first)), first)
	require.NoError(t, out.Close())
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &ended)
	assert.Equal(t, exit.Failure, ended.ExitCode())
	assert.Empty(t, errOut.String())
}

func TestMistakesInWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no jobs", []string{"jobs", "retry"},
			"say which jobs: their ids, - for ids from standard input, or a selection, as --state dead --name export"},
		{"both", []string{"jobs", "retry", "a", "--name", "export"},
			"ids and a selection exclude each other: give one of them"},
		{"no state", []string{"jobs", "retry", "--name", "export"},
			"--state is missing: a selection is of one state, dead or retrying"},
		{"another state", []string{"jobs", "retry", "--state", "queued"}, `--state is "queued": give dead or retrying`},
		{"no such state", []string{"jobs", "list", "--state", "fine"},
			`--state is "fine": give queued, running, scheduled, retrying, stalled, dead, succeeded, cancelled, ` +
				`discarded, expired or deleted`},
		{"ended ones of a state", []string{"jobs", "search", "--ended", "--state", "dead"},
			"--ended adds states to a list of all: leave it out with --state dead"},
		{"a change of what has ended", []string{"jobs", "retry", "--state", "succeeded"},
			`--state is "succeeded": give dead or retrying`},
		{"bad meta", []string{"jobs", "search", "--meta", "x"}, `--meta is "x": give key=value`},
		{"bad age", []string{"jobs", "search", "--older-than", "x"},
			`--older-than is "x": give a duration, as 90s, 2h or 7d`},
		{"negative limit", []string{"jobs", "list", "--limit", "-1"}, "--limit is -1: give 1 or more, or 0 for all"},
		{"negative bulk limit", []string{"jobs", "retry", "--state", "dead", "--limit", "-1"},
			"--limit is -1: give 1 or more, or 0 for all"},
		{"limit of ids", []string{"jobs", "retry", "mail-1", "--limit", "1"},
			"--limit 1 is for a selection: with ids, give fewer of them"},
		{"bad cursor", []string{"jobs", "list", "--cursor", "x"}, "cursor"},
		{"no time", []string{"jobs", "reschedule", "mail-9"},
			"the time is missing: give --in 90s or --at 2030-01-31T09:00:00Z"},
		{"two times", []string{"jobs", "reschedule", "mail-9", "--in", "1h", "--at", "2030-01-31T09:00:00Z"},
			"--in 1h0m0s and --at 2030-01-31T09:00:00Z exclude each other: give one"},
		{"bad time", []string{"jobs", "reschedule", "mail-9", "--at", "noon"}, `--at is "noon": give a time as`},
		{"negative time", []string{"jobs", "reschedule", "mail-9", "--in", "-1h"},
			"--in is -1h0m0s: give a positive duration, as 90s"},
		{"no ids to show", []string{"jobs", "show"},
			"work jobs show needs ids of jobs: `work jobs show --help` shows examples"},
		{"two logs", []string{"jobs", "log", "a", "b"},
			"work jobs log takes the id of one job, but here are 2 arguments"},
		{"negative lines", []string{"jobs", "log", "a", "--lines", "-1"},
			"--lines is -1: give 1 or more, or 0 for all"},
		{"lines and follow", []string{"jobs", "log", "a", "--lines", "1", "-f"},
			"--lines and --follow exclude each other"},
		{"negative wait", []string{"jobs", "wait", "a", "--within", "-1s"},
			"--within is -1s: give a positive duration, as 90s"},
		{"misspelt below", []string{"jobs", "lst"}, "there is no command \"lst\": did you mean \"list\" or \"log\"?"},
		{"unknown below", []string{"workers", "fly"}, "there is no command \"fly\": `work workers --help` lists them"},
		{"no workers", []string{"workers", "quiet"}, "say which workers: their ids, or --all"},
		{"no time to answer", []string{"workers", "ping", "--within", "0s"},
			"--within is 0s: give a duration above zero, as 5s"},
		{"no queues", []string{"pause"}, "say which queues: their names, or --all"},
		{"queues and all", []string{"resume", "a", "--all"}, "say which queues: their names, or --all"},
		{"nothing to wait for", []string{"pause", "a", "--within", "1s"},
			"--within is given without --wait: nothing would be waited for"},
		{"no spec", []string{"schedules", "add", "@daily"},
			"the spec or the name of the job is missing: work schedules add '@daily' NAME ARG"},
		{"bad overlap", []string{"schedules", "add", "@daily", "x", "--overlap", "x"},
			`--overlap is "x": give allow or skip`},
		{"bad missed", []string{"schedules", "add", "@daily", "x", "--missed", "101"},
			`--missed is "101": give once, skip, or 1 to 100`},
		{"bad argument", []string{"schedules", "add", "@daily", "x", "y"}, `argument 1 is not JSON`},
		{"argument not UTF-8", []string{"schedules", "add", "@daily", "x", "\"\xff\""},
			"argument 1 is not UTF-8, which JSON cannot hold: encode it, for example as base64"},
		{"message not UTF-8", []string{"jobs", "send", "mail-9", "go", "\"\xff\""},
			"its text is not UTF-8, which JSON cannot hold: encode it, for example as base64"},
		{"question not UTF-8", []string{"workers", "ask", "--all", "echo", "\"\xff\""},
			"its text is not UTF-8, which JSON cannot hold: encode it, for example as base64"},
		{"id not UTF-8", []string{"enqueue", "x", "--force", "--id", "file-\xe9"}, "use valid UTF-8"},
		{"tag of a note not UTF-8", []string{"enqueue", "x", "--force", "--meta", "a=\xe9"}, "not valid UTF-8"},
		{"bad by", []string{"stats", "--by", "hour"}, `--by is "hour": give minute or day`},
		{"rate without time", []string{"limits", "set", "--force", "x", "--rate", "1", "--per", "0s"},
			`the limit of job "x" cannot be`},
		{"two to purge", []string{"purge", "a", "b"},
			"work purge takes the name of one queue, but here are 2 arguments"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := s.call(row.args...)
			assert.Equal(t, exit.Usage, got.status, got.err)
			assert.True(t, strings.HasPrefix(got.err, "work: "), got.err)
			assert.Contains(t, got.err, row.want)
			assert.Empty(t, got.out)
		})
	}
}

// Whatever needs a Redis says how to name one, and which one does not answer.
func TestEveryCommandNeedsARedis(t *testing.T) {
	t.Parallel()
	for _, args := range append(looks, []string{"jobs", "log", "x"}, []string{"pause", "x"},
		[]string{"resume", "--all"}, []string{"errors", "clear", "--yes"},
		[]string{"limits", "set", "x"}, []string{"limits", "reset", "x"}, []string{"workers", "ping"},
		[]string{"workers", "stop", "--all"}, []string{"schedules", "add", "@daily", "x"},
		[]string{"schedules", "run", "x"}, []string{"jobs", "cancel", "x"}, []string{"jobs", "retry", "x"}) {
		assert.Equal(t, said{exit.Usage, "",
			"work: no Redis is named: give --redis redis://localhost:6379/0 or set WORK_REDIS\n"}, call(args...), args)
		if args[0] == "jobs" && args[1] == "wait" {
			continue // it waits until Redis is there
		}
		got := call(append(args, "--redis", "redis://127.0.0.1:1")...)
		assert.Equal(t, exit.Failure, got.status, args)
		assert.Contains(t, got.err, "cannot connect to Redis at 127.0.0.1:1", args)
		assert.Empty(t, got.out, args)
	}
}

func TestIDsFromStandardInput(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	assert.Equal(t, said{out: "2 jobs stalled\n"}, s.callWith("greet-1\n\n  greet-2 \r\n", "jobs", "stall", "-"))
	assert.Equal(t, said{err: "work jobs stall: no ids were given, nothing is done\n"},
		s.callWith("\n", "jobs", "stall", "-"))
	listed := s.call("jobs", "list", "--state", "stalled", "--ids")
	assert.Equal(t, said{out: "2 jobs resumed\n"}, s.callWith(listed.out, "jobs", "resume", "-"))
	got := s.callWith("greet-1\ngreet-2\n", "jobs", "show", "-", "--json")
	assert.Equal(t, 2, strings.Count(got.out, "\n"))
}

// Pages follow each other by the cursor that each names, and all at once say the same.
func TestListGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.many(1200)
	whole := s.call("jobs", "list", "--state", "scheduled", "--limit", "0", "--ids")
	assert.Equal(t, 1201, strings.Count(whole.out, "\n"))
	for _, command := range [][]string{{"jobs", "list", "--state", "scheduled"},
		{"jobs", "search", "--state", "scheduled"}} {
		pages, args := "", append(command, "--limit", "700", "--ids")
		got := s.call(args...)
		for more := true; more; {
			assert.Equal(t, exit.OK, got.status, got.err)
			pages += got.out
			var cursor string
			if _, cursor, more = strings.Cut(got.err, "--cursor "); more {
				got = s.call(append(args, "--cursor", strings.TrimSpace(cursor))...)
			}
		}
		assert.Equal(t, whole.out, pages, command)
	}
	table := s.call("jobs", "list", "--state", "scheduled", "--limit", "0")
	assert.Equal(t, 1, strings.Count(table.out, "WHAT"), "one title")
	assert.Equal(t, 1202, strings.Count(table.out, "\n"))
}

func TestWait(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	assert.Equal(t, said{exit.Failure, "", "work: job \"greet-1\" has not ended: no answer within 1ms (--within)\n"},
		s.call("jobs", "wait", "greet-1", "--within", "1ms"))
	got := s.call("jobs", "wait", "report-1", "mail-1", "nobody", "--json")
	assert.Equal(t, exit.Unhappy, got.status)
	assert.Equal(t, "work: 1 of 3 jobs did not end well\n", got.err)
	assert.Equal(t, 3, strings.Count(got.out, "\n"))
	assert.Contains(t, got.out, `{"id":"report-1","state":"succeeded","result":"all is done"}`)

	_, err := s.Enq.With(work.ID("call-1"), work.Retention(time.Hour)).Enqueue(t.Context(), "call")
	require.NoError(t, err)
	ended := make(chan said, 1)
	go func() { ended <- s.call("jobs", "wait", "call-1") }()
	runOne(t, s.Server.DSN(), "call")
	select {
	case got := <-ended:
		assert.Equal(t, said{out: "call-1  succeeded\n"}, got)
	case <-time.After(time.Minute):
		require.Fail(t, "it waits on")
	}
}

// A log that is followed comes line by line, and ends with its job.
func TestFollowedLog(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	goOn := make(chan struct{})
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: s.Server.DSN(), Logger: slog.New(slog.DiscardHandler)}).
		Job("chat", func(job *work.Job) error {
			job.Logger().Info("first\nline")
			<-goOn
			job.Logger().Warn("last line", "rows", 3)
			return nil
		})
	require.NoError(t, pool.Start(context.Background()))
	defer func() { assert.NoError(t, pool.Stop(context.Background())) }()
	s.Enqueue("chat", "chat-1", 0)
	out, in := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- execute([]string{"jobs", "log", "chat-1", "--follow", "--redis", s.Server.DSN()},
			strings.NewReader(""), in, io.Discard)
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), `INFO  first\nline`)
	close(goOn)
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), `WARN  last line  {"rows":3}`)
	assert.False(t, lines.Scan())
	assert.Equal(t, exit.OK, <-status)
}

func TestPauseWaits(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"import", "--all"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.Importing()
			for _, within := range []string{"1ns", "300ms"} {
				got := s.call("pause", which, "--wait", "--within", within)
				assert.Equal(t, exit.Failure, got.status)
				assert.Contains(t, got.err, "paused, and ")
				assert.Contains(t, got.err, "no answer within "+within+" (--within)")
			}
			ended := make(chan said, 1)
			go func() { ended <- s.call("pause", which, "--wait") }()
			assert.Equal(t, exit.OK, s.call("jobs", "cancel", "import-1").status)
			select {
			case got := <-ended:
				assert.Equal(t, said{out: map[string]string{"import": "paused: import\n",
					"--all": "paused: all queues\n"}[which]}, got)
			case <-time.After(time.Minute):
				require.Fail(t, "it waits on")
			}
		})
	}
}

// What a shell asks for while somebody types.
func TestCompletionKnowsWhatIsThere(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Importing()
	for _, row := range []struct {
		name string
		args []string
		want []string
	}{
		{"queues", []string{"queues", ""}, []string{"destroy", "keep", "export", "greet", "import", "mail", "report"}},
		{"name", []string{"jobs", "list", "--name", ""}, []string{"export", "greet", "import", "mail", "report"}},
		{"states", []string{"jobs", "list", "--state", ""},
			[]string{"queued", "running", "scheduled", "retrying", "stalled", "dead", "succeeded", "cancelled",
				"discarded", "expired", "deleted"}},
		{"states of a retry", []string{"jobs", "retry", "--state", ""}, []string{"dead", "retrying"}},
		{"schedules", []string{"schedules", "run", ""}, []string{"nightly\t0 3 * * *", "poll\t@every 10m"}},
		{"purge", []string{"purge", ""}, []string{"export", "greet", "import", "mail", "report"}},
		{"a worker", []string{"workers", "show", ""}, []string{s.Worker()}},
		{"commands", []string{"limits", "re"}, []string{"reset\tTake back a limit that was set by hand"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := call(slices.Concat([]string{"__complete", "--redis", s.Server.DSN()}, row.args)...)
			assert.Equal(t, exit.OK, got.status, got.err)
			lines := strings.Split(strings.TrimSpace(got.out), "\n")
			require.Len(t, lines, len(row.want)+1, got.out)
			for n, want := range row.want {
				assert.True(t, strings.HasPrefix(lines[n], want), lines[n])
			}
			assert.Equal(t, ":4", lines[len(lines)-1], "no names of files")
		})
	}
	t.Run("without Redis", func(t *testing.T) {
		got := call("__complete", "--redis", "redis://127.0.0.1:1", "purge", "")
		assert.Equal(t, exit.OK, got.status)
		assert.Equal(t, ":4\n", got.out)
		assert.NotContains(t, got.err, "connect")
	})
}

// docs/cli.md has a section for each command, and none for what is no command.
func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	root := newRootCommand(&cli.App{})
	root.InitDefaultCompletionCmd()
	var all []string
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Hidden || sub.Name() == "help" || cmd.Name() == "completion" {
				continue
			}
			all = append(all, sub.CommandPath())
			walk(sub)
		}
	}
	walk(root)
	for _, path := range all {
		assert.Regexp(t, "(?m)^#+ `?"+path+"\\b", string(text), path)
	}
	for _, title := range regexp.MustCompile("(?m)^#+ `([a-z ]+)").FindAllStringSubmatch(string(text), -1) {
		path := strings.TrimSpace(title[1])
		found, _, err := root.Find(strings.Fields(path)[1:])
		require.NoError(t, err, path)
		assert.Equal(t, path, found.CommandPath(), "there is no such command")
	}
}

// What is run by hand is a job like any other, whose id is printed.
func TestScheduleThatIsRunByHand(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	got := s.call("schedules", "run", "nightly")
	require.Equal(t, exit.OK, got.status, got.err)
	assert.Equal(t, got.out, s.call("jobs", "list", "--state", "queued", "--name", "report", "--ids").out)
	var printed cli.Result
	require.NoError(t, json.Unmarshal([]byte(s.call("schedules", "run", "poll", "--json").out), &printed))
	assert.Equal(t, work.StateQueued, s.State(printed.Job))
	printed.Job = ""
	assert.Equal(t, cli.Result{ID: "poll", Action: "run", Done: true}, printed)
}

// Ctrl-C ends what waits for something that does not come.
func TestCtrlCWhileItWaits(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Importing()
	for _, args := range [][]string{
		{"jobs", "wait", "greet-1", "greet-2"}, {"jobs", "log", "export-1", "--follow"}, {"pause", "import", "--wait"},
		{"pause", "--all", "--wait"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		// whenever it comes, it has the same end
		timer := time.AfterFunc(100*time.Millisecond, func() { cancel(interrupt.Err) })
		var out, errOut bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errOut, Hurry: context.Background()}
		assert.Equal(t, exit.Interrupted, run(ctx, a, append(args, "--redis", s.Server.DSN())), "%v: %s", args,
			errOut.String())
		assert.Regexp(t, `^work: (.*: )?interrupted\n$`, errOut.String())
		timer.Stop()
		cancel(nil)
	}
}
