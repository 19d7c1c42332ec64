package thoonk_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

type ended = thoonk.Ended[string]

// told puts jobs and returns what is told of their ends.
func (k *kit) told(feed *jobs, ids ...string) <-chan ended {
	k.t.Helper()
	return k.toldBy(thoonk.NewJobEnds(feed), ids...)
}

func (k *kit) toldBy(ends *thoonk.JobEnds[string, string], ids ...string) <-chan ended {
	k.t.Helper()
	heard := make(chan ended, 100)
	for _, id := range ids {
		_, err := ends.Put(k.ctx(), id, func(e ended) { heard <- e }, thoonk.WithID(id))
		require.NoError(k.t, err)
	}
	return heard
}

func TestTheEndOfAJobIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		worker := k.jobsOf(k.open(k.server.DSN()), "j")
		told := k.told(feed, "with", "without", "retracted", "left")
		other := k.told(feed, "other")
		ends := map[string]func(thoonk.Held) error{
			"with":      func(h thoonk.Held) error { return worker.FinishWith(k.ctx(), h, "result", 0) },
			"without":   func(h thoonk.Held) error { return worker.Finish(k.ctx(), h) },
			"retracted": func(h thoonk.Held) error { return worker.Retract(k.ctx(), h.ID) },
			"left":      func(h thoonk.Held) error { return worker.Cancel(k.ctx(), h) },
		}
		for range ends {
			claim := k.claim(worker)
			require.NoError(t, ends[claim.ID](claim.Held))
		}
		assert.Equal(t, ended{ID: "with", Result: "result"}, receive(t, told))
		assert.Equal(t, ended{ID: "without"}, receive(t, told))
		gone := receive(t, told)
		assert.Equal(t, "retracted", gone.ID)
		require.ErrorIs(t, gone.Err, thoonk.ErrNoItem)
		claim := k.claim(worker)
		require.Equal(t, "other", claim.ID)
		require.NoError(t, worker.FinishWith(k.ctx(), claim.Held, "of the other", 0))
		assert.Equal(t, "of the other", receive(t, other).Result)
		assert.Empty(t, told, "what was given back has not ended")

		require.NoError(t, k.client.Delete(k.ctx(), "j"))
		gone = receive(t, told)
		assert.Equal(t, "left", gone.ID)
		assert.ErrorIs(t, gone.Err, thoonk.ErrNoFeed)
	})
}

func TestAnEndThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		told := k.told(feed, "a")
		raw, err := thoonk.OpenJobFeed(k.ctx(), k.client, "j", thoonk.Codec[[]byte](thoonk.Raw{}),
			thoonk.Codec[[]byte](thoonk.Raw{}))
		require.NoError(t, err)
		claim, err := raw.Get(k.ctx(), thoonk.NoWait)
		require.NoError(t, err)
		require.NoError(t, raw.FinishWith(k.ctx(), claim.Held, []byte("no JSON"), 0))
		var unread *thoonk.DecodeError
		require.ErrorAs(t, receive(t, told).Err, &unread)
		assert.Equal(t, "no JSON", string(unread.Item))
	})
}

// Programs that end a job without a word, and events that are lost with their connection.
func TestAnEndThatNobodyToldIsFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		proxy := redistest.NewProxy(t, k.server.Addr())
		feed := k.jobs("j")
		far := k.jobsOf(k.open(proxy.DSN()), "j")
		told := k.told(far, "result", "silent", "waits")
		proxy.Redirect("127.0.0.1:1") // where nobody listens
		proxy.Cut()
		first, second := k.claim(feed), k.claim(feed)
		require.NoError(t, feed.FinishWith(k.ctx(), first.Held, "is kept", 0))
		require.NoError(t, feed.Finish(k.ctx(), second.Held))
		proxy.Redirect(k.server.Addr())
		ends := map[string]ended{}
		for range 2 {
			e := receive(t, told)
			ends[e.ID] = e
		}
		assert.Equal(t, ended{ID: "result", Result: "is kept"}, ends["result"])
		require.ErrorIs(t, ends["silent"].Err, thoonk.ErrEndUnknown)
		assert.Empty(t, told)

		k.claim(feed)
		k.cmd("HDEL", "feed.items:j", "waits") // as programs do that do not tell
		assert.ErrorIs(t, receive(t, told).Err, thoonk.ErrEndUnknown)
	})
}

func TestWhoseEndIsNotTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		client := k.open(k.server.DSN())
		k.jobs("j")
		feed := k.jobsOf(client, "j")
		ends := thoonk.NewJobEnds(feed)
		told := k.toldBy(ends, "a", "b")
		unwanted := func(e ended) { assert.Fail(t, "told", "%v", e) }
		_, err := ends.Put(k.ctx(), "twice", unwanted, thoonk.WithID("a"))
		require.ErrorIs(t, err, thoonk.ErrTaken)
		require.NoError(t, k.jobsOf(k.client, "j").Retract(k.ctx(), "a"))
		assert.Equal(t, "a", receive(t, told).ID)
		_, err = k.jobsOf(k.client, "j").Put(k.ctx(), "another's", thoonk.WithID("a"))
		require.NoError(t, err)
		_, err = ends.Put(k.ctx(), "twice", unwanted, thoonk.WithID("a"))
		require.ErrorIs(t, err, thoonk.ErrTaken)
		_, err = ends.Put(k.ctx(), "bad", unwanted, thoonk.WithID("a:b"))
		var name *thoonk.NameError
		require.ErrorAs(t, err, &name)
		over, cancel := context.WithCancelCause(k.ctx())
		cancel(errors.New("over"))
		_, err = ends.Put(over, "late", unwanted)
		require.Error(t, err)

		require.NoError(t, client.Close())
		e := receive(t, told)
		assert.Equal(t, "b", e.ID)
		require.ErrorIs(t, e.Err, thoonk.ErrClosed)
		_, err = ends.Put(k.ctx(), "closed", unwanted)
		require.ErrorIs(t, err, thoonk.ErrClosed)
	})
}

// A worker that is quicker than the answer to the put.
func TestAnEndBeforeTheAnswerIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		worker := k.jobs("j")
		feed := k.jobsOf(k.open(k.server.DSN()), "j")
		ends := thoonk.NewJobEnds(feed)
		quick := make(chan error, 100)
		go func() {
			for range 50 {
				claim, err := worker.Get(k.ctx(), time.Minute)
				if err == nil {
					err = worker.FinishWith(k.ctx(), claim.Held, claim.Item, 0)
				}
				quick <- err
			}
		}()
		all := make(chan ended, 50)
		for range 50 {
			_, err := ends.Put(k.ctx(), "x", func(e ended) { all <- e })
			require.NoError(t, err)
		}
		for range 50 {
			require.NoError(t, receive(t, quick))
			assert.Equal(t, "x", receive(t, all).Result)
		}
	})
}
