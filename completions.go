package work

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// Completion names the completion queue that learns of the end of the job: a name as that of a job, which any number of
// jobs may share. See [Enqueuer.Completions].
func Completion(name string) EnqueueOption {
	return func(s *jobSettings) {
		s.completion = name
		if err := validateName(name); err != nil {
			s.refuse(fmt.Errorf("option Completion: %w", err))
		}
	}
}

// Ended is a job that has ended, as its completion queue tells it.
type Ended struct {
	ID    string
	State State // StateSucceeded, StateCancelled, StateDiscarded, StateExpired, StateDeleted, or StateDead
}

// Completions reads one completion queue: the ids of jobs with the option [Completion], about in the order in which
// they end. A job that goes to the morgue comes as [StateDead], and once more if it is retried by hand and ends.
// Results are kept for the jobs' Retention: see [Result].
//
// Any number of readers may share a queue, in one program or in many: each entry comes to one of them, once. It is
// taken at the moment in which Next returns it; a lost connection or a ctx that ends loses none, but what a program has
// been told and not dealt with when it dies is gone. What nobody reads is removed a week after the queue's last entry.
// All methods may be called concurrently.
type Completions struct {
	core *enqueuerCore
	name string
	err  error // what is wrong with the name

	taking chan struct{} // has room for whoever takes: a lane has one call under way at a time
	lane   string
	number int64
}

// readers are the completion queues that an enqueuer reads, by name. A program may ask for one again and again.
type readers struct {
	mu    sync.Mutex
	known map[string]*Completions
}

// Completions returns the reader of a completion queue: the same one for the same name. It asks for nothing yet. The
// Enqueuer's Close ends it.
func (e *Enqueuer) Completions(name string) *Completions {
	r := &e.core.readers
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[name]; known != nil {
		return known
	}
	if r.known == nil {
		r.known = map[string]*Completions{}
	}
	c := &Completions{
		core: e.core, name: name, err: validateName(name), taking: make(chan struct{}, 1), lane: newID(time.Now()),
		number: 1,
	}
	r.known[name] = c
	return c
}

// completionWait is how long Redis is asked to wait for an entry at a time.
const completionWait = 5 * time.Second

// Next waits until a job has ended, and takes it. When ctx ends the error is its cause; [Enqueuer.Close] ends the wait
// with [ErrClosed]. A Redis that is away is waited for.
func (c *Completions) Next(ctx context.Context) (Ended, error) {
	if c.err != nil {
		return Ended{}, fmt.Errorf("completion queue: %w", c.err)
	}
	life := c.core.waiters.life
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	var trouble error
	for failures := 0; ; {
		taken, err := c.take(within)
		if err == nil && taken.ID != "" {
			return Ended{ID: taken.ID, State: endedState(taken.State)}, nil
		}
		if err == nil {
			err = c.wait(within)
		}
		switch {
		case life.Err() != nil:
			return Ended{}, fmt.Errorf("completion queue %s: %w", quoted(c.name), excerpt.Error(context.Cause(life)))
		case within.Err() != nil:
			return Ended{}, fmt.Errorf("completion queue %s: %w", quoted(c.name), blame(context.Cause(within), trouble))
		case err == nil:
			failures, trouble = 0, nil
			continue
		case !judge(err).again && !rdb.ConcernsServer(err):
			return Ended{}, fmt.Errorf("completion queue %s: %w", quoted(c.name), err)
		}
		failures, trouble = failures+1, err
		backoff.Pause(within, backoff.For(failures))
	}
}

// All ranges over the jobs as they end, until ctx ends or there is an error, which comes last.
func (c *Completions) All(ctx context.Context) iter.Seq2[Ended, error] {
	return func(yield func(Ended, error) bool) {
		for {
			ended, err := c.Next(ctx)
			if !yield(ended, err) || err != nil {
				return
			}
		}
	}
}

// take takes one entry if there is one. A call that was not answered is made again with the same number, if need be by
// the next caller: so its entry is not lost.
func (c *Completions) take(ctx context.Context) (rdb.Collected, error) {
	select {
	case c.taking <- struct{}{}:
	case <-ctx.Done():
		return rdb.Collected{}, ctx.Err()
	}
	defer func() { <-c.taking }()
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	taken, err := c.core.store.Collect(ctx, c.name, c.lane, c.number)
	var strange *rdb.UnexpectedReplyError
	if err == nil && taken.ID != "" || errors.As(err, &strange) { // what cannot be read is told once
		c.number++
	}
	return taken, err
}

// wait returns when there may be an entry. A Redis that is full refuses to wait; it is asked about as often.
func (c *Completions) wait(ctx context.Context) error {
	conn, err := c.core.store.Driver().Dial(ctx)
	if err != nil {
		return err
	}
	err = c.core.store.WaitForCompletion(ctx, conn, c.name, completionWait)
	return excerpt.Join(err, conn.Close())
}

// endedState is the state that a word in a completion queue stands for.
func endedState(word string) State {
	if word == stateSucceeded {
		return StateSucceeded
	}
	return State(word)
}
