package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// terminal is one of tmux, in which a shell runs the program and tells how it ended.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal runs the program in a terminal of that size. Without tmux the test is skipped, or fails with
// WORK_REQUIRE_TMUX=1.
func openTerminal(t *testing.T, width, height int, env []string, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("WORK_REQUIRE_TMUX") == "1" {
			require.NoError(t, err, "WORK_REQUIRE_TMUX=1 is set")
		}
		t.Skip("top is seen in a real terminal where there is tmux, which is not on PATH")
	}
	dir, err := os.MkdirTemp("", "top-") // not that of the test: the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	x := &terminal{t: t, socket: filepath.Join(dir, "tmux")}
	script := `"$@"; echo "ended with $?"; stty -a | grep -o -- '-*icanon\|-*echo '; exec cat` // cat keeps the screen
	start := append([]string{"-f", os.DevNull, "new-session", "-d", "-x", strconv.Itoa(width), "-y",
		strconv.Itoa(height)}, inShell(env)...)
	x.tmux(append(append(start, "sh", "-c", script, "sh", os.Args[0]), args...)...)
	t.Cleanup(func() { x.tmux("kill-server") })
	return x
}

// inShell are the flags that set environment in a terminal.
func inShell(env []string) (flags []string) {
	for _, e := range env {
		flags = append(flags, "-e", e)
	}
	return flags
}

// tmux runs a command of tmux, in UTF-8 whatever the machine is set to.
func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.CommandContext(context.Background(), "tmux", append([]string{"-u", "-S", x.socket}, args...)...).
		CombinedOutput()
	require.NoError(x.t, err, "tmux %v: %s", args, out)
	return string(out)
}

// press types keys, by the names of tmux.
func (x *terminal) press(keys ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys"}, keys...)...)
}

// see waits until the screen shows something, and returns it.
func (x *terminal) see(pattern string) (screen string) {
	x.t.Helper()
	wanted := regexp.MustCompile(`(?m)` + pattern)
	seen := assert.Eventually(x.t, func() bool {
		screen = x.tmux("capture-pane", "-p")
		return wanted.MatchString(screen)
	}, time.Minute, 20*time.Millisecond)
	require.True(x.t, seen, "there is no %s on the screen:\n%s", pattern, screen)
	return screen
}

// restored tells that the program has ended and left the terminal as a shell needs it.
func (x *terminal) restored(status int) {
	x.t.Helper()
	screen := x.see(`^ended with \d+\n(.|\n)*echo`)
	assert.Contains(x.t, screen, "ended with "+strconv.Itoa(status)+"\nicanon\necho\n")
	assert.NotContains(x.t, screen, "waiting", "the screen of before is back")
	assert.Equal(x.t, "0 1 0\n", x.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"))
}

// busyShop is a real Redis with twelve exports that nobody serves, three mails that are paused and an import that runs.
func busyShop(t *testing.T) (*redistest.Process, *inspect.Inspector) {
	t.Helper()
	server := redistest.Dedicated(t, "--appendonly", "yes")
	inspector, err := inspect.New(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	require.NoError(t, inspector.PauseQueue(t.Context(), "mail"))
	enqueueMany(t, server.DSN(), map[string]int{"export": 12, "mail": 3, "import": 1})
	begun := make(chan struct{})
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{Redis: server.DSN(), Logger: slog.New(slog.DiscardHandler),
		ShutdownTimeout: time.Millisecond}).
		Job("import", func(ctx context.Context, _ int) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		}).
		Job("mail", func(int) error { return nil })
	require.NoError(t, pool.Start(context.Background()))
	t.Cleanup(func() { _ = pool.Stop(context.Background()) }) // it gives the import back, and says so
	select {
	case <-begun:
	case <-time.After(time.Minute):
		require.Fail(t, "the import did not begin")
	}
	return server, inspector
}

func enqueueMany(t *testing.T, dsn string, counts map[string]int) {
	t.Helper()
	enq, err := work.NewEnqueuer(dsn)
	require.NoError(t, err)
	var entries []work.Entry
	for name, count := range counts {
		for n := range count {
			entries = append(entries, work.Entry{Name: name, Args: []any{n}})
		}
	}
	_, err = enq.EnqueueMany(t.Context(), entries)
	require.NoError(t, err)
	require.NoError(t, enq.Close())
}

