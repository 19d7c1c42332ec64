package worqr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb/worqrdb"
)

// Process is a task that this client's worker works on.
type Process struct {
	ID    string // the queue, an underscore and a UUID
	Queue string
	Task  []byte

	client   *Client
	began    time.Time // when the answer came
	key      worqrdb.Process
	ctx      context.Context
	end      context.CancelCauseFunc
	dropping sync.Mutex

	// guarded by the client's mu
	unsure   map[outcome]bool // one of these was not answered
	settling int              // calls of finish and stop under way
	missed   bool             // the last look did not find it
}

// outcome is how the worker ends a process.
type outcome int

const (
	finished outcome = iota
	putBack
)

// Context ends when the process does, with the reason as its cause: [ErrCancelled], [ErrLapsed], [ErrProcessEnded],
// [ErrProcessGone] for one that was found to be taken away, [ErrClosed]. The released program takes processes away
// without a word; each heartbeat looks for those, and the second one that does not find it ends the context.
func (p *Process) Context() context.Context { return p.ctx }

// Finish is [Client.FinishTask] of it.
func (p *Process) Finish(ctx context.Context, result []byte) error {
	if err := validTask(result); err != nil {
		return err
	}
	return p.finish(ctx, doneBytes(p.key.Worker, p.Task, result))
}

// FinishJSON is Finish with a result of any kind, as the released program may tell one: an object, a number, or null
// for none. What is no JSON is refused.
func (p *Process) FinishJSON(ctx context.Context, result json.RawMessage) error {
	if err := validTask(result); err != nil {
		return err
	}
	if !json.Valid(result) {
		return &InvalidError{What: "result", Value: fmt.Sprintf("%.100q", result), Remedy: "use JSON, or Finish"}
	}
	if bytes.Equal(bytes.TrimSpace(result), []byte("null")) {
		result = nil
	}
	return p.finish(ctx, doneMessage{Result: result}.encode(p.key.Worker, p.Task))
}

func (p *Process) finish(ctx context.Context, done []byte) error {
	return p.client.settle(ctx, p, finished, func(ctx context.Context) (bool, error) {
		return p.client.store.Finish(ctx, p.key, p.Task, done)
	})
}

// Stop is [Client.StopTask] of it.
func (p *Process) Stop(ctx context.Context) error {
	return p.client.settle(ctx, p, putBack, func(ctx context.Context) (bool, error) {
		moved, err := p.client.store.Requeue(ctx,
			worqrdb.Requeue{Worker: p.key.Worker, Queue: p.Queue, Processes: []string{p.ID}})
		return moved.Back+moved.Cancelled > 0, err
	})
}

// StartTask takes the task at the front of a queue that the client works on (else [*NotWorkingError]); [ErrEmpty] says
// that none waits, and then nothing is left behind. It takes one round trip. If ctx ends before the answer, a task that
// was taken nevertheless goes back within a heartbeat.
func (c *Client) StartTask(ctx context.Context, queue string) (*Process, error) {
	if err := validQueue(queue); err != nil {
		return nil, err
	}
	w, err := c.present()
	if err != nil {
		return nil, err
	}
	s := c.served(queue)
	if s == nil {
		return nil, &NotWorkingError{Queue: queue}
	}
	defer s.taking()()
	key := worqrdb.Process{Worker: w.ID, Queue: queue, ID: processID(queue)}
	var taken worqrdb.Taken
	doubt, err := c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		taken, err = c.store.Start(ctx, w, queue, key.ID)
		return err
	})
	if err != nil {
		if doubt {
			c.doubt(key)
		}
		return nil, err
	}
	switch taken.State {
	case worqrdb.Started:
		return c.hold(ctx, s, w, &Process{ID: key.ID, Queue: queue, Task: taken.Task, client: c, key: key})
	case worqrdb.Empty:
		return nil, ErrEmpty
	case worqrdb.Idle:
		return nil, &NotWorkingError{Queue: queue}
	}
	return nil, ErrLapsed
}

// doubt leaves a process to the heartbeat that was perhaps started.
func (c *Client) doubt(key worqrdb.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubtful = append(c.doubtful, key)
}

