package goredis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// single is one server, or the one that Sentinels name: go-redis asks them where it dials.
type single struct{ client *redis.Client }

func (s single) primary(context.Context, slot) (*redis.Client, error) { return s.client, nil }
func (s single) slotOf([]redisconn.Call) (slot, error)                { return anySlot, nil }
func (s single) look(context.Context)                                 {}
func (s single) name() string                                         { return s.client.Options().Addr }

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

// look has go-redis ask a server who has which slots, and waits for the answer.
func (c *cluster) look(ctx context.Context) {
	// That it failed shows in the next call.
	_ = c.client.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
}

func (c *cluster) name() string {
	if addrs := c.client.Options().Addrs; len(addrs) > 0 {
		return "the cluster of " + addrs[0]
	}
	return "a cluster"
}

// moved tells whether a server has answered that a slot is another's now, or about to be.
func moved(replies []redisconn.Reply) bool {
	for i := range replies {
		if replies[i].Err != nil && isMoved(replies[i].Err) {
			return true
		}
	}
	return false
}

func isMoved(err error) bool {
	var refused *redisconn.ServerError
	return errors.As(err, &refused) && (refused.Code == "MOVED" || refused.Code == "ASK")
}

// movedWhole tells whether nothing of a pipeline was run because its slot is another server's, so that all of it can be
// sent there in its order. A WAIT has waited for nothing then.
func movedWhole(calls []redisconn.Call, replies []redisconn.Reply) bool {
	for i := range replies {
		var refused *redisconn.ServerError
		if calls[i].Command != "WAIT" && (!errors.As(replies[i].Err, &refused) || refused.Code != "MOVED") {
			return false
		}
	}
	return true
}
