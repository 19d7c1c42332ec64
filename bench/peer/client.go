package peer

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work"
	"github.com/265d0351/work/bench/peer/rueidisdriver"
	"github.com/265d0351/work/goredis"
	"github.com/265d0351/work/internal/redisconn"
)

// Client is what this library speaks to Redis with.
type Client string

// The clients: that of a DSN, and two in its place.
const (
	Redigo  Client = ""
	GoRedis Client = "go-redis"
	Rueidis Client = "rueidis"
)

// Driven is this library among itself with other clients, by whose names it goes.
type Driven struct{ Work }

// Drivers are this library with each client, that of a DSN first.
func Drivers() []Library {
	return []Library{Driven{Work{Redigo}}, Driven{Work{GoRedis}}, Driven{Work{Rueidis}}}
}

// Name is that of the client.
func (d Driven) Name() string {
	if d.Client == Redigo {
		return "redigo"
	}
	return string(d.Client)
}

// Module is that of the client.
func (d Driven) Module() string {
	return map[Client]string{
		Redigo: "github.com/gomodule/redigo", GoRedis: "github.com/redis/go-redis/v9",
		Rueidis: "github.com/redis/rueidis",
	}[d.Client]
}

// Config says how the client is made.
func (d Driven) Config() []string {
	return []string{map[Client]string{
		Redigo:  "of a DSN, with the defaults of every option",
		GoRedis: "goredis.Connection, a client with the pool and timeouts of a DSN, shared by enqueuer and pool",
		Rueidis: "a driver for this measurement alone, in version 2 of the protocol, without cache and repetitions, " +
			"else with the defaults of every option; shared by enqueuer and pool",
	}[d.Client]}
}

// connect makes the client. Redigo has none but its DSN.
func (c Client) connect(addr string) (connection work.Connection, end func() error, err error) {
	switch c {
	case Redigo:
		return nil, func() error { return nil }, nil
	case GoRedis:
		client := redis.NewClient(&redis.Options{
			Addr: addr, PoolSize: 32, DialTimeout: 2 * time.Second, ReadTimeout: 3 * time.Second,
			WriteTimeout: 3 * time.Second,
		})
		return goredis.Connection(client), client.Close, nil
	case Rueidis:
		driver, err := rueidisdriver.Open(addr)
		if err != nil {
			return nil, nil, err
		}
		return lent{driver}, driver.Close, nil
	}
	return nil, nil, fmt.Errorf("there is no client %q", string(c))
}

// lent is a driver that several use, none of whom closes it.
type lent struct{ driver redisconn.Driver }

func (l lent) Driver() (redisconn.Driver, error) { return leftOpen{l.driver}, nil }

type leftOpen struct{ redisconn.Driver }

func (leftOpen) Close() error { return nil }

// Replay opens what the scripts can be called on without a pool. The caller ends it.
func (w Work) Replay(place Place) (driver redisconn.Driver, end func() error, err error) {
	connection, end, err := w.Client.connect(place.Redis)
	if err != nil {
		return nil, nil, err
	}
	if connection == nil {
		driver, err = redisconn.Open("redis://" + place.Redis + "/0")
		if err != nil {
			return nil, nil, err
		}
		return driver, driver.Close, nil
	}
	driver, err = connection.Driver()
	return driver, end, err
}
