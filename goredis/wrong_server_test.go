package goredis_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/goredis"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest/topology"
)

// way is one of the ways by which a program comes to a server.
type way struct {
	dsn        string
	connection work.Connection
}

// waysTo are all ways to a single server.
func waysTo(t *testing.T, addr string) map[string]way {
	t.Helper()
	pool := &redigo.Pool{Dial: func() (redigo.Conn, error) { return redigo.Dial("tcp", addr) }}
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { assert.NoError(t, client.Close()); assert.NoError(t, pool.Close()) })
	return map[string]way{"DSN": {dsn: "redis://" + addr}, "redigo": {connection: work.Redigo(pool)},
		"go-redis": {connection: goredis.Connection(client)}}
}

func (w way) options(namespace string, patience time.Duration) []work.EnqueuerOption {
	opts := []work.EnqueuerOption{work.Namespace(namespace), work.EnqueueTimeout(patience)}
	if w.connection != nil {
		opts = append(opts, work.WithConnection(w.connection))
	}
	return opts
}

// The time that a call has: soon is far more than it needs where the answer comes at once, and awaited is all that is
// waited for where it comes when the time is over.
const (
	soon    = 20 * time.Second
	awaited = 3 * time.Second
)

// errors are what a program hears at an enqueue, at a start, and as it looks and changes something by hand.
func (w way) errors(t *testing.T, namespace string, patience time.Duration) map[string]error {
	t.Helper()
	enq, err := work.NewEnqueuer(w.dsn, w.options(namespace, patience)...)
	require.NoError(t, err)
	defer enq.Close() //lint:ignore errcheck nothing was stored
	inspector, err := inspect.New(w.dsn, w.options(namespace, patience)...)
	require.NoError(t, err)
	defer inspector.Close() //lint:ignore errcheck the same
	ctx, cancel := context.WithTimeout(t.Context(), patience+time.Second)
	defer cancel()
	var enqueue, pause, start error
	var all sync.WaitGroup
	all.Go(func() { _, enqueue = enq.Enqueue(ctx, "mail") })
	all.Go(func() { pause = inspector.PauseQueue(ctx, "mail") })
	all.Go(func() { start = w.start(ctx, namespace, nil) })
	all.Wait()
	return map[string]error{"enqueue": enqueue, "pause": pause, "start": start}
}

// start starts a pool and stops it again.
func (w way) start(ctx context.Context, namespace string, observer work.Observer) error {
	options := work.WorkerOptions{Redis: w.dsn, Connection: w.connection, Namespace: namespace,
		Logger: slog.New(slog.DiscardHandler)}
	if observer != nil {
		options.Observers = []work.Observer{observer}
	}
	pool := work.NewWorkerPool(nil, 1, options).Job("mail", func() error { return nil })
	err := pool.Start(ctx)
	if err == nil {
		err = pool.Stop(ctx)
	}
	return err
}

// A server that cannot be the right one is told at once, with what to write, and a replica when the time is over.
func TestSentinelsAndReplicasAreNoPlaceForJobs(t *testing.T) {
	t.Parallel()
	servers := topology.StartSentinels(t, topology.SentinelOptions{})
	watcher, replica := servers.Watchers[0].Addr(), servers.Replicas()[0].Addr()
	for name, w := range waysTo(t, watcher) {
		for does, err := range w.errors(t, "shop", soon) {
			require.ErrorContains(t, err, "is a Redis Sentinel, which stores nothing (it watches shop)",
				"%s %s", name, does)
			if name == "DSN" {
				assert.ErrorContains(t, err, "use redis+sentinel://"+watcher+"/shop, with import", does)
			}
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
		}
	}
	for name, w := range waysTo(t, replica) {
		t.Run("replica by "+name, func(t *testing.T) {
			t.Parallel()
			for does, err := range w.errors(t, "shop", awaited) { // a start waits for a promotion
				assert.ErrorContains(t, err, "is a replica of "+servers.Primary().Addr()+": give the address", does)
			}
		})
	}

	_, err := mustDriver(t, "redis://"+watcher+"/3").Dial(t.Context())
	require.ErrorContains(t, err, "is a Redis Sentinel")

	t.Run("DSNs of Sentinels", func(t *testing.T) {
		for dsn, want := range map[string]string{
			"redis+sentinel://" + replica + "/shop": "is a Redis and no Sentinel: use redis://" + replica,
			"redis+sentinel://" + watcher + "/shoe": `watches no primary that is called "shoe"`,
			"redis+cluster://" + replica: "is a single Redis and no node of a cluster: use redis://" +
				replica,
			"redis+cluster://" + watcher: "is no node of a cluster, perhaps a Sentinel",
		} {
			for does, err := range (way{dsn: dsn}).errors(t, "shop", soon) {
				assert.ErrorContains(t, err, want, "%s %s", dsn, does)
			}
		}
	})
}

// A pool whose server is promoted while it starts goes on, and tells of it once.
func TestAStartWaitsForAPromotion(t *testing.T) {
	t.Parallel()
	servers := topology.StartSentinels(t, topology.SentinelOptions{})
	replica := servers.Replicas()[0]
	for name, w := range waysTo(t, replica.Addr()) {
		t.Run(name, func(t *testing.T) {
			_, err := replica.Do("REPLICAOF", hostAndPort(servers.Primary().Addr())...)
			require.NoError(t, err)
			troubles, over := 0, 0
			err = w.start(t.Context(), "shop", work.ObserverFunc(func(e event.Event) {
				switch e := e.(type) {
				case event.Trouble:
					if troubles++; e.Component == "start" {
						_, err := replica.Do("REPLICAOF", "NO", "ONE")
						assert.NoError(t, err)
					}
				case event.TroubleOver:
					over++
				}
			}))
			require.NoError(t, err)
			assert.Equal(t, []int{1, 1}, []int{troubles, over})
		})
	}
}

// A node of a cluster that has the slot works, and is told; another one names the node that has it.
func TestASingleNodeOfAClusterIsNamed(t *testing.T) {
	t.Parallel()
	servers := topology.StartCluster(t, topology.ClusterOptions{Primaries: 3})
	slot := topology.Slot("{shop}:")
	owner := servers.Owner(slot)
	other := servers.Primaries()[0]
	if other == owner {
		other = servers.Primaries()[1]
	}
	for name, w := range waysTo(t, other.Addr()) {
		for does, err := range w.errors(t, "shop", soon) {
			require.ErrorContains(t, err, "of namespace shop is on "+owner.Addr(), "%s %s", name, does)
			if name == "DSN" {
				assert.ErrorContains(t, err, "use redis+cluster://"+other.Addr()+","+owner.Addr())
			}
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
		}
	}
	for name, w := range waysTo(t, owner.Addr()) {
		var problems []string
		require.NoError(t, w.start(t.Context(), "shop", work.ObserverFunc(func(e event.Event) {
			if unfit, is := e.(event.ServerUnfit); is {
				problems = append(problems, unfit.Problem)
			}
		})))
		assert.Contains(t, strings.Join(problems, "; "), "it is a node of a cluster", name)
	}
	require.ErrorContains(t, (way{dsn: "redis://" + owner.Addr() + "/3"}).start(t.Context(), "shop", nil),
		"is a node of a cluster, which has the database 0 only: use redis+cluster://"+owner.Addr())
}

func mustDriver(t *testing.T, dsn string) redisconn.Driver {
	t.Helper()
	driver, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	return driver
}

func hostAndPort(addr string) []any {
	host, port, _ := strings.Cut(addr, ":")
	return []any{host, port}
}
