package topology

import (
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Pair is a primary with one replica, which nobody watches: it is there sooner than what Sentinels watch, and spends
// nothing on them.
type Pair struct {
	Primary, Replica *Server

	t     testing.TB
	links *links
}

// StartPair returns when the replica follows.
func StartPair(t testing.TB) *Pair {
	t.Helper()
	p := &Pair{t: t, links: newLinks()}
	p.Primary, p.Replica = p.links.start(t, plain, ""), p.links.start(t, plain, "")
	host, port, err := net.SplitHostPort(p.Primary.Addr())
	p.Primary.check(err)
	p.Replica.must("REPLICAOF", host, port)
	c := catchUp{}
	await(t, "a replica that follows", func() error { return c.follows(p.Replica, p.Primary) })
	return p
}

// Lag makes the replica be that far behind the primary. 0 ends it.
func (p *Pair) Lag(lag time.Duration) { p.links.change(func() { p.links.lag = lag }) }

// Empty removes all data, and returns when the replica has done so too.
func (p *Pair) Empty() {
	p.t.Helper()
	conn, err := p.Primary.dial()
	p.Primary.check(err)
	defer conn.Close()
	_, err = conn.Do("FLUSHALL")
	p.Primary.check(err)
	confirmed, err := redis.Int(redis.DoWithTimeout(conn, 2*patience, "WAIT", 1, patience.Milliseconds()))
	p.Primary.check(err)
	if confirmed != 1 {
		p.t.Fatalf("%s has not followed %s after %v", p.Replica.Addr(), p.Primary.Addr(), patience)
	}
}
