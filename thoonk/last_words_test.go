package thoonk_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

// What Redis has handed out while its answer is still on the way is returned, although ctx has ended or the client is
// closed.
func TestWhatWasTakenIsReturnedWhenTheWaitEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(cancel func(), c *thoonk.Client) error{
		"by its ctx": func(cancel func(), _ *thoonk.Client) error { cancel(); return nil },
		"by Close":   func(_ func(), c *thoonk.Client) error { return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				k.put(k.jobs("jobs"), "x")
				_, err := k.queue("queue").Put(k.ctx(), "x")
				require.NoError(t, err)
				take := map[string]func(ctx context.Context, c *thoonk.Client) func() error{
					"jobs": func(ctx context.Context, c *thoonk.Client) func() error {
						feed := k.jobsOf(c, "jobs")
						return func() error { _, err := feed.Get(ctx, 0); return err }
					},
					"queue": func(ctx context.Context, c *thoonk.Client) func() error {
						queue := k.queueOf(c, "queue")
						return func() error { _, err := queue.Get(ctx, 0); return err }
					},
				}
				for feed, open := range take {
					proxy := redistest.NewProxy(t, k.server.Addr())
					client, err := thoonk.Open(proxy.DSN(), thoonk.Prefix(k.prefix))
					require.NoError(t, err)
					ctx, cancel := context.WithCancel(k.ctx())
					get := open(ctx, client)
					proxy.Slow(200*time.Millisecond, 1<<20)
					ended := make(chan error, 1)
					go func() { ended <- get() }()
					require.Eventually(t, func() bool { return k.cmd("LLEN", "feed.ids:"+feed) == int64(0) }, patience,
						time.Millisecond)
					require.NoError(t, end(cancel, client))
					assert.NoError(t, receive(t, ended), feed)
					cancel()
					require.NoError(t, client.Close())
				}
			})
		})
	}
}

// An id without an item was retracted by a program that left its id.
func TestJobGetDropsIDsWithoutAnItem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.cmd("LPUSH", "feed.ids:a", "ghost")
		k.put(feed, "x")
		assert.Equal(t, "x", k.claim(feed).ID)
		assert.Equal(t, "waiting, running x, stalled", k.state(feed))
	})
}
