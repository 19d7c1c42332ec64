package onequeue_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// Members of a flow wait there too, those that wait for others as well.
func TestMembersOfAFlowShareAQueue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		f := flow.New("f")
		first := f.Job("a", 1)
		f.Job("b", 2).After(first)
		f.OnDone("b", 3)
		_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
		require.NoError(t, err)
		assert.Equal(t, 1, k.Number("LLEN", "queue:mail"))
		ran := newRecorder()
		p := k.Start(k.pool(ran, 1, "a", "b"))
		assert.Equal(t, []string{"a 1", "b 2", "b 3"}, ran.ran(t, 3))
		require.NoError(t, p.Drain(k.Ctx()))
		ran.idle(t)
	})
}

// So do the jobs of a schedule.
func TestJobsOfASchedule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newRecorder()
		p := k.poolOf(mail, ran, 1, "a")
		p.PeriodicWithOptions("@every 1h", "a", work.PeriodicOptions{ID: "hourly"}, 5)
		k.Start(p)
		i := k.Inspector()
		require.NoError(t, i.PauseQueue(k.Ctx(), "mail"))
		_, err := i.RunScheduleNow(k.Ctx(), "hourly")
		require.NoError(t, err)
		assert.Equal(t, 1, k.Number("LLEN", "queue:mail"))
		require.NoError(t, i.ResumeQueue(k.Ctx(), "mail"))
		assert.Equal(t, []string{"a 5"}, ran.ran(t, 1))
	})
}

// Ticks put their jobs there by themselves, also those of a schedule that was there before the names shared a queue.
func TestTicksOfASchedule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.Inspector()
		require.NoError(t, i.AddSchedule(k.Ctx(), "@every 1s", "a", work.PeriodicOptions{ID: "early"}, 1))
		ran := newRecorder()
		p := k.pool(ran, 1, "a", "b")
		p.PeriodicWithOptions("@every 1s", "b", work.PeriodicOptions{ID: "late"}, 2)
		require.NoError(t, i.PauseQueue(k.Ctx(), "mail"))
		k.Start(p)
		names := func() map[string]bool {
			page, err := i.Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "mail"})
			require.NoError(t, err)
			found := map[string]bool{}
			for _, job := range page.Jobs {
				found[job.Name] = job.Options.Queue == "mail"
			}
			return found
		}
		k.Until("both have ticked", func() bool { return len(names()) == 2 })
		assert.Equal(t, map[string]bool{"a": true, "b": true}, names())
		assert.Zero(t, k.Number("EXISTS", "queue:a")+k.Number("EXISTS", "queue:b"))
		require.NoError(t, i.PauseSchedule(k.Ctx(), "early"))
		require.NoError(t, i.PauseSchedule(k.Ctx(), "late"))
		require.NoError(t, i.ResumeQueue(k.Ctx(), "mail"))
		require.NoError(t, p.Drain(k.Ctx()))
		seen := map[string]bool{}
		for range len(ran) {
			seen[<-ran] = true
		}
		assert.Equal(t, map[string]bool{"a 1": true, "b 2": true}, seen)
	})
}

// The declaration whose answer was lost is sent again, and counts once.
func TestSharingIsSaidOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := k.Raw()
		one := partition.NewDirectory(store.Driver(), k.Namespace)
		other := partition.NewDirectory(store.Driver(), k.Namespace)
		require.NoError(t, resize.Share(k.Ctx(), one, map[string]string{"a": "mail", "b": ""}))
		require.NoError(t, resize.Share(k.Ctx(), other, map[string]string{"a": "mail"}), "by one who had not read it")
		assert.EqualValues(t, 1, other.Map().Version)
		require.NoError(t, resize.Share(k.Ctx(), other, map[string]string{"a": "post"}))
		require.NoError(t, resize.Share(k.Ctx(), one, map[string]string{"a": "mail"}), "by one who did not know")
		assert.Equal(t, "mail", one.Map().QueueOf("a"))
		assert.Equal(t, []string{"post", "mail"}, one.Map().Queues["a"])
		text, err := store.ReadMap(k.Ctx())
		require.NoError(t, err)
		assert.JSONEq(t, string(one.Map().Encode()), string(text))

		err = resize.Share(k.Ctx(), one, map[string]string{"b": "a"})
		assert.ErrorContains(t, err, "while jobs of that name wait in queue")
		err = resize.Share(k.Ctx(), one, map[string]string{"mail": "all"})
		assert.ErrorContains(t, err, "has jobs of")
		require.ErrorIs(t, resize.To(k.Ctx(), one, 2, nil), resize.ErrShared)
		assert.True(t, one.Map().Single())
	})
}

func TestNamesDoNotShareAQueueInADividedNamespace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		require.NoError(t, resize.To(k.LongCtx(), partition.NewDirectory(k.Raw().Driver(), k.Namespace), 2, nil))
		err := k.pool(newRecorder(), 1, "a").Start(k.Ctx())
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
		assert.ErrorContains(t, err, "divided into partitions")
		require.NoError(t, k.Stop(k.Start(k.poolOf(work.JobOptions{}, newRecorder(), 1, "a"))))
	})
}

// TestANameHasSharedSoManyQueues: those that serve it look into all of them. It may always go back to its own.
func TestANameHasSharedSoManyQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		directory := partition.NewDirectory(k.Raw().Driver(), k.Namespace)
		share := func(queue string) error {
			return resize.Share(k.Ctx(), directory, map[string]string{"a": queue})
		}
		for n := range 15 {
			require.NoError(t, share(fmt.Sprint("mail", n)))
		}
		for range 2 {
			assert.ErrorContains(t, share("one more"), "after 15 others")
			require.NoError(t, share(""))
			require.NoError(t, share("mail3"), "which it had before")
		}
		assert.Len(t, directory.Map().Queues["a"], partition.MostQueues)
		other := partition.NewDirectory(k.Raw().Driver(), k.Namespace)
		require.NoError(t, other.Refresh(k.Ctx()), "the map can be read")
	})
}
