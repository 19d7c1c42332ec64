// Package examples has only this: each program below runs, and prints what it says that it does.
package examples

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// patience is how long a program may take, and the build of all; nothing depends on it while all is well.
const patience = 2 * time.Minute

// bin is where the programs are.
var bin string

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "examples"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := redistest.Run(m)
	_ = os.RemoveAll(bin) // a directory that is left behind in /tmp harms nobody
	os.Exit(code)
}

// programs are all directories here with a main package.
func programs(t *testing.T) (names []string) {
	t.Helper()
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	for _, path := range mains {
		names = append(names, filepath.Dir(path))
	}
	return names
}

var build = sync.OnceValues(func() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return exec.CommandContext(ctx, "go", "build", "-o", bin+string(filepath.Separator), "./...").CombinedOutput()
})

// command is a program that is built, and ended with the test.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	out, err := build()
	require.NoError(t, err, string(out))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, filepath.Join(bin, name), args...)
}

// output runs a program to its end, and returns the lines that it printed. Its log is for people.
func output(t *testing.T, name string, args ...string) []string {
	t.Helper()
	cmd := command(t, name, args...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", out, log.String())
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// each runs test without a flag, and with the DSN of both kinds of Redis.
func each(t *testing.T, test func(t *testing.T, redis ...string)) {
	t.Run("memory", func(t *testing.T) { t.Parallel(); test(t) })
	redistest.Each(t, func(t *testing.T, s redistest.Server) { test(t, "-redis", s.DSN()) })
}

func TestWorker(t *testing.T) {
	t.Parallel()
	want := []string{`"to be or not to be" has 6 words`, `"that is the question" has 4 words`}
	each(t, func(t *testing.T, redis ...string) {
		assert.Equal(t, want, output(t, "worker", redis...))
	})
	t.Run("apart", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, s redistest.Server) {
			worker := command(t, "worker", "-redis", s.DSN(), "-role", "worker", "-for", patience.String())
			require.NoError(t, worker.Start())
			assert.Equal(t, want, output(t, "worker", "-redis", s.DSN(), "-role", "client"))
			require.NoError(t, worker.Process.Signal(os.Interrupt))
			require.NoError(t, worker.Wait(), "an interrupt ends it in good order")
		})
	})
	t.Run("for a time", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, []string{""}, output(t, "worker", "-role", "worker", "-for", "3s"))
	})
}

func TestLong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, redis ...string) {
		lines := output(t, "long", redis...)
		stop := slices.IndexFunc(lines,
			func(line string) bool { return strings.HasPrefix(line, "told to stop before row ") })
		require.GreaterOrEqual(t, stop, 6, lines)
		assert.Equal(t, fmt.Sprint("told to stop before row ", stop+1), lines[stop])
		rows := slices.Delete(slices.Clone(lines), stop, stop+1)
		require.Len(t, rows, 13)
		for i, row := range rows[:12] {
			assert.Equal(t, fmt.Sprint("row ", i+1), row, "each row once, in order")
		}
		assert.Equal(t, "exported 12 rows", rows[12])
	})
}

func TestImport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, redis ...string) {
		var lines, rows []string
		for _, line := range output(t, "import", redis...) {
			if progress, is := strings.CutPrefix(line, "rows: "); is { // as far as the program saw it
				rows = append(rows, progress)
			} else {
				lines = append(lines, line)
			}
		}
		require.Len(t, lines, 9)
		assert.Equal(t, []string{"download people.csv", "charge 3"}, lines[:2])
		assert.ElementsMatch(t, []string{"waits: rows are stored", "row ann", "row cy", "row bob"}, lines[2:6])
		assert.Equal(t, []string{"waits: cool-down", "waits: approval",
			"imported 3 rows, approved by the boss, charged 1 time"}, lines[6:])
		assert.Equal(t, "3 of 3", rows[len(rows)-1])
		assert.True(t, slices.IsSorted(rows), "%v", rows)
	})
}

