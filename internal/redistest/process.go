package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Process is a redis-server of a test's own, which it may configure, kill and pause.
type Process struct {
	dir  string
	port int
	bus  int // of a cluster of one
	args []string
	env  []string // beside that of the test

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// Dedicated starts a redis-server for this test, with more arguments such as "--maxmemory", "10mb". A first one without
// hyphens is the path of its configuration, which it may rewrite. It ends with the test. Without a redis-server on
// PATH, or the one of WORK_REDIS_SERVER, the test is skipped, or fails if Redis is required.
func Dedicated(t testing.TB, args ...string) *Process {
	t.Helper()
	return DedicatedIn(t, nil, args...)
}

// DedicatedIn is Dedicated with more environment, such as "LD_PRELOAD=/tmp/clock.so".
func DedicatedIn(t testing.TB, env []string, args ...string) *Process {
	t.Helper()
	if _, err := program(); err != nil {
		Missing(t, fmt.Errorf("a server that the test may kill: %w", err))
	}
	p, err := startProcess(t.TempDir(), env, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// startProcess tries a few free ports, since another process may take one in between.
func startProcess(dir string, env []string, args ...string) (*Process, error) {
	var last error
	for range 5 {
		port, err := FreePort("127.0.0.1")
		if err != nil {
			return nil, err
		}
		p := &Process{dir: dir, port: port, args: args, env: env}
		if p.clustered() {
			if p.bus, err = FreePort("127.0.0.1"); err != nil {
				return nil, err
			}
		}
		if last = p.start(); last != nil {
			continue
		}
		if p.clustered() {
			return p, p.takeSlots()
		}
		return p, nil
	}
	return nil, last
}

// Addr is the address of the process, the same after Restart.
func (p *Process) Addr() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

// DSN is its database 0.
func (p *Process) DSN() string { return "redis://" + p.Addr() + "/0" }

// Server is it for what takes one of those that tests share.
func (p *Process) Server() Server { return Server{addr: p.Addr()} }

// Dir is its working directory, for sockets and append-only files.
func (p *Process) Dir() string { return p.dir }

// start returns when the server accepts connections.
func (p *Process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	args := p.commandLine()
	server, err := program()
	if err != nil {
		return err
	}
	cmd := exec.Command(server, args...)
	cmd.Env = append(os.Environ(), p.env...)
	dieWithUs(cmd)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout

	started, exited := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(exited)
		// The kernel ends the child when the thread that started it ends, so that thread stays here.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err != nil {
			started <- err
			return
		}
		ready := &readiness{started: started}
		io.Copy(ready, output) //lint:ignore errcheck ends with the process
		cmd.Wait()             //lint:ignore errcheck it is killed
		started <- fmt.Errorf("%s %s ended: %s", server, strings.Join(args, " "), ready.log.String())
	}()
	if err := <-started; err != nil {
		<-exited
		return err
	}
	p.cmd, p.exited = cmd, exited
	return nil
}

// commandLine has the configuration first, where redis-server looks for it. On a machine that is so busy that it lets
// the server wait for seconds, no script counts as one that hangs.
func (p *Process) commandLine() []string {
	own := []string{
		"--port", strconv.Itoa(p.port), "--bind", "127.0.0.1", "--save", "", "--dir", p.dir, "--daemonize", "no",
		"--lua-time-limit", "0",
	}
	if p.clustered() {
		own = append(own, p.clusterArgs()...)
	}
	if len(p.args) > 0 && !strings.HasPrefix(p.args[0], "-") {
		return slices.Concat(p.args[:1], own, p.args[1:])
	}
	return append(own, p.args...)
}

// readiness reads the log of a starting server, and drops it afterwards.
type readiness struct {
	started chan<- error
	log     bytes.Buffer
	ready   bool
}

func (r *readiness) Write(b []byte) (int, error) {
	if r.ready {
		return len(b), nil
	}
	r.log.Write(b)
	lines := bufio.NewScanner(bytes.NewReader(r.log.Bytes()))
	for lines.Scan() {
		// A Sentinel says who it is instead.
		if line := lines.Text(); strings.Contains(line, "eady to accept connections") ||
			strings.Contains(line, "Sentinel ID is") {
			r.ready = true
			r.log.Reset()
			r.started <- nil
			break
		}
	}
	return len(b), nil
}

// Kill ends it with SIGKILL: what was not on disk is lost.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill() //lint:ignore errcheck it may have ended already
	<-p.exited
	p.cmd = nil
}

// Restart kills it, if need be, and starts it again on the same port and directory.
func (p *Process) Restart() error {
	p.Kill()
	return p.start()
}

// Pause stops it in its tracks: connections stay open and nothing answers.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return errors.New("redis-server is not running: call Restart first")
	}
	return p.cmd.Process.Signal(s)
}

// PID is the process of the system; 0 where it does not run.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Close ends it.
func (p *Process) Close() { p.Kill() }
