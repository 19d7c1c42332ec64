package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newDemo is a demo of dir as the command would make it, silent.
func newDemo(dir string) *demo {
	return &demo{
		dir: dir, namespace: freshNamespace("test"), concurrency: 10, flaky: 4, scheduled: 2,
		console: &console{out: io.Discard, err: io.Discard, quiet: true},
		logger:  slog.New(slog.DiscardHandler), hurry: context.Background(),
	}
}

// printed is the JSON of a demo.
type printed struct {
	OK          bool
	Files       []row
	Differences []difference
	Summary     struct {
		Files, Jobs, Runs, Retries int
		Links                      int `json:"links_not_followed"`
	}
}

func TestDemoOfAnOddTree(t *testing.T) {
	t.Parallel()
	got := call("demo", "--json", oddTree(t))
	require.Equal(t, exitOK, got.status, got.err)
	assert.Empty(t, got.err)
	var said printed
	require.NoError(t, json.Unmarshal([]byte(got.out), &said))
	assert.True(t, said.OK)
	assert.Empty(t, said.Differences)
	found := map[string]measurement{}
	for _, r := range said.Files {
		path := r.Path
		if r.Bytes != nil {
			path = string(r.Bytes)
		}
		found[path] = r.measurement
	}
	assert.Len(t, found, len(oddFiles))
	for name, text := range oddFiles {
		sum := newTally()
		_, _ = sum.Write([]byte(text))
		assert.Equal(t, sum.result(), found[name], "%q", name)
	}
	assert.Equal(t, len(oddFiles)+20, said.Summary.Jobs)
	assert.Equal(t, said.Summary.Jobs+15, said.Summary.Runs, "half of ten flaky jobs fail once, half twice")
	assert.Equal(t, 15, said.Summary.Retries)
	assert.Equal(t, oddLinks, said.Summary.Links)
}

func TestDemoPrintsATable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.txt", "one two\nthree\n")
	write(t, dir, "b\n.txt", strings.Repeat("x\n", 1000))
	got := call("demo", dir)
	require.Equal(t, exitOK, got.status, got.err)
	table, rest, found := strings.Cut(got.out, "\n\n")
	require.True(t, found)
	assert.Equal(t, strings.Join([]string{
		`FILE       BYTES  LINES  WORDS  SHA-256`,
		`a.txt         14      2      3  6481b98de00b`,
		`"b\n.txt"  2,000  1,000  1,000  3da3b38c0a73`,
		`2 files    2,014  1,002  1,003`,
	}, "\n"), table)
	assert.Contains(t, rest, "runs      37, of which 15 failed and were retried\n")
	assert.True(t, strings.HasSuffix(rest, "\nEvery result agrees with a plain walk of the directory.\n"), rest)
}

func sha(text string) string {
	sum := newTally()
	_, _ = sum.Write([]byte(text))
	return prefix(sum.result().SHA256)
}

func TestDemoShortensALongList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 25 {
		write(t, dir, string(rune('a'+i)), strings.Repeat("x", i))
	}
	short := call("demo", dir)
	require.Equal(t, exitOK, short.status, short.err)
	assert.Contains(t, short.out, "THE 20 LARGEST FILES   BYTES")
	assert.Contains(t, short.out, "\n25 files, 5 not shown ")
	assert.NotContains(t, short.out, "\na ")
	full := call("demo", "--all", dir)
	require.Equal(t, exitOK, full.status, full.err)
	assert.Contains(t, full.out, "\na ")
	assert.Contains(t, full.out, "\n25 files ")
}

func TestDemoOfAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	got := call("demo", t.TempDir())
	require.Equal(t, exitOK, got.status, got.err)
	assert.Contains(t, got.out, "0 files")
}

