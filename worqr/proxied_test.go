package worqr_test

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/worqr"
)

// proxied is a worker behind a proxy.
func (s *site) proxied(options worqr.Options, queue string) (*worqr.Client, *redistest.Proxy) {
	s.t.Helper()
	proxy := redistest.NewProxy(s.t, s.server.Addr())
	c, err := worqr.Dial(proxy.DSN(), options)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { c.Close() }) // what it says depends on the faults
	require.NoError(s.t, c.Start(s.t.Context()))
	require.NoError(s.t, c.StartWork(s.t.Context(), queue))
	return c, proxy
}

// losing is a worker that loses the reply to the first call of a script, and is told when.
func (s *site) losing(script string, lost func()) *worqr.Client {
	s.t.Helper()
	options := s.options()
	options.Connection = &lossyConnection{driver: s.driver, script: script, lost: lost}
	c, err := worqr.Dial("", options)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	require.NoError(s.t, c.Start(s.t.Context()))
	require.NoError(s.t, c.StartWork(s.t.Context(), "q"))
	return c
}

type lossyConnection struct {
	driver redisconn.Driver
	script string
	once   sync.Once
	lost   func()
}

func (l *lossyConnection) Driver() (redisconn.Driver, error) { return lossyDriver{l.driver, l}, nil }

type lossyDriver struct {
	redisconn.Driver
	connection *lossyConnection
}

func (d lossyDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) (replies []redisconn.Reply, err error) {
	replies, err = d.Driver.Pipeline(ctx, calls...)
	if calls[0].Script != nil && calls[0].Script.Name == d.connection.script {
		d.connection.once.Do(func() {
			replies, err = nil, errors.New("the connection was lost while waiting for the reply")
			d.connection.lost()
		})
	}
	return replies, err
}

// counted is a worker that works on the queue q, and what it sends to Redis but for heartbeats, which have a connection
// of their own.
func (s *site) counted(queues ...string) (*worqr.Client, *roundTrips) {
	s.t.Helper()
	trips := &roundTrips{driver: s.driver}
	options := s.options()
	options.Connection = trips
	c, err := worqr.Dial("", options)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	require.NoError(s.t, c.Start(s.t.Context()))
	for _, queue := range queues {
		require.NoError(s.t, c.StartWork(s.t.Context(), queue))
	}
	return c, trips
}

// roundTrips notes what is sent in each round trip of a driver.
type roundTrips struct {
	driver redisconn.Driver
	mu     sync.Mutex
	seen   []string
}

func (r *roundTrips) Driver() (redisconn.Driver, error) { return countingDriver{r.driver, r}, nil }

type countingDriver struct {
	redisconn.Driver
	trips *roundTrips
}

func (d countingDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	var names []string
	for _, call := range calls {
		if call.Script != nil {
			names = append(names, call.Script.Name)
		} else {
			names = append(names, call.Command)
		}
	}
	d.trips.mu.Lock()
	d.trips.seen = append(d.trips.seen, strings.Join(names, " "))
	d.trips.mu.Unlock()
	return d.Driver.Pipeline(ctx, calls...)
}

// take returns what was sent since it was called last.
func (r *roundTrips) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}
