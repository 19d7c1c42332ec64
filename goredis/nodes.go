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
func (s single) lost(string)                                          {}

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

	mu     sync.Mutex
	asked  chan struct{}   // ends with the answer of a server that is asked now who has what; nil if none is
	failed map[string]bool // the addresses of the servers for whose sake it is asked
}

// patience is how long a call to a server that has failed waits for that answer. A server that is asked may hang as
// well.
const patience = time.Second

func (c *cluster) primary(ctx context.Context, of slot) (*redis.Client, error) {
	if of == anySlot {
		of = c.home.slot()
	}
	node, err := c.client.MasterForKey(ctx, keyIn(of))
	if asked := c.asking(node, err); asked != nil {
		await(ctx, asked)
		return c.client.MasterForKey(ctx, keyIn(of))
	}
	return node, err
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

// lost begins to ask for the sake of a server that has failed, unless somebody is being asked already. What is called
// next of what it has waits for the answer: it would go to that server, and wait there for as long as a call may. Calls
// to others go on: they have other partitions, or other namespaces.
func (c *cluster) lost(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != nil {
		c.failed[server] = true
		return
	}
	asked := make(chan struct{})
	c.asked, c.failed = asked, map[string]bool{server: true}
	go func() {
		c.look(context.Background())
		c.mu.Lock()
		c.asked, c.failed = nil, nil
		c.mu.Unlock()
		close(asked)
	}()
}

// asking is the answer that a call must wait for: its server has failed, or nobody knows which it is. It is nil where
// it need not.
func (c *cluster) asking(node *redis.Client, err error) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && !c.failed[node.Options().Addr] {
		return nil
	}
	return c.asked
}

// await waits for an answer that is on its way.
func await(ctx context.Context, asked chan struct{}) {
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
