package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// WorkerCommand is the hidden command that a child process runs.
const WorkerCommand = "demo-worker"

// orderToGoOn is the one line that a child process may get behind its options.
const orderToGoOn = "go on\n"

// process is one child process. Its standard input carries its options and stays open until it shall stop, its standard
// output carries marks, so that it ends when this process does, however that ends.
type process struct {
	number int
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *tail
	told   atomic.Bool   // that it shall stop or be killed
	ended  chan struct{} // closed when it was waited for and its last mark is in the log of runs
	err    error         // of Wait; read it after ended
}

func startProcess(number int, program string, opts poolOptions, log *runLog) (*process, error) {
	options, err := json.Marshal(opts)
	if err != nil {
		return nil, err
	}
	m := &process{number: number, stderr: &tail{}, ended: make(chan struct{})}
	m.cmd = exec.Command(program, WorkerCommand)
	m.cmd.Stderr = m.stderr
	m.cmd.SysProcAttr = childAttributes()
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	marks, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go m.attend(started, marks, log)
	if err := <-started; err != nil {
		return nil, err
	}
	if _, err := m.stdin.Write(append(options, '\n')); err != nil {
		m.kill()
		<-m.ended
		return nil, fmt.Errorf("it did not take its options: %w", err)
	}
	return m, nil
}

// attend starts the process, reads what it says and waits for it, all on one thread: Linux sends the signal that ends
// the child with its parent when the starting thread ends.
func (m *process) attend(started chan<- error, marks io.Reader, log *runLog) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := m.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	defer close(m.ended)
	m.readMarks(marks, log)
	m.err = m.cmd.Wait()
}

// readMarks returns at the end of the stream. A last line that was cut off by a kill is dropped: it was never said.
func (m *process) readMarks(from io.Reader, log *runLog) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var said mark
		if err := json.Unmarshal(line, &said); err != nil {
			fmt.Fprintf(m.stderr, "not a mark: %q\n", line)
			continue
		}
		said.Process = m.number
		log.add(said)
	}
}

// pid is the number that the system gave it.
func (m *process) pid() int { return m.cmd.Process.Pid }

// stop asks it to stop in good order.
func (m *process) stop() {
	m.told.Store(true)
	_ = m.stdin.Close() // it may be closed already
}

// goOn lets the runs end that it holds or would hold.
func (m *process) goOn() {
	_, _ = io.WriteString(m.stdin, orderToGoOn) // one that is gone holds nothing
}

// kill ends it at once: on Unix that is SIGKILL.
func (m *process) kill() {
	m.told.Store(true)
	_ = m.cmd.Process.Kill() // it may have ended already
	_ = m.stdin.Close()      // and this be closed
}

// failure says how it ended and what it said last.
func (m *process) failure() error {
	how := "without an error"
	if m.err != nil {
		how = m.err.Error()
	}
	if said := m.stderr.String(); said != "" {
		return fmt.Errorf("worker process %d (pid %d) ended by itself, %s: %s", m.number, m.pid(), how, said)
	}
	return fmt.Errorf("worker process %d (pid %d) ended by itself, %s", m.number, m.pid(), how)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	const most = 2048
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if cut := len(t.text) - most; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
