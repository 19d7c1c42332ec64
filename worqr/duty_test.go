package worqr_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// dutyVariable is set in the environment of a worker process, which is this test binary again: it says what it has to
// do.
const dutyVariable = "WORQR_TEST_DUTY"

// duty is what a worker process does with the queue q: hold so many tasks, or serve if there are none to hold.
type duty struct {
	DSN    string
	Prefix string
	Hold   int
}

// hurried are the options of workers whose death is to be noticed soon.
func hurried(prefix string) worqr.Options {
	return worqr.Options{
		Prefix: prefix, HeartbeatEvery: 200 * time.Millisecond, HeartbeatLife: 3 * time.Second,
		CleanupEvery: 100 * time.Millisecond, LookEvery: 100 * time.Millisecond, Concurrency: 5,
	}
}

// serveDuty runs a worker process until its standard input ends, and returns its exit status.
func serveDuty(encoded string) int {
	var d duty
	if err := json.Unmarshal([]byte(encoded), &d); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // it ends when the test does
		os.Exit(3)
	}()
	if err := d.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (d duty) run(ctx context.Context) error {
	c, err := worqr.Dial(d.DSN, hurried(d.Prefix))
	if err != nil {
		return err
	}
	if err := errors.Join(c.Start(ctx), c.StartWork(ctx, "q")); err != nil {
		return err
	}
	for range d.Hold {
		if _, err := c.StartTask(ctx, "q"); err != nil {
			return err
		}
	}
	fmt.Println(c.Worker())
	if d.Hold > 0 {
		select {} // until it is killed
	}
	return c.Serve(ctx, "q", func(ctx context.Context, _ *worqr.Process) ([]byte, error) {
		select {
		case <-time.After(3 * time.Millisecond): // so that there is something to kill
		case <-ctx.Done():
		}
		return []byte(c.Worker()), context.Cause(ctx)
	})
}

// child is a worker process of a test.
type child struct {
	cmd    *exec.Cmd
	worker string
}

// process starts a worker process and waits until it has begun.
func (s *site) process(hold int) *child {
	s.t.Helper()
	encoded, err := json.Marshal(duty{DSN: s.server.DSN(), Prefix: s.prefix, Hold: hold})
	require.NoError(s.t, err)
	binary, err := os.Executable()
	require.NoError(s.t, err)
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), dutyVariable+"="+string(encoded))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(s.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	c := &child{cmd: cmd}
	s.t.Cleanup(func() {
		_ = in.Close() // it may be dead
		c.kill()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(s.t, err)
	c.worker = line[:len(line)-1]
	return c
}

// kill ends it with SIGKILL; twice does nothing.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be dead
	_ = c.cmd.Wait()         // it was killed
}
