package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// child is a server process that this program started.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	ending sync.Once
	signal syscall.Signal // with which it ends at once, keeping nothing
}

// launch returns when the server has written ready. It ends when this program does, however that comes about.
func launch(cmd *exec.Cmd, ready string, signal syscall.Signal) (*child, error) {
	dieWithUs(cmd)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	c := &child{cmd: cmd, exited: make(chan struct{}), signal: signal}
	started := make(chan error, 2)
	go func() {
		defer close(c.exited)
		// The kernel ends the child when the thread that started it ends, so that thread stays here.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		log := &watchedLog{ready: []byte(ready), started: started}
		io.Copy(log, output) //lint:ignore errcheck ends with the process
		cmd.Wait()           //lint:ignore errcheck it is ended by a signal
		started <- fmt.Errorf("%s ended: %s", filepath.Base(cmd.Path), strings.TrimSpace(log.seen.String()))
	}()
	if err := <-started; err != nil {
		<-c.exited
		return nil, err
	}
	return c, nil
}

func (c *child) stop() {
	c.ending.Do(func() {
		c.cmd.Process.Signal(c.signal) //lint:ignore errcheck it may have ended already
		<-c.exited
	})
}

// watchedLog reads the log of a starting server for the line that says it is ready, and drops what comes after.
type watchedLog struct {
	ready   []byte
	started chan<- error
	seen    bytes.Buffer
	done    bool
}

func (w *watchedLog) Write(b []byte) (int, error) {
	if w.done {
		return len(b), nil
	}
	w.seen.Write(b)
	if bytes.Contains(w.seen.Bytes(), w.ready) {
		w.done = true
		w.seen.Reset()
		w.started <- nil
	}
	return len(b), nil
}

// onFreePort tries a few ports, since another process may take one in between.
func onFreePort(start func(port int) (*child, error)) (*child, int, error) {
	var last error
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close() //lint:ignore errcheck nothing was sent
		c, err := start(port)
		if err == nil {
			return c, port, nil
		}
		last = err
	}
	return nil, 0, last
}