func TestCron(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, redis ...string) {
		var schedules []string
		ticks := map[string]bool{}
		for _, line := range output(t, "cron", append(redis, "-for", "2s")...) {
			switch {
			case strings.Contains(line, ", next at "): // a tick may come before them
				schedules = append(schedules, line)
			case line == "report to boss@example.org": // it may be half past nine in Berlin
			default:
				assert.Regexp(t, `^measured room 1 for \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, line)
				assert.False(t, ticks[line], "each tick once: %s", line)
				ticks[line] = true
			}
		}
		require.Len(t, schedules, 2)
		assert.Regexp(t, `^measure: @every 1s, next at `, schedules[0])
		assert.Regexp(t, `^report: 30 9 \* \* mon-fri, next at (Mon|Tue|Wed|Thu|Fri), .* 0[78]:30:00 UTC$`,
			schedules[1])
		assert.NotEmpty(t, ticks)
	})
}

func TestUnique(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, redis ...string) {
		lines := output(t, "unique", redis...)
		require.Len(t, lines, 5, lines)
		assert.Equal(t, []string{"books will be reindexed already", "books will be reindexed already"}, lines[:2])
		assert.ElementsMatch(t, []string{"reindexed books", "reindexed games"}, lines[2:4])
		assert.Equal(t, "20 pages, at most 2 at once", lines[4])
	})
}

func TestSealed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, redis ...string) {
		assert.Equal(t, []string{"in Redis: sealed with key 2026-05, 62 bytes",
			"in Redis: sealed with key 2026-11, 62 bytes",
			"charged the card that ends in 9012", "charged the card that ends in 9012"}, output(t, "sealed", redis...))
	})
}

func TestOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, redis ...string) {
		assert.Equal(t, []string{"order 7: shipped, paid by receipt-7", "order 7: the customer is told",
			"order 7: closed", "order-7: done, 4 of 4 done",
			"order 101: the customer is told", "order 101: 1999 cents are paid back", "order-101: dead, 3 of 4 done",
		}, output(t, "order", redis...))
	})
}

func TestWeb(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, redis ...string) {
		web := command(t, "web", append(redis, "-addr", "127.0.0.1:0", "-for", patience.String())...)
		stdout, err := web.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, web.Start())
		lines := bufio.NewScanner(stdout)
		require.True(t, lines.Scan())
		address, found := strings.CutPrefix(lines.Text(), "listening on ")
		require.True(t, found, lines.Text())

		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
		status, id := ask(t, client, http.MethodPost, address+"/orders/42")
		assert.Equal(t, http.StatusOK, status)
		assert.Regexp(t, regexp.MustCompile(`^\w{22}\n$`), id)
		require.True(t, lines.Scan())
		assert.Equal(t, "order 42 leaves the warehouse in Bremen", lines.Text())
		status, text := ask(t, client, http.MethodPost, address+"/orders/forty")
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Equal(t, "the id of an order is a number\n", text)
		status, _ = ask(t, client, http.MethodGet, address+"/live")
		assert.Equal(t, http.StatusOK, status)

		require.NoError(t, web.Process.Signal(os.Interrupt))
		assert.False(t, lines.Scan())
		require.NoError(t, web.Wait(), "an interrupt ends it in good order")
	})
	t.Run("for a time", func(t *testing.T) {
		t.Parallel()
		assert.Len(t, output(t, "web", "-addr", "127.0.0.1:0", "-for", "3s"), 1)
	})
}

func ask(t *testing.T, client *http.Client, method, url string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// The README lists what is here, and each program has a test.
func TestEachExampleIsListedAndRun(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	tests, err := os.ReadFile("examples_test.go")
	require.NoError(t, err)
	names := programs(t)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.Contains(t, string(readme), "`go run ./examples/"+name+"`")
		assert.Contains(t, string(tests), "func Test"+strings.ToUpper(name[:1])+name[1:]+"(")
		sources, err := filepath.Glob(filepath.Join(name, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, sources)
		for _, path := range sources {
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.LessOrEqual(t, strings.Count(string(source), "\n"), 90, "%s is to be short", path)
		}
	}
}
