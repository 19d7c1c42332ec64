package thoonk_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

// demoted is a Redis that can be made a replica, which refuses to write, and a master again.
type demoted struct {
	*kit
	waits chan struct{} // a Get begins to wait
}

func newDemoted(t *testing.T) *demoted {
	t.Helper()
	d := &demoted{kit: newKit(t, redistest.Dedicated(t).Server()), waits: make(chan struct{}, 1000)}
	d.client = d.open(d.server.DSN(), thoonk.OnWait(func() { d.waits <- struct{}{} }))
	return d
}

func (d *demoted) replicaOf(host, port string) {
	d.t.Helper()
	_, err := redisconn.Do(d.ctx(), d.plain, redisconn.Call{Command: "REPLICAOF", Args: []any{host, port}})
	require.NoError(d.t, err)
}

func (d *demoted) demote()  { d.replicaOf("127.0.0.1", "1") } // where nobody listens
func (d *demoted) promote() { d.replicaOf("NO", "ONE") }

// refusals waits until Redis has refused so many more writes.
func (d *demoted) refusals(more int) {
	d.t.Helper()
	before := d.refused()
	require.Eventually(d.t, func() bool { return d.refused() >= before+more }, patience, time.Millisecond)
}

// refused is how many writes Redis has refused.
func (d *demoted) refused() (n int) {
	d.t.Helper()
	stats, err := redisconn.Do(d.ctx(), d.plain, redisconn.Call{Command: "INFO", Args: []any{"errorstats"}})
	require.NoError(d.t, err)
	if _, count, found := strings.Cut(string(stats.([]byte)), "errorstat_READONLY:count="); found {
		count, _, _ = strings.Cut(count, "\r")
		n, err = strconv.Atoi(count)
		require.NoError(d.t, err)
	}
	return n
}

// What is refused by a master that has become a replica is sent again.
func TestOutcomesOutlastAFailover(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		d := newDemoted(t)
		feed := d.jobs("j")
		d.put(feed, "finished", "cancelled", "any claim")
		claims := []thoonk.Held{d.claim(feed).Held, d.claim(feed).Held, d.claim(feed).Held}
		outcomes := []func() error{
			func() error { return feed.Finish(d.ctx(), claims[0]) },
			func() error { return feed.Cancel(d.ctx(), claims[1]) },
			func() error { return feed.Finish(d.ctx(), thoonk.Held{ID: claims[2].ID}) },
		}
		d.demote()
		ended := make(chan error, len(outcomes))
		for _, outcome := range outcomes {
			go func() { ended <- outcome() }()
		}
		d.refusals(10)
		d.promote()
		for range outcomes {
			require.NoError(t, receive(t, ended))
		}
		assert.Equal(t, "waiting cancelled, running, stalled", d.state(feed))

		again := d.claim(feed)
		d.demote()
		over, cancel := context.WithCancel(d.ctx())
		go func() { ended <- feed.Finish(over, again.Held) }()
		d.refusals(3)
		cancel()
		assert.ErrorContains(t, receive(t, ended), "READONLY")
	})
}

// Those who wait for an item go on when Redis writes again.
func TestWaitsOutlastAFailover(t *testing.T) {
	t.Parallel()
	type get = func(ctx context.Context, timeout time.Duration) error
	for name, open := range map[string]func(d *demoted) (get, func() error){
		"jobs": func(d *demoted) (get, func() error) {
			feed := d.jobs("f")
			get := func(ctx context.Context, timeout time.Duration) error {
				_, err := feed.Get(ctx, timeout)
				return err
			}
			return get, func() error { _, err := feed.Put(d.ctx(), "x"); return err }
		},
		"queue": func(d *demoted) (get, func() error) {
			queue := d.queue("f")
			get := func(ctx context.Context, timeout time.Duration) error {
				_, err := queue.Get(ctx, timeout)
				return err
			}
			return get, func() error { _, err := queue.Put(d.ctx(), "x"); return err }
		},
	} {
		t.Run("redis/"+name, func(t *testing.T) {
			t.Parallel()
			d := newDemoted(t)
			get, put := open(d)
			got := make(chan error, 2)
			go func() { got <- get(d.ctx(), 0) }()
			receive(t, d.waits)
			d.demote()
			d.refusals(3)
			go func() { got <- get(d.ctx(), patience) }()
			d.refusals(10)

			require.ErrorContains(t, get(d.ctx(), thoonk.NoWait), "READONLY")
			require.ErrorContains(t, get(d.ctx(), 50*time.Millisecond), "READONLY")
			short, cancel := context.WithTimeout(d.ctx(), 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, get(short, 0), context.DeadlineExceeded)
			assert.Empty(t, got)
			d.promote()
			for range 2 {
				require.NoError(t, put())
				require.NoError(t, receive(t, got))
			}
		})
	}
}
