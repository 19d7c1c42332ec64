package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// network is what a fault of the network is done with.
type network struct {
	t      *testing.T
	proxy  *redistest.Proxy
	direct string
}

var networkFaults = []struct {
	name   string
	rounds int
	fault  func(n network)
}{
	{"cut", pick(10, 300), func(n network) { n.proxy.Cut() }},
	{"black-holed", pick(2, 10), func(n network) {
		n.proxy.Pause()
		<-time.After(pick(1500*time.Millisecond, 5*time.Second)) // the fault lasts that long
		n.proxy.Resume()
	}},
	{"slowed", pick(1, 5), func(n network) {
		n.proxy.Slow(10*time.Millisecond, 1024)
		<-time.After(pick(3*time.Second, 15*time.Second)) // as above
		n.proxy.Slow(0, 0)
	}},
	{"half-open", pick(3, 50), func(n network) {
		// there may be none yet: what was fetched ahead ends without
		require.Eventually(n.t, func() bool { return n.proxy.HalfOpen() > 0 }, patience, time.Millisecond)
	}},
	{"CLIENT KILL", pick(10, 300), func(n network) {
		conn, err := redis.DialURL(n.direct)
		require.NoError(n.t, err)
		defer func() { _ = conn.Close() }()
		_, err = conn.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		require.NoError(n.t, err)
	}},
}

// TestFaultNetwork has two workers and an enqueuer, and all of their connections fail again and again.
func TestFaultNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range networkFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Dedicated(t)
			proxy := redistest.NewProxy(t, server.Addr())
			f := newFleetBehind(t, proxy.DSN()+"?read_timeout=500ms&dial_timeout=1s", server.DSN())
			workers := []*process{f.start(10), f.start(10)}
			stop := make(chan struct{})
			stopped := f.enqueueUntil(stop)
			f.ledger.await(t, ended, 0, 50)
			for range c.rounds {
				c.fault(network{t: t, proxy: proxy, direct: server.DSN()})
				f.ledger.await(t, ended, 0, len(f.ledger.of(ended, 0))+20)
			}
			close(stop)
			<-stopped
			f.settled()
			f.once(f.accepted)
			f.explained()
			f.undisturbed()
			for _, worker := range workers {
				assert.Zero(t, worker.terminate())
			}
			f.healthy()
			measured(t, fmt.Sprintf("all connections %s, %d times", c.name, c.rounds),
				"%d acknowledged jobs ran once each", len(f.accepted))
		})
	}
}
