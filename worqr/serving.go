package worqr

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb/worqrdb"
)

// serving is a queue that the client works on: the subscription to its channels, and who waits for its tasks.
type serving struct {
	client *Client
	queue  string
	loop   lifecycle.Loop
	first  sync.Once
	ready  chan struct{} // closed once the subscription stands

	mu       sync.Mutex
	attended bool          // Serve runs
	wake     chan struct{} // Serve waits for it
	takers   int           // StartTask under way
	heard    [][]byte      // tasks of which a cancellation was heard while there were any
}

func (c *Client) newServing(queue string) *serving {
	s := &serving{client: c, queue: queue, ready: make(chan struct{}), wake: make(chan struct{}, 1)}
	s.loop.Run = s.listen
	return s
}

func (c *Client) served(queue string) *serving {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.serving[queue]
}

func (s *serving) listen(ctx context.Context) {
	s.client.follow(ctx, s.queue, subscriber{
		ready: func() {
			before := true
			s.first.Do(func() { close(s.ready); before = false })
			if before {
				s.catchUp(ctx)
			}
		},
		receive: func(e Event) { s.receive(ctx, e) },
		failed:  func(err error) { s.client.told.tell(Failed{Queue: s.queue, Err: err}) },
	})
}

// receive is called for each message of the queue's channels.
func (s *serving) receive(ctx context.Context, e Event) {
	switch e := e.(type) {
	case Work:
		s.tellWork(e.Count)
		return
	case Cancelled:
		e.Processes = s.cancelled(ctx, e.Task)
		s.client.told.tell(e)
		return
	}
	s.client.told.tell(e)
}

func (s *serving) tellWork(count int) {
	s.client.told.tell(Work{Queue: s.queue, Count: count})
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// cancelled ends those processes of the client that have the task.
func (s *serving) cancelled(ctx context.Context, task []byte) (processes []string) {
	s.mu.Lock()
	if s.takers > 0 {
		s.heard = append(s.heard, task)
	}
	s.mu.Unlock()
	for _, p := range s.processes() {
		if bytes.Equal(p.Task, task) && s.client.drop(ctx, p, true) {
			processes = append(processes, p.ID)
		}
	}
	return processes
}

// catchUp looks for what was told while there was no subscription.
func (s *serving) catchUp(ctx context.Context) {
	for _, p := range s.processes() {
		if s.client.drop(ctx, p, false) {
			s.client.told.tell(Cancelled{Queue: s.queue, Task: p.Task, Processes: []string{p.ID}})
		}
	}
	count, err := s.client.Count(ctx, s.queue)
	if err != nil {
		count = 1 // some may wait: whoever looks finds out
	}
	if count > 0 && ctx.Err() == nil {
		s.tellWork(count)
	}
}

// processes are those that the client has of the queue.
func (s *serving) processes() (own []*Process) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	for _, p := range s.client.held {
		if p.Queue == s.queue {
			own = append(own, p)
		}
	}
	return own
}

// taking notes that a task is about to be started: until the function it returns is called, cancellations are
// remembered.
func (s *serving) taking() (taken func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takers++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.takers--; s.takers == 0 {
			s.heard = nil
		}
	}
}

func (s *serving) heardCancel(task []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, heard := range s.heard {
		if bytes.Equal(heard, task) {
			return true
		}
	}
	return false
}

// subscriber is who is told of a queue's messages, in the goroutine of follow.
type subscriber struct {
	ready   func() // each time that the subscription stands
	receive func(Event)
	failed  func(err error) // once per loss
}

// follow listens to the channels of a queue until ctx ends, over as many connections as it takes.
func (c *Client) follow(ctx context.Context, queue string, to subscriber) {
	channels := c.store.Channels(queue)
	all := []string{channels.Work, channels.Done, channels.Cancel, channels.Delete}
	told := false // of the loss that lasts
	var failures backoff.Failures
	for ctx.Err() == nil {
		err := c.driver.SubscribeAll(ctx, all, func() {
			failures, told = 0, false
			to.ready()
		}, func(channel string, message []byte) {
			if e := decode(queue, channels, channel, message); e != nil {
				to.receive(e)
			}
		})
		if ctx.Err() != nil {
			return
		}
		if !told {
			to.failed(err)
			told = true
		}
		failures.Pause(ctx)
	}
}

// decode makes an event of a message, or nil of one that says nothing.
func decode(queue string, of worqrdb.Channels, channel string, message []byte) Event {
	switch channel {
	case of.Work:
		count, err := strconv.Atoi(string(message))
		if err != nil || count < 1 {
			count = 1 // somebody says that there is work
		}
		return Work{Queue: queue, Count: count}
	case of.Done:
		return decodeDone(queue, message)
	case of.Cancel:
		return Cancelled{Queue: queue, Task: message}
	case of.Delete:
		return Deleted{Queue: queue}
	}
	return nil
}
