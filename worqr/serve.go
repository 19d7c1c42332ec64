package worqr

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
)

// Handler works on a task. Its result, unless it is nil, is told with the end of the task; an error puts the task back
// to the front. ctx ends with that of Serve, and when the process is no longer this worker's or its task was cancelled
// ([context.Cause] says which): what it returns then has no effect.
type Handler func(ctx context.Context, p *Process) (result []byte, err error)

// Serve works on a queue until ctx ends, with up to Options.Concurrency handlers at a time: StartWork, then StartTask,
// the handler and FinishTask or StopTask for each task, then StopWork. It waits to be told of tasks, and looks for
// those of which nobody tells after Options.LookEvery. It returns nil when ctx has ended and all handlers have
// returned, and an error when the client was closed or somebody called StopWork.
//
// A handler that fails is reported as an event [Failed]; Serve starts the next task after RetryAfter then, since that
// may be the same one. A panic counts as an error.
func (c *Client) Serve(ctx context.Context, queue string, handler Handler) error {
	if handler == nil {
		return &InvalidError{What: "handler", Value: "nil", Remedy: "give a function"}
	}
	if err := c.enterBusy(); err != nil {
		return err
	}
	defer c.busy.Done()
	if err := c.StartWork(ctx, queue); err != nil {
		return err
	}
	s := c.served(queue)
	if s == nil {
		return &NotWorkingError{Queue: queue}
	}
	if !s.attend(true) {
		return ErrServed
	}
	defer s.attend(false)
	a := &attendant{client: c, serving: s, handler: handler, slots: make(chan struct{}, c.options.Concurrency)}
	err := a.run(ctx)
	a.handlers.Wait()
	if errors.Is(err, ErrClosed) {
		return err // Close puts everything back
	}
	return errors.Join(err, c.StopWork(context.WithoutCancel(ctx), queue))
}

// attend notes that Serve runs, or no longer. It answers false if it was so before.
func (s *serving) attend(on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.attended
	s.attended = on
	return was != on
}

// attendant is one Serve.
type attendant struct {
	client   *Client
	serving  *serving
	handler  Handler
	slots    chan struct{}
	handlers sync.WaitGroup

	mu    sync.Mutex
	until time.Time // no task is started before: a handler has failed
}

// run takes a task for each free slot. A slot is had first, so that no task waits here.
func (a *attendant) run(ctx context.Context) error {
	for {
		select {
		case a.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		case <-a.client.life.Done():
			return ErrClosed
		}
		p, err := a.take(ctx)
		if p == nil {
			return err
		}
		a.handlers.Go(func() {
			defer func() { <-a.slots }() // also if the handler ends its goroutine
			a.work(ctx, p)
		})
	}
}

// take returns the next task, however long that takes, or nil when there is no more to do.
func (a *attendant) take(ctx context.Context) (*Process, error) {
	for ctx.Err() == nil {
		a.mu.Lock()
		wait := time.Until(a.until)
		a.mu.Unlock()
		if wait > 0 {
			backoff.Pause(ctx, wait)
			continue
		}
		p, err := a.client.StartTask(ctx, a.serving.queue)
		switch {
		case err == nil:
			return p, nil
		case errors.Is(err, ErrEmpty), errors.Is(err, ErrLapsed):
			a.rest(ctx)
		case isGone(err):
			return nil, err
		case ctx.Err() == nil:
			a.fail(err)
		}
	}
	return nil, nil
}

// rest waits until tasks are told of, or until it is time to look: the released program puts tasks back without a word.
func (a *attendant) rest(ctx context.Context) {
	look := time.NewTimer(a.client.options.LookEvery)
	defer look.Stop()
	select {
	case <-a.serving.wake:
	case <-look.C:
	case <-ctx.Done():
	case <-a.client.life.Done(): // StartTask says so
	}
}

// work runs the handler, and settles what came of it even if ctx has ended.
func (a *attendant) work(ctx context.Context, p *Process) {
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })()
	defer context.AfterFunc(a.client.life, func() { cancel(ErrClosed) })()
	var result []byte
	err := errGoexit // unless the handler returns or panics
	defer func() { a.settle(both, p, result, err) }()
	result, err = a.handle(both, p)
}

// settle ends the process, unless that was cancelled or taken away. It tries until that is done, for a task that stays
// behind would have nobody; once ctx has ended only once, since what is left then is put back by StopWork or Close.
func (a *attendant) settle(ctx context.Context, p *Process, result []byte, err error) {
	if p.ctx.Err() != nil {
		return
	}
	end := func(ctx context.Context) error { return p.Finish(ctx, result) }
	if err == nil {
		err = validTask(result)
	}
	if err != nil {
		a.fail(err)
		end = p.Stop
	}
	for failing := false; ; failing = true {
		err := end(context.WithoutCancel(ctx))
		if err == nil || p.ctx.Err() != nil {
			return
		}
		if !failing {
			a.fail(err)
		}
		if !backoff.Pause(ctx, a.client.options.RetryAfter) {
			return
		}
	}
}

var errGoexit = errors.New("the handler ended its goroutine with runtime.Goexit")

// handle calls the handler. One that panics has failed.
func (a *attendant) handle(ctx context.Context, p *Process) (result []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, &PanicError{Value: value, Stack: excerpt.PanicStack()}
		}
	}()
	return a.handler(ctx, p)
}

// fail reports an error, and has the next task wait.
func (a *attendant) fail(err error) {
	a.mu.Lock()
	a.until = time.Now().Add(a.client.options.RetryAfter)
	a.mu.Unlock()
	a.client.told.tell(Failed{Queue: a.serving.queue, Err: err})
}
