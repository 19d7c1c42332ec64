package integration

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// fleet is the worker processes of one test, their ledger, and an enqueuer.
type fleet struct {
	t         *testing.T
	dsn       string // of the workers and the enqueuer
	direct    string // past any proxy: what the test itself looks with
	namespace string
	ledger    *ledger
	enq       *work.Enqueuer
	program   string            // of the next process; empty is this one
	accepted  []string          // ids of the jobs that Enqueue acknowledged
	doomed    []string          // those of them that are to be buried
	killed    map[int]time.Time // when each process ended that did not end in good order
	ticks     bool              // the workers have a schedule
	processes []*process        // that were ever started
	several   redisconn.Driver  // what the test looks with where the server may change; else nil

	partitions int // that the namespace has, or may have had; 0 is as 1
}

func newFleet(t *testing.T, dsn string) *fleet { return newFleetBehind(t, dsn, dsn) }

// newFleetBehind makes a fleet that reaches Redis by dsn, and looks at it by direct.
func newFleetBehind(t *testing.T, dsn, direct string) *fleet {
	return newFleetIn(t, redistest.Namespace(t), dsn, direct)
}

// newFleetIn makes one in a namespace that is known already.
func newFleetIn(t *testing.T, namespace, dsn, direct string) *fleet {
	return newFleetOf(t, namespace, dsn, direct, partitionsOfFaults(t))
}

// newFleetOf makes one in a namespace that has so many partitions.
func newFleetOf(t *testing.T, namespace, dsn, direct string, partitions int) *fleet {
	t.Helper()
	f := &fleet{
		t: t, dsn: dsn, direct: direct, namespace: namespace, ledger: newLedger(),
		killed: map[int]time.Time{}, partitions: partitions,
	}
	var err error
	if f.partitions > 1 {
		divide(t, direct, namespace, f.partitions)
	}
	if !strings.HasPrefix(direct, "redis://") {
		f.several, err = redisconn.Open(direct)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.several.Close() })
	}
	f.enq, err = work.NewEnqueuer(dsn, work.Namespace(f.namespace), work.WithObserver(work.ObserverFunc(f.observe)),
		work.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.enq.Close() })
	f.watch()
	return f
}

// observe notes what the enqueuer tells of jobs that are gone.
func (f *fleet) observe(e event.Event) {
	lost, is := e.(event.DataLost)
	if !is {
		return
	}
	for _, id := range lost.Enqueued {
		f.ledger.add(entry{At: time.Now(), What: told, Of: id})
	}
}

// process is one worker process.
type process struct {
	fleet  *fleet
	pid    int
	cmd    *exec.Cmd
	orders io.WriteCloser
	errors pooltest.LockedBuffer
	exited chan struct{}
}

// start starts a worker process and waits until it is registered. It ends with the test.
func (f *fleet) start(concurrency int) *process { return f.startUnder(0, concurrency) }

// startUnder is start of a process whose own clock is that much ahead.
func (f *fleet) startUnder(clock time.Duration, concurrency int) *process {
	f.t.Helper()
	p := f.launch(clock, concurrency)
	f.ledger.await(f.t, ready, p.pid, 1)
	return p
}

// launch starts a worker process that may die before it can say that it is registered.
func (f *fleet) launch(clock time.Duration, concurrency int) *process {
	f.t.Helper()
	encoded, err := json.Marshal(duty{Redis: f.dsn, Namespace: f.namespace, Concurrency: concurrency, Clock: clock,
		Ticks: f.ticks})
	require.NoError(f.t, err)
	p := &process{fleet: f, cmd: exec.Command(cmp.Or(f.program, os.Args[0])), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), dutyVariable+"="+string(encoded))
	p.cmd.Stderr = &p.errors
	p.orders, err = p.cmd.StdinPipe()
	require.NoError(f.t, err)
	reports, err := p.cmd.StdoutPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, p.cmd.Start())
	p.pid = p.cmd.Process.Pid
	go p.read(reports)
	f.processes = append(f.processes, p)
	f.t.Cleanup(p.end)
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
	p.fleet.killed[p.pid] = at
	return at
}

// dies waits until the process has been killed by one of its jobs.
func (p *process) dies() {
	p.fleet.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.FailNow(p.fleet.t, "the process lives on")
	}
	p.fleet.killed[p.pid] = time.Now()
}

// diesBefore waits until something is so, and tells whether a job has killed the process before.
func (p *process) diesBefore(so func() bool) bool {
	p.fleet.t.Helper()
	require.Eventually(p.fleet.t, func() bool {
		select {
		case <-p.exited:
			return true
		default:
			return so()
		}
	}, patience, 50*time.Millisecond, "neither came")
	if so() {
		return false
	}
	p.dies()
	return true
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
	return f.enqueueIn(0, many, name, args...)
}

// enqueueIn is enqueue after that delay.
func (f *fleet) enqueueIn(delay time.Duration, many int, name string, args ...any) []string {
	f.t.Helper()
	entries := make([]work.Entry, many)
	for i := range entries {
		entries[i] = work.Entry{Name: name, Args: args, In: delay}
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

// enqueueUntil enqueues one job after the other until it is told to stop, and keeps the ids of those acknowledged.
func (f *fleet) enqueueUntil(stop <-chan struct{}) (stopped <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			receipt, err := f.enq.Enqueue(ctx, "brief", 1)
			cancel()
			if err == nil {
				f.accepted = append(f.accepted, receipt.ID)
			}
		}
	}()
	return done
}
