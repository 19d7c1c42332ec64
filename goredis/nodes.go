package goredis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// single is one server, or the one that Sentinels name: go-redis asks them where it dials.
type single struct{ client *redis.Client }

func (s single) primary(context.Context, slot) (*redis.Client, error) { return s.client, nil }
func (s single) slotOf([]redisconn.Call) (slot, error)                { return anySlot, nil }
func (s single) look(context.Context)                                 {}
func (s single) lost()                                                {}

func (s single) named() *redis.Client {
	if s.client.Options().Addr != failoverName {
		return nil
	}
	return s.client
}

func (s single) name() string {
	if addr := s.client.Options().Addr; addr != failoverName {
		return addr
	}
	return "the primary that the Sentinels name"
}

// cluster is a Redis Cluster. Calls go to primaries only, whatever the client does with reads.
type cluster struct {
	client *redis.ClusterClient
	home   home

	mu    sync.Mutex
	asked chan struct{} // ends with the answer of a server that is asked now who has what; nil if none is
}

// patience is how long a call waits for that answer. A server that is asked may hang as well.
const patience = time.Second

func (c *cluster) primary(ctx context.Context, of slot) (*redis.Client, error) {
	if of == anySlot {
		of = c.home.slot()
	}
	c.await(ctx)
	return c.client.MasterForKey(ctx, keyIn(of))
}

func (c *cluster) slotOf(calls []redisconn.Call) (slot, error) {
	of, err := slotOf(calls)
	if err == nil && of != anySlot {
		c.home.is(of)
	}
	return of, err
}

// look has go-redis ask a server who has which slots, and waits for the answer, which may take as long as a server that
// hangs does.
func (c *cluster) look(ctx context.Context) {
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		// That it failed shows in the next call.
		_ = c.client.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
	}()
	select {
	case <-asked:
	case <-ctx.Done():
	}
}

// lost begins to ask, unless somebody is being asked already. What is called next waits for the answer: it would go to
// the server that has failed, and wait there for as long as a call may.
func (c *cluster) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != nil {
		return
	}
	asked := make(chan struct{})
	c.asked = asked
	go func() {
		c.look(context.Background())
		c.mu.Lock()
		c.asked = nil
		c.mu.Unlock()
		close(asked)
	}()
}

// await waits for an answer that is on its way.
func (c *cluster) await(ctx context.Context) {
	c.mu.Lock()
	asked := c.asked
	c.mu.Unlock()
	if asked == nil {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-asked:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// named is nil: who has a slot is asked before each call.
func (c *cluster) named() *redis.Client { return nil }

func (c *cluster) name() string {
	if addrs := c.client.Options().Addrs; len(addrs) > 0 {
		return "the cluster of " + addrs[0]
	}
	return "a cluster"
}
