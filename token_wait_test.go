package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// beginWait begins a wait for the queue n, and returns it with what it passes on.
func beginWait(k *kit) (*tokenWait, chan string) {
	driver, err := rdb.Open(k.server.DSN())
	require.NoError(k.t, err)
	k.t.Cleanup(func() { _ = driver.Close() })
	conn, err := driver.Dial(k.ctx())
	require.NoError(k.t, err)
	passed := make(chan string, 1)
	w := &tokenWait{store: rdb.NewStore(driver, k.namespace), passOn: func(name string) { passed <- name }}
	w.begin(conn, []string{"n"}, patience)
	return w, passed
}

func TestATokenIsTheFetchersOnlyWhileItIsThere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		w, passed := beginWait(k)
		assert.Empty(t, w.attend(true))
		k.do("LPUSH", "wake:n", "1")
		receive(t, w.over)
		assert.Equal(t, "n", w.attend(false))
		assert.Empty(t, w.attend(true), "it is a debt of one")
		assert.Empty(t, passed)

		w, passed = beginWait(k)
		w.attend(true)
		assert.Empty(t, w.attend(false), "nothing has come when the fetcher leaves")
		k.do("LPUSH", "wake:n", "1")
		assert.Equal(t, "n", receive(t, passed), "others have it")
		receive(t, w.over)
		assert.Empty(t, w.attend(true))
	})
}

func TestAWaitThatIsCutEndsAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		w, passed := beginWait(k)
		begun := time.Now()
		assert.Empty(t, w.end())
		assert.Less(t, time.Since(begun), patience/2, "it does not go on to its end")
		k.do("LPUSH", "wake:n", "1")
		assert.Equal(t, 1, k.number("LLEN", "wake:n"), "it takes nothing any more")
		assert.Empty(t, passed)
	})
}

// A connection may be dead without anybody telling. Where a heartbeat failed, the one that waits is made anew.
func TestAfterAFailedHeartbeatTheWaitIsBegunAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 1)
		pool := NewWorkerPool(nil, 1, k.options()).Job("n", func(n int) error { ran <- n; return nil })
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		d.untilSentInAll(t, "BLPOP", 1)
		pool.workers[0].disturbed.Store(true)
		d.untilSentInAll(t, "BLPOP", 2)
		k.enqueueNumbers("n", 1, 2)
		assert.Equal(t, 1, receive(t, ran))
		assert.Empty(t, troubles(k.spy))
	})
}
