package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/filetree"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// printed is the JSON of a demo.
type printed struct {
	OK          bool
	Files       []printedFile
	Differences []struct{ Subject, What string }
	Summary     struct {
		Files, Jobs, Runs, Retries int
		Links                      int `json:"links_not_followed"`
	}
}

type printedFile struct {
	Path  string
	Bytes []byte `json:"path_base64"`
	filetree.Measurement
}

// progressLine is what a demo of more than two seconds says.
var progressLine = regexp.MustCompile(`(?m)^work demo: jobs, \d+ of \d+\n`)

func TestDemoOfAnOddTree(t *testing.T) {
	t.Parallel()
	got := call("demo", "--json", clitest.OddTree(t))
	require.Equal(t, exit.OK, got.status, got.err)
	assert.Empty(t, progressLine.ReplaceAllString(got.err, ""))
	var said printed
	require.NoError(t, json.Unmarshal([]byte(got.out), &said))
	assert.True(t, said.OK)
	assert.Empty(t, said.Differences)
	found := map[string]filetree.Measurement{}
	for _, r := range said.Files {
		path := r.Path
		if r.Bytes != nil {
			path = string(r.Bytes)
		}
		found[path] = r.Measurement
	}
	assert.Len(t, found, len(clitest.OddFiles))
	for name, text := range clitest.OddFiles {
		sum := filetree.NewCounter()
		_, _ = sum.Write([]byte(text))
		assert.Equal(t, sum.Result(), found[name], "%q", name)
	}
	assert.Equal(t, len(clitest.OddFiles)+20, said.Summary.Jobs)
	assert.Equal(t, said.Summary.Jobs+15, said.Summary.Runs, "half of ten flaky jobs fail once, half twice")
	assert.Equal(t, 15, said.Summary.Retries)
	assert.Equal(t, clitest.OddLinks, said.Summary.Links)
}

func TestDemoPrintsATable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clitest.Write(t, dir, "a.txt", "one two\nthree\n")
	clitest.Write(t, dir, "b\n.txt", strings.Repeat("x\n", 1000))
	got := call("demo", dir)
	require.Equal(t, exit.OK, got.status, got.err)
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

func TestDemoShortensALongList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 25 {
		clitest.Write(t, dir, string(rune('a'+i)), strings.Repeat("x", i))
	}
	short := call("demo", dir)
	require.Equal(t, exit.OK, short.status, short.err)
	assert.Contains(t, short.out, "THE 20 LARGEST FILES   BYTES")
	assert.Contains(t, short.out, "\n25 files, 5 not shown ")
	assert.NotContains(t, short.out, "\na ")
	full := call("demo", "--all", dir)
	require.Equal(t, exit.OK, full.status, full.err)
	assert.Contains(t, full.out, "\na ")
	assert.Contains(t, full.out, "\n25 files ")
}

func TestDemoOfAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	got := call("demo", t.TempDir())
	require.Equal(t, exit.OK, got.status, got.err)
	assert.Contains(t, got.out, "0 files")
}

// The page is there while the jobs run, and with --stay after what came out was printed.
func TestDemoServesItsDashboard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clitest.Write(t, dir, "a.txt", "one two\n")
	ctx, stop := context.WithCancelCause(t.Context())
	read, notes := io.Pipe()
	printed, out := io.Pipe()
	a := &cli.App{In: strings.NewReader(""), Out: out, Err: notes, Hurry: context.Background()}
	status := make(chan int, 1)
	go func() {
		defer notes.Close() //lint:ignore errcheck the end of a pipe within the program
		defer out.Close()   //lint:ignore errcheck the same
		status <- run(ctx, a, []string{"demo", "--stay", dir})
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
	code, _ := (&servedUI{t: t, address: address}).ask(http.MethodGet, "history", "", "")
	assert.Equal(t, http.StatusUnauthorized, code)
	code, text := (&servedUI{t: t, address: address, token: token}).ask(http.MethodGet, "history", "", "")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, "measure")
	stop(interrupt.Err)
	assert.Equal(t, exit.OK, <-status)
}

