package webui

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// calm stands still until it is told to go on.
type calm struct {
	mu  sync.Mutex
	now time.Time
}

func (c *calm) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *calm) pass(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

// watched is a dashboard whose clock stands, over a Redis of its own.
func watched(t *testing.T) (*kit, *calm, *redistest.Process) {
	t.Helper()
	server := redistest.Dedicated(t)
	k := newKit(t, server.Server())
	clock := &calm{now: time.Now()}
	k.handler.(*site).watch.now = clock.Now
	return k, clock, server
}

// however many look at the overview at the same time, by whatever way, it is read once.
func TestAllWhoLookAtTheOverviewShareOneReading(t *testing.T) {
	t.Parallel()
	k, clock, server := watched(t)
	k.fill(100)
	asked := map[int]int{}
	for _, viewers := range []int{1, 50} {
		require.Equal(t, http.StatusOK, k.get("").StatusCode) // of what is kept, the same is there for both
		clock.pass(2 * time.Second)
		before := commands(t, server.Addr())
		var looking sync.WaitGroup
		for i := range viewers {
			looking.Go(func() {
				if i%2 == 0 {
					assert.Equal(t, http.StatusOK, k.do(request(http.MethodGet, "/", "viewer", nil)).StatusCode)
				} else {
					assert.Contains(t, string(k.handler.(*site).feed.overview(context.Background())), "event: overview")
				}
			})
		}
		looking.Wait()
		asked[viewers] = commands(t, server.Addr()) - before
	}
	assert.NotZero(t, asked[1])
	assert.LessOrEqual(t, asked[50], asked[1]+2, "50 viewers cost what one does") // INFO itself is counted
}

func TestWhatWasDoneHereIsShownAtOnce(t *testing.T) {
	t.Parallel()
	k, _, _ := watched(t)
	k.fill(1)
	assert.NotContains(t, k.get("").Text, "All queues are paused")
	k.post("queues-pause")
	assert.Contains(t, k.get("").Text, "All queues are paused")
}

// waiting says when somebody waits for its end.
type waiting struct {
	context.Context
	once sync.Once
	sign chan struct{}
}

func (w *waiting) Done() <-chan struct{} {
	w.once.Do(func() { close(w.sign) })
	return w.Context.Done()
}

// A reading that began before something was done is not shown to who comes after that.
func TestWhatWasDoneDuringAReadingIsShown(t *testing.T) {
	t.Parallel()
	k, _, _ := watched(t)
	k.fill(1)
	w := k.handler.(*site).watch
	before, err := w.overview(k.ctx())
	require.NoError(t, err)
	under := &flight{acts: w.acts, done: make(chan struct{}), made: before}
	w.mu.Lock()
	w.flight = under
	w.mu.Unlock()
	k.post("queues-pause")

	ctx := &waiting{Context: k.ctx(), sign: make(chan struct{})}
	shown := make(chan *overview, 1)
	go func() {
		o, err := w.overview(ctx)
		assert.NoError(t, err)
		shown <- o
	}()
	<-ctx.sign
	w.mu.Lock()
	w.flight = nil
	w.mu.Unlock()
	close(under.done)
	after := <-shown
	assert.NotContains(t, fmt.Sprint(before.Alerts), "All queues are paused")
	assert.Contains(t, fmt.Sprint(after.Alerts), "All queues are paused")
}

// Of the last hour only the newest minutes are read again, and claims only as often as what it takes allows.
func TestAnOpenOverviewReadsWhatIsNew(t *testing.T) {
	t.Parallel()
	for _, many := range []int{20, 4000} {
		t.Run(fmt.Sprint(many), func(t *testing.T) {
			t.Parallel()
			k, clock, server := watched(t)
			conn, err := redis.Dial("tcp", server.Addr())
			require.NoError(t, err)
			defer conn.Close()
			now := time.Now().UTC().Truncate(time.Minute)
			for back := range 60 {
				key := fmt.Sprintf("{%s}:stats:%s", k.namespace, now.Add(-time.Duration(back)*time.Minute).
					Format("2006-01-02T15:04"))
				require.NoError(t, conn.Send("HSET", key, "mail", "done:1"))
			}
			for i := range many {
				require.NoError(t, conn.Send("HSET", "{"+k.namespace+"}:claimed", fmt.Sprint("job", i), "w 1 5 mail"))
			}
			_, err = conn.Do("")
			require.NoError(t, err)
			watch := k.handler.(*site).watch
			require.Equal(t, http.StatusOK, k.get("").StatusCode)
			first := scans(t, server.Addr())
			// as in a large fleet
			watch.state.took, watch.state.next = time.Second, clock.Now().Add(stateShare*time.Second)
			for range 5 {
				clock.pass(2 * time.Second)
				require.Equal(t, http.StatusOK, k.get("").StatusCode)
			}
			assert.LessOrEqual(t, (scans(t, server.Addr())-first)/5, 10, "the first took %d", first)
			assert.Greater(t, first, 4*many/1000, "claims are read in parts")
			assert.Contains(t, k.get("").Text, "they are read every 50")
			clock.pass(stateShare * time.Second)
			before := scans(t, server.Addr())
			require.Equal(t, http.StatusOK, k.get("").StatusCode)
			assert.Greater(t, scans(t, server.Addr())-before, many/1000)
		})
	}
}

var scanCalls = regexp.MustCompile(`cmdstat_(?:hscan|exists):calls=(\d+)`)

// scans is how often the server was asked for a part of a hash, or whether a key is there.
func scans(t *testing.T, addr string) int {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, testPatience)
	require.NoError(t, err)
	redisConn := redis.NewConn(conn, testPatience, testPatience)
	defer redisConn.Close()
	text, err := redis.String(redisConn.Do("INFO", "commandstats"))
	require.NoError(t, err)
	sum := 0
	for _, m := range scanCalls.FindAllStringSubmatch(strings.ToLower(text), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		sum += n
	}
	return sum
}