// hold notes a process that has begun. What happened to it before it was noted is looked up.
func (c *Client) hold(ctx context.Context, s *serving, w worqrdb.Worker, p *Process) (*Process, error) {
	p.ctx, p.end = context.WithCancelCause(context.Background())
	p.began = time.Now()
	c.mu.Lock()
	var gone error
	switch {
	case c.worker.Registration != w.Registration:
		gone = ErrLapsed
	case c.serving[p.Queue] != s:
		gone = &NotWorkingError{Queue: p.Queue} // StopWork came in between, and puts it back
	default:
		c.held[p.ID] = p
	}
	c.mu.Unlock()
	if gone != nil {
		p.end(gone)
		return nil, gone
	}
	if s.heardCancel(p.Task) {
		c.drop(ctx, p, false)
	}
	return p, nil
}

// FinishTask ends a process for good, and tells whoever listens; a nil result is none. [*ProcessError] says that the
// process is not this worker's any longer. It takes one round trip.
func (c *Client) FinishTask(ctx context.Context, process string, result []byte) error {
	p, err := c.find(ctx, process)
	if err != nil {
		return err
	}
	return p.Finish(ctx, result)
}

// StopTask puts a task back to the front of its queue, and tells the workers. One that was cancelled ends instead.
func (c *Client) StopTask(ctx context.Context, process string) error {
	p, err := c.find(ctx, process)
	if err != nil {
		return err
	}
	return p.Stop(ctx)
}

// settle ends a process by a call that tells whether it was there. One that is gone after a call for the same outcome,
// without an answer, was ended by that call.
func (c *Client) settle(ctx context.Context, p *Process, as outcome,
	call func(ctx context.Context) (bool, error)) error {
	c.mu.Lock()
	p.settling++
	c.mu.Unlock()
	ended := false
	doubt, err := c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		ended, err = call(ctx)
		return err
	})
	c.mu.Lock()
	p.settling--
	if doubt && p.unsure == nil {
		p.unsure = map[outcome]bool{}
	}
	if doubt {
		p.unsure[as] = true
	}
	if !ended && !p.unsure[as] && err == nil {
		err = &ProcessError{ID: p.ID}
	}
	over := err == nil || errors.Is(err, ErrProcessGone)
	if over {
		delete(c.held, p.ID)
	}
	c.mu.Unlock()
	if over {
		p.end(cmp.Or(err, ErrProcessEnded))
	}
	return err
}

// find returns a process of this worker. One that this client does not hold is looked up: Redis has the last word.
func (c *Client) find(ctx context.Context, process string) (*Process, error) {
	queue, err := queueOf(process)
	if err != nil {
		return nil, err
	}
	w, err := c.present()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	p := c.held[process]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p = &Process{ID: process, Queue: queue, client: c, key: worqrdb.Process{Worker: w.ID, Queue: queue, ID: process}}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	var read []worqrdb.Holding
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		read, err = c.store.WithTasks(ctx, []worqrdb.Holding{{Process: p.key}})
		return err
	})
	if err == nil && len(read) == 0 {
		err = &ProcessError{ID: process}
	}
	if err != nil {
		p.end(err)
		return nil, err
	}
	p.Task = read[0].Task
	return p, nil
}

// drop ends a process if its task was cancelled, and tells whether it was. One that was taken away ends as well, for
// that reason.
func (c *Client) drop(ctx context.Context, p *Process, unmarked bool) (cancelled bool) {
	p.dropping.Lock() // a message and a look may come upon one cancellation: who is second finds the process gone
	defer p.dropping.Unlock()
	if p.ctx.Err() != nil {
		return errors.Is(context.Cause(p.ctx), ErrCancelled)
	}
	said := worqrdb.Kept
	doubt, err := c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		said, err = c.store.EndCancelled(ctx, p.key, p.Task, unmarked)
		return err
	})
	if err != nil {
		if !errors.Is(err, ErrClosed) {
			c.told.tell(Failed{Queue: p.Queue, Err: err})
		}
		return false
	}
	why := ErrCancelled
	switch {
	case said == worqrdb.Kept:
		return false
	case said == worqrdb.Gone && !doubt: // else an attempt that was not answered has dropped it
		why = &ProcessError{ID: p.ID}
	}
	c.mu.Lock()
	settled := said == worqrdb.Gone && !doubt && (p.settling > 0 || c.held[p.ID] != p) // whoever does that knows why
	if !settled {
		delete(c.held, p.ID)
	}
	c.mu.Unlock()
	if settled {
		return false
	}
	p.end(why)
	return errors.Is(context.Cause(p.ctx), ErrCancelled)
}
