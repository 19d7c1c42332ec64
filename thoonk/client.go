package thoonk

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/265d0351/work/internal/ids"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Client is one instance of Thoonk: a program's view of all feeds below one key prefix. Its methods may be called
// concurrently.
type Client struct {
	store    *thoonkdb.Store
	prefix   string
	instance string
	idle     chan redisconn.Conn // connections for waiting that nobody uses
	waits    func()              // is told that a wait begins; tests listen
	kinds    map[Kind]ownKind    // is read only, once the client is open

	life     context.Context    // ends with Close
	end      context.CancelFunc // idempotent
	gate     sync.Mutex         // of watchers: none is added once the client is closed
	watchers sync.WaitGroup     // goroutines that wait for the ends of jobs
	once     sync.Once
	err      error // of Close
}

// ownKind is a kind that the program has added.
type ownKind struct {
	base Kind
	open func(ctx context.Context, name string) (feed any, err error) // nil: as the base
}

// Option changes how a [Client] is opened.
type Option func(*Client) error

// Prefix puts a text before the names of all keys and channels. The default is none. "{shop}:" puts all keys into one
// slot of a cluster.
func Prefix(prefix string) Option {
	return func(c *Client) error {
		c.prefix = prefix
		return nil
	}
}

// Instance is the name that this client gives itself in events about feeds. The default is a random one.
func Instance(id string) Option {
	return func(c *Client) error {
		if id == "" || strings.ContainsRune(id, 0) {
			return &NameError{What: "instance", Name: id,
				Reason: "must not be empty nor hold a NUL, which ends it in events"}
		}
		c.instance = id
		return nil
	}
}

// idleConnections is how many connections for waiting are kept for the next one who waits.
const idleConnections = 4

// Open makes a client of the Redis that the DSN names: redis://, rediss:// and unix:// with their options, or memory://
// where the package embedded is imported. It dials nothing.
func Open(dsn string, options ...Option) (*Client, error) {
	c := &Client{instance: ids.UUID(), idle: make(chan redisconn.Conn, idleConnections), waits: func() {},
		kinds: map[Kind]ownKind{}}
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, err
		}
	}
	driver, err := redisconn.Open(dsn)
	if err != nil {
		return nil, err
	}
	c.store = thoonkdb.NewStore(driver, c.prefix)
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Instance is the name of this client in events about feeds.
func (c *Client) Instance() string { return c.instance }

// watch runs loops that end with the client, and that Close waits for. It returns false where that is closed.
func (c *Client) watch(loops ...func()) bool {
	c.gate.Lock()
	defer c.gate.Unlock()
	if c.life.Err() != nil {
		return false
	}
	for _, loop := range loops {
		c.watchers.Go(loop)
	}
	return true
}

// Close ends all calls that wait and all subscriptions, with [ErrClosed]; later calls fail with it. What has been
// claimed stays claimed. A second Close does nothing more.
func (c *Client) Close() error {
	c.once.Do(func() {
		c.gate.Lock()
		c.end()
		c.gate.Unlock()
		c.watchers.Wait()
		c.dropIdle()
		c.err = c.store.Driver().Close()
	})
	return c.err
}

func (c *Client) dropIdle() {
	for {
		select {
		case conn := <-c.idle:
			conn.Close() //lint:ignore errcheck nobody uses it
		default:
			return
		}
	}
}

// within returns a ctx that ends with the caller's and with the client.
func (c *Client) within(ctx context.Context) (joined context.Context, end func()) {
	if ctx.Value(spared{}) != nil {
		return ctx, func() {}
	}
	joined, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return joined, func() {
		stop()
		cancel()
	}
}

// base is what a kind is kept as, or the kind itself where this client was not told of it.
func (c *Client) base(kind Kind) Kind {
	if own, ok := c.kinds[kind]; ok {
		return own.base
	}
	return kind
}

// about makes calls that concern one feed, of whatever kind.
func (c *Client) about(ctx context.Context, name string, do func(ctx context.Context, db *thoonkdb.Feed) error) error {
	if err := checkName("feed", name); err != nil {
		return c.explained(name, err)
	}
	if c.life.Err() != nil {
		return c.explained(name, ErrClosed)
	}
	ctx, end := c.within(ctx)
	defer end()
	return c.explained(name, do(ctx, c.store.Feed(name)))
}

// explained says which feed an error is about, and what it means.
func (c *Client) explained(feed string, err error) error {
	var told *FeedError
	var form *thoonkdb.FormError
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case errors.Is(err, thoonkdb.ErrNoFeed):
		err = ErrNoFeed
	case errors.As(err, &form):
		err = &FormError{Key: form.Key, Found: form.Found, Want: strings.Join(form.Want, " or ")}
	case c.life.Err() != nil && (errors.Is(err, redisconn.ErrClosed) || errors.Is(err, context.Canceled)):
		err = ErrClosed
	}
	return &FeedError{Feed: feed, Err: err}
}
