package goredis

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redisconn"
)

// Connection makes a Connection of a client that the program has: a *redis.Client, also one of NewFailoverClient, or a
// *redis.ClusterClient. It may be given to several enqueuers and pools, and the client is closed by none of them. What
// cannot be used is refused where the Connection is used first, with the reason: a *redis.Ring, an AutoPipeliner, nil.
func Connection(client redis.UniversalClient) work.Connection { return connection{client} }

type connection struct{ client redis.UniversalClient }

func (c connection) Driver() (redisconn.Driver, error) {
	if c.client == nil || reflect.ValueOf(c.client).Kind() == reflect.Pointer && reflect.ValueOf(c.client).IsNil() {
		return nil, errors.New("the client of go-redis is nil: give one, or a DSN instead")
	}
	switch client := c.client.(type) {
	case *redis.Client:
		d := newDriver(single{client})
		d.signpost = signpostOf(client)
		return d, nil
	case *redis.ClusterClient:
		return newDriver(&cluster{client: client}), nil
	case *redis.Ring:
		return nil, errors.New("a redis.Ring cannot be used: it moves keys to another server when one does not " +
			"answer, and jobs would be lost or run twice; give a redis.Client or a redis.ClusterClient")
	case *redis.AutoPipeliner:
		return nil, errors.New("a redis.AutoPipeliner cannot be used: it sends again what may have run; give the " +
			"client that it was made of")
	}
	return nil, fmt.Errorf("a %T cannot be used: give a *redis.Client or a *redis.ClusterClient of go-redis", c.client)
}
