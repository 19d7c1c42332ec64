package thoonk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

// workerVariable is set in the environment of a worker process: it says what it has to do.
const workerVariable = "WORK_THOONK_WORKER"

// task is what a worker process is told.
type task struct {
	Redis, Prefix, Feed string
	Finish              bool // whether it finishes what it claims
}

// serve claims jobs for ever, writes the id of each, and finishes it or holds it. It ends with its standard input, so
// that none outlives the test.
func serve(encoded string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
		os.Exit(3)
	}()
	if err := work(encoded); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func work(encoded string) error {
	var todo task
	if err := json.Unmarshal([]byte(encoded), &todo); err != nil {
		return err
	}
	client, err := thoonk.Open(todo.Redis, thoonk.Prefix(todo.Prefix))
	if err != nil {
		return err
	}
	ctx := context.Background()
	feed, err := thoonk.OpenJobFeed[string, string](ctx, client, todo.Feed, nil, nil)
	if err != nil {
		return err
	}
	for {
		claim, err := feed.Get(ctx, 0)
		if err != nil {
			return err
		}
		fmt.Println("claimed", claim.ID)
		if !todo.Finish {
			continue
		}
		if err := feed.Finish(ctx, claim.Held); err != nil {
			return err
		}
		fmt.Println("finished", claim.ID)
	}
}

// worker is a worker process.
type worker struct {
	cmd   *exec.Cmd
	lines chan string // what it says, closed when it has ended
	once  sync.Once
}

// worker starts a process that claims jobs.
func (k *kit) worker(feed string, finish bool) *worker {
	k.t.Helper()
	todo, err := json.Marshal(task{Redis: k.server.DSN(), Prefix: k.prefix, Feed: feed, Finish: finish})
	require.NoError(k.t, err)
	w := &worker{cmd: exec.Command(os.Args[0]), lines: make(chan string, 10_000)}
	w.cmd.Env = append(os.Environ(), workerVariable+"="+string(todo))
	w.cmd.Stderr = os.Stderr
	stdin, err := w.cmd.StdinPipe() // held open by us
	require.NoError(k.t, err)
	output, err := w.cmd.StdoutPipe()
	require.NoError(k.t, err)
	require.NoError(k.t, w.cmd.Start())
	go func() {
		defer close(w.lines)
		defer stdin.Close() //lint:ignore errcheck it has ended
		for lines := bufio.NewScanner(output); lines.Scan(); {
			w.lines <- lines.Text()
		}
	}()
	k.t.Cleanup(func() { w.kill(k.t) })
	return w
}

// kill ends the process with SIGKILL, and returns when it has ended, with what it had said that was not read.
func (w *worker) kill(t *testing.T) (said []string) {
	t.Helper()
	w.once.Do(func() {
		require.NoError(t, w.cmd.Process.Kill())
		for line := range w.lines {
			said = append(said, line)
		}
		_ = w.cmd.Wait() // it was killed
	})
	return said
}

// says waits for a line that begins so, and returns the rest of it.
func (w *worker) says(t *testing.T, word string) string {
	t.Helper()
	for {
		line := receive(t, w.lines)
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			return rest
		}
		require.NotEmpty(t, line, "the worker has ended")
	}
}
