package embedded

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipe is one end of a connection inside this process. It uses no file descriptor. A goroutine that waits on it is
// durably blocked, as testing/synctest calls it, so virtual time can pass. Writes never wait: with [net.Pipe], which
// has no buffer, a client that sends many calls before it reads an answer would stop the server.
type pipe struct{ in, out *stream }

// newPipe makes a connection with its two ends.
func newPipe() (client, server net.Conn) {
	a, b := newStream(), newStream()
	return &pipe{in: a, out: b}, &pipe{in: b, out: a}
}

func (p *pipe) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *pipe) Write(b []byte) (int, error) { return p.out.write(b) }

// Close ends both directions: the other end still reads what was written before.
func (p *pipe) Close() error {
	p.in.close(net.ErrClosed)
	p.out.close(io.EOF)
	return nil
}

func (p *pipe) LocalAddr() net.Addr  { return pipeAddr{} }
func (p *pipe) RemoteAddr() net.Addr { return pipeAddr{} }

func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetWriteDeadline does nothing, since no write waits.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

func (p *pipe) SetReadDeadline(t time.Time) error {
	p.in.bound(t)
	return nil
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// stream is one direction.
type stream struct {
	mu      sync.Mutex
	changed *sync.Cond
	data    []byte
	ended   error // what a read returns once data is empty; nil while the connection stands
	bounded time.Time
	timer   *time.Timer // wakes a read at the deadline
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case errors.Is(s.ended, net.ErrClosed):
			return 0, s.ended
		case !s.bounded.IsZero() && !time.Now().Before(s.bounded):
			return 0, os.ErrDeadlineExceeded
		case len(s.data) > 0:
			n := copy(b, s.data)
			if s.data = s.data[n:]; len(s.data) == 0 {
				s.data = nil
			}
			return n, nil
		case s.ended != nil:
			return 0, s.ended
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return 0, io.ErrClosedPipe
	}
	s.data = append(s.data, b...)
	s.changed.Broadcast()
	return len(b), nil
}

// close ends the stream with what reads return; the first end counts, but that a reader has closed its own side.
func (s *stream) close(end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil || errors.Is(end, net.ErrClosed) {
		s.ended = end
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) bound(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bounded = t
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !t.IsZero() && s.ended == nil {
		s.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
}
