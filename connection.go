package work

import (
	"errors"

	"github.com/gomodule/redigo/redis"

	"github.com/265d0351/work/internal/redisconn"
)

// Connection is a client for Redis that the program made itself, for [WithConnection] and [WorkerOptions]. It comes
// from [Redigo], or from the module github.com/265d0351/work/goredis. It may be given to several enqueuers and pools,
// and is not closed by them.
type Connection interface {
	// Driver is for this package and those beside it, which take a Connection too.
	Driver() (redisconn.Driver, error)
}

// Redigo makes a Connection of a pool. Its limits are respected; connections that must not wait for others (the
// heartbeat, blocking calls) are made with the pool's DialContext or Dial, outside its limit.
func Redigo(pool *redis.Pool) Connection { return redigoConnection{pool} }

type redigoConnection struct{ pool *redis.Pool }

func (c redigoConnection) Driver() (redisconn.Driver, error) { return redisconn.FromPool(c.pool) }

// openConnection returns the driver of a DSN or of a Connection, of which exactly one must be given. It dials nothing.
// The driver is the caller's to close where it is owned.
func openConnection(dsn string, c Connection) (driver redisconn.Driver, owned bool, err error) {
	switch {
	case dsn == "" && c == nil:
		return nil, false, errors.New("no Redis is named: give a DSN such as redis://localhost:6379/0, or a Connection")
	case dsn != "" && c != nil:
		return nil, false, errors.New("both a DSN and a Connection are given: leave one out")
	case c != nil:
		driver, err = c.Driver()
		return driver, false, err
	}
	driver, err = redisconn.Open(dsn)
	return driver, err == nil, err
}
