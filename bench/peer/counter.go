package peer

import (
	"sync"

	"github.com/gomodule/redigo/redis"
)

// keyCount is a command that counts what one key holds: LLEN, HLEN, ZCARD.
type keyCount struct{ command, key string }

// counter sums what several keys of a Redis hold, in one transaction, so that a job on its way from one to another is
// not missed.
type counter struct {
	addr string
	keys []keyCount

	mu   sync.Mutex
	conn redis.Conn
}

func newCounter(addr string, keys []keyCount) *counter { return &counter{addr: addr, keys: keys} }

func (c *counter) sum() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		conn, err := redis.Dial("tcp", c.addr)
		if err != nil {
			return 0, err
		}
		c.conn = conn
	}
	c.conn.Send("MULTI") //lint:ignore errcheck Do tells the errors of what was sent before
	for _, k := range c.keys {
		c.conn.Send(k.command, k.key) //lint:ignore errcheck as above
	}
	counts, err := redis.Ints(c.conn.Do("EXEC"))
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, err
}

func (c *counter) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.Close() //lint:ignore errcheck nothing is outstanding
	}
}
