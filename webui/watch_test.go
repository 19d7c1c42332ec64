package webui

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

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
	clock := &calm{now: time.Now()}
	k := newKit(t, server.Server())
	k.handler = newSite(k.inspector, k.options, clock.Now)
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
					assert.Contains(t, string(k.handler.(*site).pages.Overview(context.Background())),
						"event: overview")
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
