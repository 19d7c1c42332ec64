package replicas

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// question is what a witness was asked.
type question struct {
	conn     int // on the how manieth connection, from 1
	lanes    []string
	replicas int
	wait     time.Duration
}

// server plays a Redis with replicas. It knows all calls, and its replicas are as far behind as lag says, where answer
// does not say otherwise.
type server struct {
	lag    time.Duration
	refuse func(conn int) error // nil lets everybody in
	answer func(ctx context.Context, q question) (rdb.Testimony, error)

	mu     sync.Mutex
	dialed int
	open   int
	asked  []question
}

func (s *server) dial(context.Context) (Witness, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialed++
	if s.refuse != nil {
		if err := s.refuse(s.dialed); err != nil {
			return nil, err
		}
	}
	s.open++
	return &played{server: s, conn: s.dialed}, nil
}

// connections are how many were dialled so far, and how many of them are open.
func (s *server) connections() (dialed, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialed, s.open
}

func (s *server) questions() []question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]question(nil), s.asked...)
}

// follow answers as Redis does that knows all calls up to this number.
func (s *server) follow(ctx context.Context, q question, number int64) (t rdb.Testimony, err error) {
	for range q.lanes {
		t.Lanes = append(t.Lanes, rdb.LaneState{Number: number})
	}
	if s.lag <= q.wait {
		t.Confirmed = q.replicas
	}
	select {
	case <-time.After(min(s.lag, q.wait)): // so long Redis is silent
		return t, nil
	case <-ctx.Done():
		return rdb.Testimony{}, ctx.Err()
	}
}

// played is a connection to such a server.
type played struct {
	server *server
	conn   int
	closed bool
}

func (w *played) Ask(ctx context.Context, lanes []string, replicas int, wait time.Duration) (rdb.Testimony, error) {
	q := question{conn: w.conn, lanes: lanes, replicas: replicas, wait: wait}
	w.server.mu.Lock()
	w.server.asked = append(w.server.asked, q)
	w.server.mu.Unlock()
	if w.server.answer != nil {
		return w.server.answer(ctx, q)
	}
	return w.server.follow(ctx, q, latest)
}

// latest is the number of the last call that a server knows.
const latest = 1000

func (w *played) Close() error {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if w.closed {
		return errors.New("closed twice")
	}
	w.closed = true
	w.server.open--
	return nil
}

// pass lets so much of a bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }
