// Package serverfit looks whether a Redis is fit for a pool, when that begins to work in a partition. Whether its user
// has the rights is asked by package rights.
package serverfit

import (
	"context"
	"fmt"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
)

// Check looks at what Redis says of itself. A server that is too old is an *invalid.Error, since scripts would fail in
// the middle of the work. One that may evict keys would drop jobs at full memory, and is told.
func Check(ctx context.Context, store *rdb.Store, partition int, emit func(event.Event)) error {
	facts, err := store.Server(ctx)
	if err != nil {
		return err
	}
	if facts.TooOld() {
		return &invalid.Error{
			What: "the version of Redis", Value: facts.Version, Remedy: "use " + rdb.MinVersion + " or newer",
		}
	}
	if facts.EvictionPolicy != "" && facts.EvictionPolicy != "noeviction" {
		emit(event.ServerUnfit{
			Problem: fmt.Sprintf("its maxmemory-policy is %s: when its memory is full it drops keys, and jobs with "+
				"them", facts.EvictionPolicy),
			Remedy: "CONFIG SET maxmemory-policy noeviction", Partition: partition,
		})
	}
	if facts.Mode == "cluster" && !store.Follows() {
		emit(event.ServerUnfit{
			Problem: "it is a node of a cluster, and the DSN or client is for one server: when the slot of this " +
				"namespace moves, or this node fails, nothing runs",
			Remedy:    "redis+cluster://HOST:PORT,HOST:PORT with package goredis, or a redis.ClusterClient",
			Partition: partition,
		})
	}
	return nil
}