func TestDemoStaysForNobodyWhoIsNotTold(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--json", "--quiet"} {
		got := call("demo", "--stay", flag, t.TempDir())
		assert.Equal(t, exit.Usage, got.status)
		assert.Contains(t, got.err, "--stay")
	}
}

func TestDemoQuietlySaysNothing(t *testing.T) {
	t.Parallel()
	assert.Equal(t, said{}, call("demo", "--quiet", clitest.OddTree(t)))
}

func TestDemoOfAnUnreadableFile(t *testing.T) {
	t.Parallel()
	clitest.SkipAsRoot(t)
	dir := t.TempDir()
	clitest.Write(t, dir, "secret", "x")
	require.NoError(t, os.Chmod(filepath.Join(dir, "secret"), 0))
	got := call("demo", dir)
	assert.Equal(t, exit.OK, got.status, got.err)
	assert.Contains(t, got.out, "permission denied")
}

func TestAFileThatBecomesAPipeDoesNotHang(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clitest.Pipe(t, filepath.Join(dir, "f"))
	got := call("demo", dir)
	assert.Equal(t, exit.OK, got.status, got.err)
	assert.Contains(t, got.out, "pipe, socket or device file: 1")
}

func TestDemoLeavesOutItsOwnOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, err := os.Create(filepath.Join(dir, "out.txt"))
	require.NoError(t, err)
	defer own.Close()
	var errOut bytes.Buffer
	require.Equal(t, exit.OK, execute([]string{"demo", dir}, strings.NewReader(""), own, &errOut), errOut.String())
	text, err := os.ReadFile(own.Name())
	require.NoError(t, err)
	assert.Contains(t, string(text), "file that this program writes to: 1")
}

func TestDemoLeavesOtherNamespacesAlone(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Equal(t, said{out: "mine\n"}, call("enqueue", "--force", "--redis", dsn, "--id", "mine", "measure", "1"))
	got := call("demo", "--redis", dsn, clitest.OddTree(t))
	require.Equal(t, exit.OK, got.status, got.err)
	assert.Regexp(t,
		`redis     redis://127.0.0.1:\d+/0, where the results of this run are left in namespace work-demo-\w{10}\n`,
		got.out)
	again := call("enqueue", "--force", "--redis", dsn, "--id", "mine", "measure", "1", "--json")
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
			require.Equal(t, exit.OK, got.status, got.err)
			assert.Contains(t, got.out, "redis     embedded in this process, gone with it\n")
			assert.NotContains(t, got.out, "are left in namespace")
		})
	}
}

func TestDemoOfARedisInMemoryByTheEnvironment(t *testing.T) {
	t.Setenv("WORK_REDIS", "memory://")
	got := call("demo", "--workers", "2", t.TempDir())
	require.Equal(t, exit.OK, got.status, got.err)
	assert.NotContains(t, got.out, "are left in namespace")
}

// killed is what the JSON of a demo tells of the process that was killed.
type killed struct{ Held, Process, PID int }

func TestAKilledProcessChangesNothing(t *testing.T) {
	t.Parallel()
	dir := clitest.ManyFiles(t, 90)
	rows := func(args ...string) (printed, *killed) {
		got := call(append([]string{"demo", "--json", dir}, args...)...)
		require.Equal(t, exit.OK, got.status, got.err)
		var said printed
		require.NoError(t, json.Unmarshal([]byte(got.out), &said))
		var more struct {
			Summary struct {
				Kill *killed
			}
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &more))
		return said, more.Summary.Kill
	}
	calm, none := rows()
	require.Nil(t, none)
	after, victim := rows("--workers", "3", "--kill", "--concurrency", "5", "--slow", "100ms")
	require.NotNil(t, victim)
	assert.Equal(t, calm.Files, after.Files)
	assert.Positive(t, victim.Held, "it was running jobs when it was killed")
	assert.GreaterOrEqual(t, after.Summary.Runs, calm.Summary.Runs+victim.Held, "these were run again")
}
