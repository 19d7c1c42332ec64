package goredis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// single is one server, or the one that Sentinels name: go-redis asks them where it dials.
type single struct{ client *redis.Client }

func (s single) primary(context.Context, slot) (*redis.Client, error) { return s.client, nil }
func (s single) slotOf([]redisconn.Call) (slot, error)                { return anySlot, nil }
func (s single) look(context.Context)                                 {}
func (s single) lost()                                                {}

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
}

func (c *cluster) primary(ctx context.Context, of slot) (*redis.Client, error) {
	if of == anySlot {
		of = c.home.slot()
	}
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

// lost does so too, at most five times a second.
func (c *cluster) lost() { c.client.ReloadState(context.Background()) }

func (c *cluster) name() string {
	if addrs := c.client.Options().Addrs; len(addrs) > 0 {
		return "the cluster of " + addrs[0]
	}
	return "a cluster"
}
