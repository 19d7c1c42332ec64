package subscription_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/subscription"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// soon is how long a test waits before it gives up; nothing depends on it while all is well.
const soon = time.Minute

// kit is a waiter in a namespace of its own.
type kit struct {
	*subscription.Waiter
	t         *testing.T
	server    redistest.Server
	namespace string
	wakeup    chan struct{}

	mu     sync.Mutex
	events []event.Event
}

// newKit makes one that waits for these names, which are in order.
func newKit(t *testing.T, s redistest.Server, names ...string) *kit {
	k := newKitOf(t, s.DSN(), names...)
	k.server = s
	return k
}

func newKitOf(t *testing.T, dsn string, names ...string) *kit {
	driver, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = driver.Close() })
	k := &kit{t: t, namespace: redistest.Namespace(t), wakeup: make(chan struct{}, 1)}
	k.Waiter = subscription.NewWaiter(subscription.WaiterOptions{
		Driver: driver, Store: rdb.NewStore(driver, k.namespace), Life: context.Background(), Timeout: soon,
		Wakeup: k.wakeup, Emit: k.emit,
	}, names)
	t.Cleanup(k.Close)
	return k
}

func (k *kit) emit(e event.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

// told are the events so far.
func (k *kit) told() []event.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]event.Event{}, k.events...)
}

func (k *kit) do(command, key string, args ...any) any {
	k.t.Helper()
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	defer conn.Close()
	reply, err := conn.Do(command, append([]any{"{" + k.namespace + "}:" + key}, args...)...)
	require.NoError(k.t, err)
	return reply
}

func (k *kit) length(key string) int {
	n, err := redis.Int(k.do("LLEN", key), nil)
	require.NoError(k.t, err)
	return n
}

// woken is why a wait has ended.
type woken struct {
	name string
	why  subscription.Woken
}

// wait waits in a goroutine of its own.
func (k *kit) wait(atMost time.Duration, except ...string) chan woken {
	but := map[string]bool{}
	for _, name := range except {
		but[name] = true
	}
	ended := make(chan woken, 1)
	go func() {
		name, why := k.Wait(k.t.Context(), atMost, but)
		ended <- woken{name, why}
	}()
	return ended
}