func TestTopInATerminalRealRedis(t *testing.T) {
	t.Parallel()
	server, inspector := busyShop(t)
	x := openTerminal(t, 120, 24, nil, "top", "--redis", server.DSN(), "--interval", "100ms")
	for _, pattern := range []string{
		`^work top  work  127\.0\.0\.1:\d+/0 +\d\d:\d\d:\d\d  every 100ms$`,
		`^queued 15   running 1   .*busy 1/4 `,
		`^\[1 queues\]  2 workers   3 errors    1 of 3$`,
		`^› export +12 +\S+ +0 +0 +0  unserved +0$`,
		`^  mail ‖ +3 +\S+ +0 +0 +0  paused +1$`,
		`^  import +0 +1 +0 +0 +1$`,
		`^q quit   \? help   tab view   p pause   / filter   j k choose$`,
	} {
		x.see(pattern)
	}
	enqueueMany(t, server.DSN(), map[string]int{"export": 30})
	x.see(`^› export +42 `)

	x.press("n", "Down")
	x.see(`^  queue▾(.*\n)  export.*\n› import`)
	x.press("p")
	x.see(`^pause import\? y/n$`)
	x.press("y")
	x.see(`^queue import is paused: what runs goes on$`)
	x.see(`^› import ‖ `)
	paused, _, err := inspector.Paused(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"import", "mail"}, paused)

	x.press("2")
	x.see(`^› \S+:\d+ +1/4 .* at work +import`)
	x.press("Tab")
	x.see(`^  no errors were counted$`)
	x.press("?")
	x.see(`^  q, ctrl-c +leave$`)
	x.press("?", "1", "/", "e", "x", "p")
	x.see(`^/exp`)
	assert.NotContains(t, x.see(`^› export`), "mail")
	x.press("q") // a letter there
	x.see(`^/expq`)
	x.press("Escape")
	x.see(`^  mail ‖ `)
	x.press("q")
	x.restored(0)
}

func TestTopIsResizedRealRedis(t *testing.T) {
	t.Parallel()
	server, _ := busyShop(t)
	x := openTerminal(t, 120, 24, nil, "top", "--redis", server.DSN(), "--interval", "100ms")
	x.see(`^› export +12 .* unserved`)
	x.tmux("resize-window", "-x", "20", "-y", "12")
	for _, pattern := range []string{`^\[1 queues\] 2  3`, `^› export +12$`, `^  mail ‖ +3$`, `^q quit   \? help$`} {
		x.see(pattern)
	}
	x.tmux("resize-window", "-x", "120", "-y", "24")
	x.see(`^› export +12 .* unserved`)
	x.press("C-c")
	x.restored(exit.Interrupted)
}

func TestTopInJSONTakesNoScreenRealRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	x := openTerminal(t, 100, 24, nil, "top", "--redis", server.DSN(), "--json")
	assert.Contains(t, x.see(`^ended with 0$`), `"done":0`)
}

func TestTopOutlivesRedisRealRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t, "--appendonly", "yes")
	enqueueMany(t, server.DSN(), map[string]int{"export": 12})
	x := openTerminal(t, 100, 24, []string{"NO_COLOR=1"}, "top", "--redis", server.DSN(), "--interval", "100ms")
	x.see(`^› export +12 `)
	assert.NotRegexp(t, "\x1b\\[[0-9;]*[349][0-9]m", x.tmux("capture-pane", "-p", "-e"), "no colours were wanted")
	server.Kill()
	screen := x.see(`^no Redis since \d\d:\d\d:\d\d \(\d+s\): `)
	assert.Regexp(t, `(?m)^› export +12 `, screen, "the last figures are kept")
	x.press("p", "y")
	x.see(`was not paused: `)
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return !strings.Contains(x.tmux("capture-pane", "-p"), "no Redis") },
		time.Minute, 20*time.Millisecond)
	x.see(`^› export +12 `)
	require.NoError(t, server.Pause())
	x.see(`^(Redis is slow: nothing|no Redis) since`)
	x.press("q")
	x.restored(0)
	require.NoError(t, server.Resume())
}
