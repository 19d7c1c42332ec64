package waiting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
)

// How long Redis is asked to wait for an entry at a time, and how long a connection is kept while nobody waits.
const (
	completionWait = 5 * time.Second
	keptIdle       = 30 * time.Second
)

// Queue reads one completion queue. All methods may be called concurrently.
type Queue struct {
	waiters *Waiters
	name    string
	lane    string
	taking  chan struct{} // has room for whoever takes: a lane has one call under way at a time
	number  int64         // of the next call; guarded by taking
	idle    chan idleConn // has room for the connection of the last wait
}

// idleConn is a connection that nobody waits on now.
type idleConn struct {
	redisconn.Conn
	unused *time.Timer // closes it
}

// Queue returns a reader of a completion queue, which ends with the waiters. The lane is random, and of nobody else: in
// it calls are numbered, so that one that is made again takes no second entry.
func (w *Waiters) Queue(name, lane string) *Queue {
	q := &Queue{waiters: w, name: name, lane: lane, taking: make(chan struct{}, 1), number: 1,
		idle: make(chan idleConn, 1)}
	context.AfterFunc(w.life, q.closeIdle)
	return q
}

// Next waits until a job has ended, and takes its entry. When ctx ends the error is its cause, with what was wrong with
// Redis until then. A Redis that is away is waited for.
func (q *Queue) Next(ctx context.Context) (rdb.Collected, error) {
	life := q.waiters.life
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	var trouble error
	var failures backoff.Failures
	for {
		taken, err := q.take(within)
		if err == nil && taken.ID != "" {
			return taken, nil
		}
		if err == nil {
			err = q.wait(within)
		}
		switch {
		case life.Err() != nil:
			return rdb.Collected{}, q.failed(excerpt.Error(context.Cause(life)))
		case within.Err() != nil:
			return rdb.Collected{}, q.failed(retry.JoinCause(context.Cause(within), trouble))
		case err == nil:
			failures, trouble = 0, nil
			continue
		case !retry.Classify(err).Again && !redisconn.ConcernsServer(err):
			return rdb.Collected{}, q.failed(err)
		}
		trouble = err
		failures.Pause(within)
	}
}

func (q *Queue) failed(err error) error {
	return fmt.Errorf("completion queue %s: %w", excerpt.Brief(q.name), err)
}

// take takes one entry if there is one. A call that was not answered is made again with the same number, if need be by
// the next caller: so its entry is not lost.
func (q *Queue) take(ctx context.Context) (rdb.Collected, error) {
	select {
	case q.taking <- struct{}{}:
	case <-ctx.Done():
		return rdb.Collected{}, ctx.Err()
	}
	defer func() { <-q.taking }()
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	taken, err := q.waiters.store.Collect(ctx, q.name, q.lane, q.number)
	var strange *redisconn.UnexpectedReplyError
	if err == nil && taken.ID != "" || errors.As(err, &strange) { // what cannot be read is told once
		q.number++
	}
	return taken, err
}

// wait returns when there may be an entry. A Redis that is full refuses to wait; it is asked about as often.
func (q *Queue) wait(ctx context.Context) error {
	conn, err := q.connection(ctx)
	if err != nil {
		return err
	}
	err = q.waiters.store.WaitForCompletion(ctx, conn, q.name, completionWait)
	q.keep(conn)
	return err
}

// connection is that of the wait before, or a new one: entries may come by the thousand, each after a short wait.
func (q *Queue) connection(ctx context.Context) (redisconn.Conn, error) {
	select {
	case last := <-q.idle:
		last.unused.Stop()
		return last.Conn, nil
	default:
		return q.waiters.store.Driver().Dial(ctx)
	}
}

// keep keeps a connection for the next wait, unless it is broken, another one is kept, or nobody reads any more.
func (q *Queue) keep(conn redisconn.Conn) {
	if conn.Broken() {
		_ = conn.Close() // why it is broken the wait has told
		return
	}
	select {
	case q.idle <- idleConn{conn, time.AfterFunc(keptIdle, q.closeIdle)}:
	default:
		_ = conn.Close() // nothing is left to say on it
	}
	if q.waiters.life.Err() != nil {
		q.closeIdle()
	}
}

func (q *Queue) closeIdle() {
	select {
	case last := <-q.idle:
		last.unused.Stop()
		_ = last.Close() // as above
	default:
	}
}
