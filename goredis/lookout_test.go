package goredis

import (
	"context"
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

// idler is what an idle worker has: a connection between two heartbeats, one that blocks, and a subscription. None of
// them hears of a primary that is replaced while it answers, and the blocking one would wait for longer than the test.
type idler struct {
	beats       redisconn.Conn
	popped      chan error
	unsubscribe chan error
}

func idle(t *testing.T, d redisconn.Driver) idler {
	t.Helper()
	i := idler{popped: make(chan error, 1), unsubscribe: make(chan error, 1)}
	blocks, err := d.Dial(t.Context())
	require.NoError(t, err)
	i.beats, err = d.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { blocks.Close(); i.beats.Close() }) //lint:ignore errcheck the end of the test
	go func() {
		replies, err := blocks.Pipeline(t.Context(), redisconn.Call{Command: "BLPOP",
			Keys: []string{"{shop}:list"}, Args: []any{"120"}, Block: 2 * time.Minute})
		if err == nil {
			err = replies[0].Err
		}
		i.popped <- err
	}()
	ready := make(chan struct{})
	go func() {
		i.unsubscribe <- d.Subscribe(t.Context(), "{shop}:control", func() { close(ready) }, func([]byte) {})
	}()
	select {
	case <-ready:
	case err := <-i.unsubscribe:
		require.FailNow(t, "it never stood", "%v", err)
	}
	return i
}

// leaves waits until nothing of an idle worker is where it was.
func (i idler) leaves(t *testing.T) {
	t.Helper()
	late, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for what, ended := range map[string]chan error{"a call that blocks": i.popped, "a subscription": i.unsubscribe} {
		select {
		case err := <-ended:
			assert.Error(t, err, what)
		case <-late.Done():
			assert.Fail(t, "stays with the old primary", what)
		}
	}
	assert.Eventually(t, func() bool { return i.beats.Broken() || late.Err() != nil }, time.Minute, time.Millisecond)
	assert.True(t, i.beats.Broken(), "an idle connection stays with the old primary")
}

// A primary that only its clients reach is replaced, and accepts writes for as long as nobody tells it: they would be
// lost with it.
func TestAPrimaryThatOnlyItsClientsReachIsLeft(t *testing.T) {
	t.Parallel()
	servers := topology.StartSentinels(t, topology.SentinelOptions{})
	var sentinels []string
	for _, watcher := range servers.Watchers {
		sentinels = append(sentinels, watcher.Addr())
	}
	byDSN, err := redisconn.Open(servers.DSN())
	require.NoError(t, err)
	defer byDSN.Close() //lint:ignore errcheck the end of the test
	byClient, err := owned(redis.NewFailoverClient(&redis.FailoverOptions{MasterName: topology.Master,
		SentinelAddrs: sentinels}))
	require.NoError(t, err)
	defer byClient.Close() //lint:ignore errcheck the end of the test
	old := servers.Primary()
	workers := map[redisconn.Driver]idler{byDSN: idle(t, byDSN), byClient: idle(t, byClient)}
	require.Eventually(t, func() bool { return old.Info("blocked_clients") == "2" }, time.Minute, time.Millisecond)
	old.Isolate()
	promoted := servers.AwaitPromotion(old)
	begin := time.Now()
	for d, worker := range workers {
		worker.leaves(t)
		t.Logf("%T: left %v after the promotion", d, time.Since(begin))
		conn, err := d.Dial(t.Context())
		require.NoError(t, err)
		info := drivertest.Do(t, conn, "INFO", "server").([]byte)
		assert.Contains(t, string(info), "run_id:"+promoted.Info("run_id"))
		require.NoError(t, conn.Close())
	}
	assert.Equal(t, "master", old.Info("role"), "it never learned of it, so nothing but the looks can have told")
	old.Heal()
}

// What is with the primary stays there, nobody looks when nothing is open, and again when something is.
func TestALookoutBreaksWhatIsElsewhereAlone(t *testing.T) {
	t.Parallel()
	old, next := redistest.Embedded(t), redistest.Embedded(t)
	var named atomic.Value
	var dials atomic.Int32
	named.Store(old.Addr())
	_, d := given(t, failoverName, func(opt *redis.Options) {
		opt.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, named.Load().(string))
		}
	})
	l := d.(ownerOf).lookout
	l.every = time.Millisecond
	looked := func() {
		begin := dials.Load()
		require.Eventually(t, func() bool { return dials.Load() > begin+3 }, time.Minute, time.Millisecond)
	}
	resting := func() bool { l.mu.Lock(); defer l.mu.Unlock(); return !l.looking && len(l.wires) == 0 }
	require.True(t, resting(), "nothing is open yet")

	first := idle(t, d)
	looked()
	drivertest.Do(t, first.beats, "PING")
	named.Store(next.Addr())
	first.leaves(t)

	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	looked()
	drivertest.Do(t, conn, "PING")
	named.Store("127.0.0.1:1") // what cannot be reached is no other primary
	looked()
	drivertest.Do(t, conn, "PING")
	require.NoError(t, conn.Close())
	require.Eventually(t, resting, time.Minute, time.Millisecond)
	assert.NoError(t, d.Close())
}

// Nobody looks for another primary where there is none, or where each call looks for its server.
func TestASingleServerAndAClusterHaveNoLookout(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]redis.UniversalClient{
		"single":  redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}),
		"cluster": redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}}),
	} {
		d, err := owned(client)
		require.NoError(t, err)
		assert.Nil(t, d.(ownerOf).lookout, name)
		assert.NoError(t, d.Close())
	}
}
