package thoonk_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

// A look whose answer comes before the event of an end, which stands in line behind another one.
func TestALookDoesNotOvertakeTheEventOfAnEnd(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(k *kit) error{
		"of a job":                   func(*kit) error { return nil },
		"of a job of a deleted feed": func(k *kit) error { return k.client.Delete(k.ctx(), "j") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.jobs("j")
				ends := thoonk.NewJobEnds(feed)
				release := k.holdEvents(ends, feed)
				defer release()
				told := k.toldBy(ends, "silent", "kept")
				silent, kept := k.claim(feed), k.claim(feed)
				require.NoError(t, feed.Finish(k.ctx(), silent.Held))
				require.NoError(t, feed.FinishWith(k.ctx(), kept.Held, "result", 0))
				require.NoError(t, then(k))
				ends.Look(k.ctx())
				ends.Look(k.ctx())
				release()
				all := []ended{receive(t, told), receive(t, told)}
				assert.ElementsMatch(t, []ended{{ID: "silent"}, {ID: "kept", Result: "result"}}, all)
			})
		})
	}
}

// A kept result says all that an event would.
func TestALookTellsAKeptResultAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		ends := thoonk.NewJobEnds(feed)
		defer k.holdEvents(ends, feed)()
		told := k.toldBy(ends, "kept")
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "result", 0))
		ends.Look(k.ctx())
		require.Len(t, told, 1, "with its event still under way")
		assert.Equal(t, ended{ID: "kept", Result: "result"}, <-told)
	})
}

// holdEvents holds back the events of ends from here on, until release is called, once or more.
func (k *kit) holdEvents(ends *thoonk.JobEnds[string, string], feed *jobs) (release func()) {
	k.t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	_, err := ends.Put(k.ctx(), "first", func(ended) {
		close(held)
		<-free
	})
	require.NoError(k.t, err)
	require.NoError(k.t, feed.Finish(k.ctx(), k.claim(feed).Held))
	receive(k.t, held)
	return sync.OnceFunc(func() { close(free) })
}