// The page is there while the jobs run, and with --stay after what came out was printed.
func TestDemoServesItsDashboard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.txt", "one two\n")
	ctx, stop := context.WithCancelCause(t.Context())
	read, notes := io.Pipe()
	printed, out := io.Pipe()
	a := &app{in: strings.NewReader(""), out: out, err: notes, hurry: context.Background()}
	status := make(chan int, 1)
	go func() {
		defer notes.Close() //lint:ignore errcheck the end of a pipe within the program
		defer out.Close()   //lint:ignore errcheck the same
		status <- a.execute(ctx, []string{"demo", "--stay", dir})
	}()
	lines := bufio.NewReader(read)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	var address string
	_, err = fmt.Sscanf(line, "work demo: the dashboard is at %s until Ctrl-C", &address)
	require.NoError(t, err, line)
	go io.Copy(io.Discard, lines) //lint:ignore errcheck progress, until the pipe ends
	results := bufio.NewReader(printed)
	for !strings.HasPrefix(line, "Every result agrees") {
		line, err = results.ReadString('\n')
		require.NoError(t, err)
	}
	address, token, found := strings.Cut(address, "?token=")
	require.True(t, found)
	code, _ := (&served{t: t, address: address}).ask(http.MethodGet, "history", "", "")
	assert.Equal(t, http.StatusUnauthorized, code)
	code, text := (&served{t: t, address: address, token: token}).ask(http.MethodGet, "history", "", "")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, jobMeasure)
	stop(errInterrupted)
	assert.Equal(t, exitOK, <-status)
}

func TestDemoStaysForNobodyWhoIsNotTold(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--json", "--quiet"} {
		got := call("demo", "--stay", flag, t.TempDir())
		assert.Equal(t, exitUsage, got.status)
		assert.Contains(t, got.err, "--stay")
	}
}

func TestDemoQuietlySaysNothing(t *testing.T) {
	t.Parallel()
	assert.Equal(t, said{}, call("demo", "--quiet", oddTree(t)))
}

func TestDemoOfAnUnreadableFile(t *testing.T) {
	t.Parallel()
	skipAsRoot(t)
	dir := t.TempDir()
	write(t, dir, "secret", "x")
	require.NoError(t, os.Chmod(filepath.Join(dir, "secret"), 0))
	got := call("demo", dir)
	assert.Equal(t, exitOK, got.status, got.err)
	assert.Contains(t, got.out, "permission denied")
}

// What happens between the jobs and the plain walk is found, named and an error.
func TestDemoFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	spoil := func(change func(*measurement)) func(*testing.T, string, *results) {
		return func(_ *testing.T, _ string, got *results) {
			for id, m := range got.measured {
				change(&m)
				got.measured[id] = m
			}
		}
	}
	for _, row := range []struct {
		name   string
		tamper func(*testing.T, string, *results)
		want   difference
	}{
		{"a wrong result", spoil(func(m *measurement) { m.Words++ }),
			difference{Subject: "f", What: "the job and the plain walk disagree: words 3 and 2"}},
		{"a missing result", func(_ *testing.T, _ string, got *results) { clear(got.measured) },
			difference{Subject: "f", What: noResult}},
		{"a file that changed", func(t *testing.T, dir string, _ *results) { write(t, dir, "f", "one two\nthree\n") },
			difference{Subject: "f", Changed: true,
				What: "it changed while the demo ran: size 8 and 14, lines 1 and 2, words 2 and 3, SHA-256 " +
					sha("one two\n") + " and " + sha("one two\nthree\n")}},
		{"a file that vanished", func(t *testing.T, dir string,
			_ *results) {
			require.NoError(t, os.Remove(filepath.Join(dir, "f")))
		},
			difference{Subject: "f", Changed: true, What: "it vanished while the demo ran"}},
		{"a file that appeared", func(t *testing.T, dir string, _ *results) { write(t, dir, "new", "") },
			difference{Subject: "new", Changed: true, What: "appeared while the demo ran, so it has no job"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "f", "one two\n")
			d := newDemo(dir)
			d.tamper = func(got *results) { row.tamper(t, dir, got) }
			out, err := d.run(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []difference{row.want}, out.differences)
		})
	}
}

