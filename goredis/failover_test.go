package goredis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/drivertest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/redistest/topology"
)

// A server that fails has the others asked at once who took over, and the next call waits for what they say.
func TestACallAfterAFailureGoesToWhoTookOver(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		gone, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, gone.Close()) // nobody is there
		answer := make(chan struct{})
		var asked atomic.Int32
		d, err := owned(redis.NewClusterClient(&redis.ClusterOptions{MaxRetries: -1,
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				addr := gone.Addr().String()
				if asked.Add(1) > 1 {
					<-answer
					addr = s.Addr()
				}
				return []redis.ClusterSlot{{End: int(slots) - 1, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
			}}))
		require.NoError(t, err)
		defer d.Close() //lint:ignore errcheck the end of the test
		key := redistest.Namespace(t)
		var unsent *redisconn.DialError
		_, err = d.Pipeline(t.Context(), increment(key))
		require.ErrorAs(t, err, &unsent)
		ended := make(chan error, 1)
		go func() {
			_, err := d.Pipeline(t.Context(), increment(key))
			ended <- err
		}()
		select {
		case err := <-ended:
			require.FailNow(t, "it did not wait", "%v", err)
		case <-time.After(50 * time.Millisecond): // so long the servers do not know
		}
		close(answer)
		require.NoError(t, <-ended)
		assert.Equal(t, int32(2), asked.Load())
	})
}

// standing is a connection that blocks, and a subscription, as a pool has them.
type standing struct {
	conn        redisconn.Conn
	popped      chan error
	unsubscribe chan error
}

// stand has both at the primary of a slot.
func stand(t *testing.T, d redisconn.Driver, at *topology.Server) standing {
	t.Helper()
	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() }) //lint:ignore errcheck the end of the test
	s := standing{conn: conn, popped: make(chan error, 1), unsubscribe: make(chan error, 1)}
	go func() {
		replies, err := conn.Pipeline(context.WithoutCancel(t.Context()), redisconn.Call{Command: "BLPOP",
			Keys: []string{"{shop}:list"}, Args: []any{"10"}, Block: 10 * time.Second})
		if err == nil {
			err = replies[0].Err
		}
		s.popped <- err
	}()
	ready := make(chan struct{})
	go func() {
		s.unsubscribe <- d.Subscribe(t.Context(), "{shop}:control", func() { close(ready) }, func([]byte) {})
	}()
	select {
	case <-ready:
	case err := <-s.unsubscribe:
		require.FailNow(t, "it never stood", "%v", err)
	}
	require.Eventually(t, func() bool { return at.Info("blocked_clients") == "1" }, time.Minute, time.Millisecond)
	return s
}

// reaches makes calls, of which none is sent again here, until one runs at that server, and tells how long that took.
func reaches(t *testing.T, d redisconn.Driver, server *topology.Server) time.Duration {
	t.Helper()
	begin := time.Now()
	run := server.Info("run_id")
	require.NotEmpty(t, run)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		replies, err := d.Pipeline(ctx, increment("{shop}:n"), redisconn.Call{Command: "INFO", Args: []any{"server"}})
		if err != nil || replies[0].Err != nil {
			assert.True(t, again(err) && (err != nil || again(replies[0].Err)), "%v %v", err, replies)
			return false
		}
		info, _ := replies[1].Value.([]byte)
		return assert.Contains(t, string(info), "run_id:"+run, "nothing is written anywhere else")
	}, time.Minute, time.Millisecond)
	return time.Since(begin)
}

func again(err error) bool { return err == nil || redisconn.Classify(err).Again }

// over is a kind of fault, and what undoes it.
var over = map[string]struct{ fault, undo func(*topology.Server) }{
	"killed": {(*topology.Server).Kill, (*topology.Server).Restart},
	"hangs":  {func(s *topology.Server) { s.Pause() }, (*topology.Server).Resume},
}

// A primary of a cluster dies, or hangs, which no connection notices by itself. What stood at it ends, the driver finds
// the replica that took over, and the old one is not used when it is back.
func TestAFailoverOfAClusterIsFollowed(t *testing.T) {
	t.Parallel()
	for name, row := range over {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := topology.StartCluster(t, topology.ClusterOptions{})
			slot := topology.Slot("{shop}:")
			old := c.Owner(slot)
			c.AddReplica(old)
			d, err := redisconn.Open(c.DSN())
			require.NoError(t, err)
			defer d.Close() //lint:ignore errcheck the end of the test
			d.(*ownDriver).probeEvery, d.(*ownDriver).silence = time.Second, 5*time.Second
			drivertest.Do(t, d, "INCR", "{shop}:n")
			s := stand(t, d, old)
			begin := time.Now()
			row.fault(old)
			promoted := c.AwaitPromotion(slot, old)
			took := time.Since(begin)
			t.Logf("promoted after %v, reached %v later", took, reaches(t, d, promoted))
			follows(t, d, s, promoted)
			row.undo(old)
			c.AwaitReplica(slot, old)
			reaches(t, d, promoted)
		})
	}
}

// The same of a primary that Sentinels watch, by a client that a program has.
func TestAFailoverBySentinelsIsFollowed(t *testing.T) {
	t.Parallel()
	for name, row := range over {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := topology.StartSentinels(t, topology.SentinelOptions{Replicas: 1})
			var sentinels []string
			for _, watcher := range servers.Watchers {
				sentinels = append(sentinels, watcher.Addr())
			}
			d, err := owned(redis.NewFailoverClient(&redis.FailoverOptions{MasterName: topology.Master,
				SentinelAddrs: sentinels}))
			require.NoError(t, err)
			defer d.Close() //lint:ignore errcheck the end of the test
			setProbe(d, time.Second, 5*time.Second)
			drivertest.Do(t, d, "INCR", "{shop}:n")
			old := servers.Primary()
			s := stand(t, d, old)
			begin := time.Now()
			row.fault(old)
			promoted := servers.AwaitPromotion(old)
			took := time.Since(begin)
			require.Equal(t, promoted, servers.Hold(), "replaced again at once")
			t.Logf("promoted after %v, reached %v later", took, reaches(t, d, promoted))
			row.undo(old)
			servers.AwaitReplica(old)
			follows(t, d, s, promoted)
			reaches(t, d, promoted)
		})
	}
}

// follows waits until what stood has ended, or its block is over, and makes both anew: they stand at the new primary.
// One that has hung may answer its last call when it is back; the next one is refused, or made elsewhere.
func follows(t *testing.T, d redisconn.Driver, s standing, promoted *topology.Server) {
	t.Helper()
	if err := <-s.popped; err == nil || !s.conn.Broken() {
		replies, err := s.conn.Pipeline(t.Context(), increment("{shop}:n"))
		if err == nil && replies[0].Err == nil {
			info := drivertest.Do(t, s.conn, "INFO", "server").([]byte)
			require.Contains(t, string(info), "run_id:"+promoted.Info("run_id"))
		}
	}
	var next standing
	require.Eventually(t, func() bool {
		conn, err := d.Dial(t.Context())
		if err != nil {
			return assert.True(t, again(err), "%v", err) && false
		}
		return assert.NoError(t, conn.Close())
	}, time.Minute, time.Millisecond)
	next = stand(t, d, promoted)
	drivertest.Do(t, d, "RPUSH", "{shop}:list", "x")
	require.NoError(t, <-next.popped)
	select {
	case err := <-s.unsubscribe:
		require.Error(t, err)
		assert.False(t, errors.Is(err, redisconn.ErrClosed))
	case <-time.After(time.Minute):
		assert.Fail(t, "a subscription to a server that hangs goes on")
	}
}
