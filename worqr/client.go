package worqr

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Client is a producer, and after Start a worker as well. Its methods may be called concurrently.
type Client struct {
	options Options
	driver  redisconn.Driver
	owned   bool
	store   *worqrdb.Store
	lanes   chan *lane
	told    audience

	life    context.Context    // ends with Close
	end     context.CancelFunc // idempotent
	busy    sync.WaitGroup     // Serve and Watch
	desk    chan struct{}      // held by the one who changes which queues are served
	beating lifecycle.Loop
	cleans  lifecycle.Loop
	debugs  lifecycle.Loop

	mu     sync.Mutex
	phase  phase
	worker worqrdb.Worker // while started; another registration after a lapse
	// when the registration was sent that was made last
	standsFrom time.Time
	// while Start or a restart has not ended: perhaps registered, by a call that was not answered
	next     worqrdb.Worker
	serving  map[string]*serving // by queue
	held     map[string]*Process // by id
	doubtful []worqrdb.Process   // started, perhaps, and nobody waits for the answer
}

// phase is how far the life of a client has come.
type phase int

const (
	dialled phase = iota
	starting
	started
	closed
)

// Dial returns a client for the Redis of a DSN (redis://, rediss://, unix://, and memory:// with a blank import of
// embedded). It checks the options; connections are made when they are needed.
func Dial(dsn string, opts Options) (*Client, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	driver, err := open(dsn, opts.Connection)
	if err != nil {
		return nil, err
	}
	c := &Client{
		options: opts, driver: driver, owned: opts.Connection == nil, store: worqrdb.New(driver, opts.Prefix),
		lanes: newLanes(), desk: make(chan struct{}, 1),
		serving: map[string]*serving{}, held: map[string]*Process{},
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.beating.Run, c.cleans.Run, c.debugs.Run = c.beatAlways, c.cleanAlways, c.debugAlways
	return c, nil
}

func open(dsn string, given Connection) (redisconn.Driver, error) {
	switch {
	case dsn == "" && given == nil:
		return nil, &InvalidError{What: "DSN", Value: `""`,
			Remedy: "give one such as redis://localhost:6379/0, or a Connection"}
	case dsn != "" && given != nil:
		return nil, &InvalidError{What: "DSN", Value: "beside a Connection", Remedy: "leave one of them out"}
	case given != nil:
		return given.Driver()
	}
	return redisconn.Open(dsn)
}

// Worker is the id of the client's worker, "" before Start.
func (c *Client) Worker() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worker.ID
}

// Events yields what happens from the call on: what is told of the queues that the client works on, and what concerns
// its worker. It ends with ctx or Close. A reader that is too slow misses the oldest, and is told so.
func (c *Client) Events(ctx context.Context) iter.Seq[Event] {
	l := c.told.join(c.options.EventBuffer)
	context.AfterFunc(ctx, func() { c.told.leave(l) })
	return l.all(ctx, c.life)
}

// Close ends the worker: its tasks go back to the front of their queues, and nobody finds it dead. Then it frees the
// connections. It waits for handlers of Serve, whose contexts end. A second Close does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	was := c.phase
	c.phase = closed
	c.mu.Unlock()
	if was == closed {
		return nil
	}
	c.end()
	c.busy.Wait()
	for _, loop := range []*lifecycle.Loop{&c.beating, &c.cleans, &c.debugs} {
		loop.Stop()
		<-loop.Done()
	}
	c.stopListening()
	err := c.retire(was)
	if c.owned {
		err = errors.Join(err, c.driver.Close())
	}
	return err
}

// retire gives back what the worker holds, and removes it.
func (c *Client) retire(was phase) error {
	if was != started {
		return nil
	}
	c.dismiss(ErrClosed)
	_, err := c.failWorker(context.Background(), c.Worker(), true)
	if errors.Is(err, ErrWorkerUnknown) {
		return nil // it was failed by somebody
	}
	return err
}

// dismiss ends the contexts of all processes.
func (c *Client) dismiss(cause error) {
	c.mu.Lock()
	held := c.held
	c.held = map[string]*Process{}
	c.mu.Unlock()
	for _, p := range held {
		p.end(cause)
	}
}
