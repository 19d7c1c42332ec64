package work

import (
	"context"

	"github.com/265d0351/work/internal/rdb"
)

// Enqueuer returns an Enqueuer that shares the pool's connection; it also refuses args that the registered handler
// could not take, and has WorkerOptions.EnqueueMiddleware around it. It works before Start, and until Stop has ended.
// If the pool's Redis options are wrong, each of its calls returns that error. Its Close is the pool's matter: the
// program need not call it.
func (p *WorkerPool) Enqueuer() *Enqueuer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enqueuer != nil {
		return p.enqueuer
	}
	err := ErrClosed
	if !p.closed {
		err = p.open()
	}
	store := p.store
	if err != nil {
		store = rdb.NewStore(unopened{err}, p.options.Namespace)
	}
	p.enqueuer = newEnqueuer(store, 0, p.options.MaxArgsSize, p.checkArgs)
	p.enqueuer.useObjects(p.options.ObjectHome, p.options.LargeArgs)
	p.enqueuer.settings.err = err
	p.enqueuer.core.unique = p.uniqueOf
	p.enqueuer.wrapIn(p.options.EnqueueMiddleware)
	if p.closed {
		_ = p.enqueuer.Close() // it has nothing to lose
	}
	return p.enqueuer
}

// uniqueOf are the options with which the jobs of that name are registered; nil where they are not unique.
func (p *WorkerPool) uniqueOf(name string) *UniqueOptions {
	if registration := p.registered[name]; registration != nil {
		return registration.options.Unique
	}
	return nil
}

// checkArgs tells whether the handler registered for that name could take the args. Names that are not registered here
// are somebody else's.
func (p *WorkerPool) checkArgs(name string, args []byte) error {
	registration := p.registered[name]
	if registration == nil || registration.handler == nil {
		return nil
	}
	return registration.handler.checkArgs(args)
}

// unopened is the driver of a pool whose Redis options are wrong. It refuses as a server does that will not change its
// mind: nobody tries again.
type unopened struct{ err error }

func (u unopened) refusal() error { return &rdb.ServerError{Message: u.err.Error()} }

func (u unopened) Pipeline(context.Context, ...rdb.Call) ([]rdb.Reply, error) {
	return nil, u.refusal()
}
func (u unopened) Dial(context.Context) (rdb.Conn, error) { return nil, u.refusal() }
func (u unopened) Close() error                           { return nil }
func (u unopened) Subscribe(context.Context, string, func(), func([]byte)) error {
	return u.refusal()
}
func (u unopened) SubscribeAll(context.Context, []string, func(), func(string, []byte)) error {
	return u.refusal()
}
func (u unopened) SubscribePatterns(context.Context, []string, func(), func(string, []byte)) error {
	return u.refusal()
}
