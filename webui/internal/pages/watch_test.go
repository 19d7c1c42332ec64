package pages

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/visit"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// calm stands still until it is told to go on.
type calm struct {
	mu  sync.Mutex
	now time.Time
}

func (c *calm) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *calm) pass(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

// watched is the pages of a dashboard whose clock stands, over a Redis of its own.
func watched(t *testing.T) (*Site, string, *calm, *redistest.Process) {
	t.Helper()
	server := redistest.Dedicated(t)
	namespace := redistest.Namespace(t)
	inspector, err := inspect.New(server.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	clock := &calm{now: time.Now()}
	s := New(&visit.Site{Inspector: inspector, Logger: slog.New(slog.DiscardHandler), StuckAfter: time.Hour}, clock.Now)
	return s, namespace, clock, server
}

// overviewPage is the overview as a viewer gets it.
func overviewPage(t *testing.T, s *Site) string {
	t.Helper()
	w := httptest.NewRecorder()
	v := &visit.Visit{Site: s.Site, W: w, R: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil),
		Path: "/"}
	require.NoError(t, s.showOverview(v))
	return w.Body.String()
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
	s, _, _, _ := watched(t)
	w := s.watch
	before, err := w.overview(t.Context())
	require.NoError(t, err)
	under := &flight{acts: w.acts, done: make(chan struct{}), made: before}
	w.mu.Lock()
	w.flight = under
	w.mu.Unlock()
	require.NoError(t, s.Inspector.PauseAll(t.Context()))
	s.Changed()

	ctx := &waiting{Context: t.Context(), sign: make(chan struct{})}
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
			s, namespace, clock, server := watched(t)
			conn, err := redis.Dial("tcp", server.Addr())
			require.NoError(t, err)
			defer conn.Close()
			now := time.Now().UTC().Truncate(time.Minute)
			for back := range 60 {
				key := fmt.Sprintf("{%s}:stats:%s", namespace, now.Add(-time.Duration(back)*time.Minute).
					Format("2006-01-02T15:04"))
				require.NoError(t, conn.Send("HSET", key, "mail", "done:1"))
			}
			for i := range many {
				require.NoError(t, conn.Send("HSET", "{"+namespace+"}:claimed", fmt.Sprint("job", i), "w 1 5 mail"))
			}
			_, err = conn.Do("")
			require.NoError(t, err)
			watch := s.watch
			overviewPage(t, s)
			first := scans(t, server.Addr())
			// as in a large fleet
			watch.state.took, watch.state.next = time.Second, clock.Now().Add(stateShare*time.Second)
			for range 5 {
				clock.pass(2 * time.Second)
				overviewPage(t, s)
			}
			assert.LessOrEqual(t, (scans(t, server.Addr())-first)/5, 10, "the first took %d", first)
			assert.Greater(t, first, 4*many/1000, "claims are read in parts")
			assert.Contains(t, overviewPage(t, s), "they are read every 50")
			clock.pass(stateShare * time.Second)
			before := scans(t, server.Addr())
			overviewPage(t, s)
			assert.Greater(t, scans(t, server.Addr())-before, many/1000)
		})
	}
}

var scanCalls = regexp.MustCompile(`cmdstat_(?:hscan|exists):calls=(\d+)`)

// scans is how often the server was asked for a part of a hash, or whether a key is there.
func scans(t *testing.T, addr string) int {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, time.Minute)
	require.NoError(t, err)
	redisConn := redis.NewConn(conn, time.Minute, time.Minute)
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
