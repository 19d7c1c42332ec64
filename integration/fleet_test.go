package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// fleet is the worker processes of one test, their ledger, and an enqueuer.
type fleet struct {
	t         *testing.T
	dsn       string
	namespace string
	ledger    *ledger
	enq       *work.Enqueuer
	accepted  []string // ids of the jobs that Enqueue acknowledged
}

func newFleet(t *testing.T, dsn string) *fleet {
	f := &fleet{t: t, dsn: dsn, namespace: redistest.Namespace(t), ledger: newLedger()}
	var err error
	f.enq, err = work.NewEnqueuer(dsn, work.Namespace(f.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.enq.Close() })
	return f
}

// process is one worker process.
type process struct {
	fleet  *fleet
	pid    int
	cmd    *exec.Cmd
	orders io.WriteCloser
	errors bytes.Buffer
	exited chan struct{}
}

// start starts a worker process and waits until it is registered. It ends with the test.
func (f *fleet) start(concurrency int) *process {
	f.t.Helper()
	encoded, err := json.Marshal(duty{Redis: f.dsn, Namespace: f.namespace, Concurrency: concurrency})
	require.NoError(f.t, err)
	p := &process{fleet: f, cmd: exec.Command(os.Args[0]), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), dutyVariable+"="+string(encoded))
	p.cmd.Stderr = &p.errors
	p.orders, err = p.cmd.StdinPipe()
	require.NoError(f.t, err)
	reports, err := p.cmd.StdoutPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, p.cmd.Start())
	p.pid = p.cmd.Process.Pid
	go p.read(reports)
	f.t.Cleanup(p.end)
	f.ledger.await(f.t, ready, p.pid, 1)
	return p
}

// read passes the reports on until the process has ended.
func (p *process) read(reports io.Reader) {
	defer close(p.exited)
	lines := bufio.NewReader(reports)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // it has ended; a kill may have left half a line
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			e = entry{At: time.Now(), What: "unreadable", Of: string(line)}
		}
		e.Member = p.pid
		p.fleet.ledger.add(e)
	}
	_ = p.cmd.Wait() // its status is in ProcessState
}

// end kills the process if it is still there.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
	if p.fleet.t.Failed() {
		p.fleet.t.Logf("process %d wrote:\n%s", p.pid, p.errors.String())
	}
}

func (p *process) signal(s syscall.Signal) {
	p.fleet.t.Helper()
	require.NoError(p.fleet.t, p.cmd.Process.Signal(s))
}

// kill ends the process with SIGKILL and returns when that was.
func (p *process) kill() time.Time {
	p.signal(syscall.SIGKILL)
	at := time.Now()
	<-p.exited
	return at
}

// open opens the gate of the process: handlers that wait there go on, later ones pass.
func (p *process) open() {
	p.fleet.t.Helper()
	_, err := io.WriteString(p.orders, "open\n")
	require.NoError(p.fleet.t, err)
}

// terminate sends SIGTERM and returns the exit status.
func (p *process) terminate() int {
	p.fleet.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.FailNow(p.fleet.t, "the process does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// enqueue enqueues so many jobs in one call and returns their ids.
func (f *fleet) enqueue(many int, name string, args ...any) []string {
	f.t.Helper()
	entries := make([]work.Entry, many)
	for i := range entries {
		entries[i] = work.Entry{Name: name, Args: args}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	receipts, err := f.enq.EnqueueMany(ctx, entries)
	require.NoError(f.t, err)
	var accepted []string
	for _, receipt := range receipts {
		accepted = append(accepted, receipt.ID)
	}
	f.accepted = append(f.accepted, accepted...)
	return accepted
}

// settled waits until no job is left in Redis, and checks that each that was accepted ran to its end and none was
// buried.
func (f *fleet) settled() {
	f.t.Helper()
	conn, err := redis.DialURL(f.dsn)
	require.NoError(f.t, err)
	defer func() { _ = conn.Close() }()
	key := "{" + f.namespace + "}:jobs"
	require.Eventually(f.t, func() bool {
		left, err := redis.Int(conn.Do("HLEN", key))
		return err == nil && left == 0
	}, patience, 20*time.Millisecond, "jobs are left")
	for _, of := range []string{"claimed", "trail", "crashes", "names", "scheduled", "retry", "morgue"} {
		left, err := redis.Int(conn.Do("EXISTS", "{"+f.namespace+"}:"+of))
		assert.NoError(f.t, err)
		assert.Zero(f.t, left, of)
	}
	ends, lost := f.ledger.times(ended), 0
	for _, id := range f.accepted {
		if ends[id] == 0 {
			lost++
		}
	}
	assert.Zero(f.t, lost, "jobs that never ended, of %d", len(f.accepted))
	assert.Empty(f.t, f.ledger.of(buried, 0))
	assert.Empty(f.t, f.ledger.of("unreadable", 0))
}

// once checks that each of these jobs was begun exactly once.
func (f *fleet) once(of []string) {
	f.t.Helper()
	begins := f.ledger.times(begun)
	for _, id := range of {
		if begins[id] != 1 {
			assert.Fail(f.t, "not begun once", "%s: %d times", id, begins[id])
		}
	}
}