func TestADifferenceIsPrintedAndAFailure(t *testing.T) {
	t.Parallel()
	d := newDemo(t.TempDir())
	d.flaky, d.tamper = 1, func(got *results) { clear(got.attempts) }
	out, err := d.run(t.Context())
	require.NoError(t, err)
	require.Len(t, out.differences, 1)
	var text bytes.Buffer
	d.console.out = &text
	assert.EqualError(t, out.show(d, false, false), "the demo failed: 1 difference")
	assert.Contains(t, text.String(), "Not as it should be: 1 thing.\n  job flaky ")
}

func TestAFileThatBecomesAPipeDoesNotHang(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makePipe(t, filepath.Join(dir, "f"))
	_, err := openRegular(filepath.Join(dir, "f"))
	assert.ErrorIs(t, err, errNotRegular)
	got := call("demo", dir)
	assert.Equal(t, exitOK, got.status, got.err)
	assert.Contains(t, got.out, "pipe, socket or device file: 1")
}

func TestDemoLeavesOutItsOwnOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, err := os.Create(filepath.Join(dir, "out.txt"))
	require.NoError(t, err)
	defer own.Close()
	var errOut bytes.Buffer
	require.Equal(t, exitOK, execute([]string{"demo", dir}, strings.NewReader(""), own, &errOut), errOut.String())
	text, err := os.ReadFile(own.Name())
	require.NoError(t, err)
	assert.Contains(t, string(text), "file that this program writes to: 1")
}

func TestDemoStopsWhenInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 20 {
		write(t, dir, string(rune('a'+i)), "x")
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	d := newDemo(dir)
	d.slow, d.concurrency = 20*time.Millisecond, 2
	d.onProgress = func(done int) {
		if done >= 3 {
			interrupt(errInterrupted)
		}
	}
	_, err := d.run(ctx)
	assert.EqualError(t, err, "interrupted: the jobs that were not done are left undone")
	assert.ErrorIs(t, err, errInterrupted)
}

func TestDemoLeavesOtherNamespacesAlone(t *testing.T) {
	t.Parallel()
	dsn := startRedis(t)
	require.Equal(t, said{out: "mine\n"}, call("enqueue", "--redis", dsn, "--id", "mine", jobMeasure, "1"))
	got := call("demo", "--redis", dsn, oddTree(t))
	require.Equal(t, exitOK, got.status, got.err)
	assert.Regexp(t, `redis     redis://127.0.0.1:\d+/0, where the results of this run are left in namespace work-demo-\w{10}\n`, got.out)
	again := call("enqueue", "--redis", dsn, "--id", "mine", jobMeasure, "1", "--json")
	assert.Contains(t, again.out, `"duplicate":true`, "the job of before still waits")
}

// A Redis in memory is one per process, so the demo takes its own, which its children reach as well.
func TestDemoOfARedisInMemory(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
	}{
		{"in one process", nil},
		{"in children", []string{"--workers", "2"}},
		{"in capitals", []string{"--redis", "MEMORY://x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := call(append([]string{"demo", "--redis", "memory://", t.TempDir()}, row.args...)...)
			require.Equal(t, exitOK, got.status, got.err)
			assert.Contains(t, got.out, "redis     embedded in this process, gone with it\n")
			assert.NotContains(t, got.out, "are left in namespace")
		})
	}
}

func TestDemoOfARedisInMemoryByTheEnvironment(t *testing.T) {
	t.Setenv("WORK_REDIS", "memory://")
	got := call("demo", "--workers", "2", t.TempDir())
	require.Equal(t, exitOK, got.status, got.err)
	assert.NotContains(t, got.out, "are left in namespace")
}

func TestPathsTravelAsBytes(t *testing.T) {
	t.Parallel()
	o := order{name: jobMeasure}
	encoded, err := json.Marshal(o.entry("/d\xff", []file{{path: "bad\xfe"}}).Args)
	require.NoError(t, err)
	b64 := base64.StdEncoding.EncodeToString
	assert.Equal(t, `["`+b64([]byte("/d\xff"))+`","`+b64([]byte("bad\xfe"))+`"]`, string(encoded))
}
