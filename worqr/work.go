package worqr

import (
	"context"
	"errors"
	"iter"

	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb/worqrdb"
)

// StartWork makes the client's worker work on a queue: it hears of its tasks from now on, and at once if some wait. A
// second call for the same queue does nothing. It needs Start.
func (c *Client) StartWork(ctx context.Context, queue string) error {
	if err := validQueue(queue); err != nil {
		return err
	}
	return c.atDesk(ctx, func(w worqrdb.Worker) error {
		if c.served(queue) != nil {
			return nil
		}
		s := c.newServing(queue)
		s.loop.Start(c.life)
		if err := c.begin(ctx, w, s); err != nil {
			s.loop.Stop()
			<-s.loop.Done()
			return err
		}
		return nil
	})
}

// begin waits for the subscription, then says that the queue is served: in the other order a task could come unheard.
func (c *Client) begin(ctx context.Context, w worqrdb.Worker, s *serving) error {
	subscribing, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	select {
	case <-s.ready:
	case <-subscribing.Done():
		return context.Cause(subscribing)
	case <-c.life.Done():
		return ErrClosed
	}
	if err := c.announce(ctx, w, s); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker.Registration != w.Registration {
		return ErrLapsed
	}
	c.serving[s.queue] = s
	return nil
}

// announce says in Redis that the worker serves the queue, and here that tasks wait.
func (c *Client) announce(ctx context.Context, w worqrdb.Worker, s *serving) error {
	waiting, lapsed := 0, false
	_, err := c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		waiting, lapsed, err = c.store.Serve(ctx, w, s.queue)
		return err
	})
	switch {
	case err != nil:
		return err
	case lapsed:
		return ErrLapsed
	case waiting > 0:
		s.tellWork(waiting)
	}
	return nil
}

// StopWork makes the client's worker work on a queue no longer. Tasks of it that it has started go back to the front,
// in their order; those of other workers stay. For a queue that it does not work on, it does nothing. One that failed
// may be called again.
func (c *Client) StopWork(ctx context.Context, queue string) error {
	if err := validQueue(queue); err != nil {
		return err
	}
	return c.atDesk(ctx, func(w worqrdb.Worker) error {
		c.mu.Lock()
		s := c.serving[queue]
		delete(c.serving, queue)
		c.mu.Unlock()
		if s != nil {
			s.abandon()
		}
		_, err := c.untilAnswered(ctx, func(ctx context.Context) error { return c.leave(ctx, w.ID, queue) })
		return err
	})
}

// abandon ends the subscription, and the contexts of the processes.
func (s *serving) abandon() {
	s.loop.Stop()
	<-s.loop.Done()
	for _, p := range s.processes() {
		s.client.mu.Lock()
		delete(s.client.held, p.ID)
		s.client.mu.Unlock()
		p.end(ErrProcessEnded)
	}
}

// leave puts back what the worker holds of a queue, and serves it no longer. A task may be started meanwhile by a call
// that was under way: then it goes round again.
func (c *Client) leave(ctx context.Context, worker, queue string) error {
	for {
		if _, err := c.requeue(ctx, worqrdb.Requeue{Worker: worker, Queue: queue}); err != nil {
			return err
		}
		if left, err := c.store.Leave(ctx, worker, queue); left || err != nil {
			return err
		}
	}
}

// RequestWork tells everybody who listens to a queue how many tasks wait in it, if any do: workers of both programs,
// and those who watch it. Any client may call it, with a worker or without.
func (c *Client) RequestWork(ctx context.Context, queue string) error {
	count, err := c.Count(ctx, queue)
	if err != nil || count == 0 {
		return err
	}
	_, err = c.untilAnswered(ctx, func(ctx context.Context) error { return c.store.TellWork(ctx, queue, count) })
	return err
}

// Watch yields what is told of one queue, from the call on until ctx or Close, for a client that does not work on it.
func (c *Client) Watch(ctx context.Context, queue string) (iter.Seq[Event], error) {
	if err := validQueue(queue); err != nil {
		return nil, err
	}
	l, ready := newListener(c.options.EventBuffer), make(chan struct{}, 1)
	loop := &lifecycle.Loop{Run: func(ctx context.Context) {
		defer c.busy.Done()
		c.follow(ctx, queue, subscriber{
			ready: func() {
				select {
				case ready <- struct{}{}:
				default:
				}
			},
			receive: l.tell,
			failed:  func(err error) { l.tell(Failed{Queue: queue, Err: err}) },
		})
	}}
	if err := c.enterBusy(); err != nil {
		return nil, err
	}
	following, cancel := context.WithCancel(ctx)
	context.AfterFunc(c.life, cancel)
	loop.Start(following)
	select {
	case <-ready:
		return l.all(ctx, c.life), nil
	case <-loop.Done():
		cancel()
	}
	if c.life.Err() != nil {
		return nil, ErrClosed
	}
	return nil, context.Cause(ctx)
}

// enterBusy announces a goroutine that Close waits for.
func (c *Client) enterBusy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == closed {
		return ErrClosed
	}
	c.busy.Add(1)
	return nil
}

// atDesk lets one caller at a time change which queues are served.
func (c *Client) atDesk(ctx context.Context, change func(w worqrdb.Worker) error) error {
	select {
	case c.desk <- struct{}{}:
		defer func() { <-c.desk }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w, err := c.present()
	if err != nil {
		return err
	}
	return change(w)
}

// stopListening ends all subscriptions.
func (c *Client) stopListening() {
	c.desk <- struct{}{}
	defer func() { <-c.desk }()
	c.mu.Lock()
	all := c.serving
	c.serving = map[string]*serving{}
	c.mu.Unlock()
	for _, s := range all {
		s.loop.Stop()
		<-s.loop.Done()
	}
}

// isGone tells errors after which there is nothing to serve.
func isGone(err error) bool {
	return errors.Is(err, ErrClosed) || errors.As(err, new(*NotWorkingError))
}
