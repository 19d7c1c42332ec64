package work

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestARequestIsStoredOnceWhateverBecameOfItsJob(t *testing.T) {
	t.Parallel()
	ends := map[string]func(k *kit, i *Inspector, id string){
		"it waits":    func(*kit, *Inspector, string) {},
		"it stalled":  func(k *kit, i *Inspector, id string) { require.NoError(k.t, i.Stall(k.ctx(), id)) },
		"was deleted": func(k *kit, i *Inspector, id string) { require.NoError(k.t, i.Delete(k.ctx(), id)) },
		"was purged": func(k *kit, i *Inspector, _ string) {
			_, err := i.Purge(k.ctx(), "ok", PurgeOptions{})
			require.NoError(k.t, err)
		},
		"was cancelled": func(k *kit, i *Inspector, id string) {
			_, err := i.Cancel(k.ctx(), id)
			require.NoError(k.t, err)
		},
		"its record is lost": func(k *kit, _ *Inspector, id string) { k.do("HDEL", "jobs", id) },
	}
	for what, end := range ends {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				inspector, err := NewInspector(s.DSN(), Namespace(k.namespace))
				require.NoError(t, err)
				defer inspector.Close()
				once := k.enq.With(Once("request 7", time.Hour))
				first, err := once.Enqueue(k.ctx(), "ok", 1)
				require.NoError(t, err)
				assert.False(t, first.Duplicate)
				end(k, inspector, first.ID)
				j := &janitor{worker: &worker{store: k.enq.core.store}}
				require.NoError(t, j.voidLocks(k.ctx()))
				for _, name := range []string{"ok", "other"} {
					again, err := once.Enqueue(k.ctx(), name, 2)
					require.NoError(t, err)
					assert.Equal(t, Receipt{ID: first.ID, Name: name, Duplicate: true}, again)
				}
				assert.Zero(t, k.number("LLEN", "queue:other"))
				other, err := k.enq.With(Once("request 8", time.Hour)).Enqueue(k.ctx(), "ok", 1)
				require.NoError(t, err)
				assert.False(t, other.Duplicate)
			})
		})
	}
}

func TestARequestIsStoredOnceAlsoWhenItsJobRan(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var ran sync.Map
		pool := NewWorkerPool(nil, 2, WorkerOptions{Redis: s.DSN(), Namespace: k.namespace}).
			Job("done", func(id string) error { ran.Store(id, true); return nil }).
			Job("dropped", func() error { return Discard(errLuck) }).
			JobWithOptions("dead", JobOptions{Retries: -1, Unique: &UniqueOptions{}}, func() error { return errLuck })
		require.NoError(t, pool.Start(k.ctx()))
		defer func() { assert.NoError(t, pool.Stop(k.ctx())) }()
		for name, args := range map[string][]any{"done": {"x"}, "dropped": nil, "dead": nil} {
			once := pool.Enqueuer().With(Once(name, time.Hour), Retention(time.Hour))
			first, err := once.Enqueue(k.ctx(), name, args...)
			require.NoError(t, err)
			_ = once.WaitEnd(k.ctx(), first.ID) // however it ended
			again, err := once.Enqueue(k.ctx(), name, args...)
			require.NoError(t, err)
			assert.Equal(t, Receipt{ID: first.ID, Name: name, Duplicate: true}, again)
		}
		_, did := ran.Load("x")
		assert.True(t, did)
	})
}

func TestARequestWhoseReplyWasLostIsStoredOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		b := newEnqueueBench(t, s, proxy.DSN())
		_, err := b.With(Once("warm", time.Hour)).Enqueue(t.Context(), "warm") // so that Redis knows the script
		require.NoError(t, err)
		once := b.With(Once("k", time.Hour))
		swallowed := proxy.SwallowReply("the one and only")
		first, err := once.Enqueue(t.Context(), "a", "the one and only")
		require.NoError(t, err)
		select {
		case <-swallowed:
		default:
			t.Fatal("no reply was swallowed")
		}
		assert.False(t, first.Duplicate, "the same call was answered")
		again, err := once.Enqueue(t.Context(), "a", "the one and only")
		require.NoError(t, err)
		assert.Equal(t, Receipt{ID: first.ID, Name: "a", Duplicate: true}, again)
		assert.Len(t, b.waiting(t, "a"), 1)
	})
}

func TestARequestThatIsSentByManyAtOnceIsStoredOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := make([]Receipt, 40)
		var senders sync.WaitGroup
		for i := range receipts {
			senders.Go(func() {
				var err error
				receipts[i], err = k.enq.With(Once("k", time.Hour)).Enqueue(k.ctx(), "report", i)
				assert.NoError(t, err)
			})
		}
		senders.Wait()
		ids, stored := map[string]bool{}, 0
		for _, r := range receipts {
			ids[r.ID] = true
			if !r.Duplicate {
				stored++
			}
		}
		assert.Len(t, ids, 1)
		assert.Equal(t, 1, stored)
		assert.EqualValues(t, 1, k.number("LLEN", "queue:report"))
	})
}

func TestARequestMayComeAgainWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	s := redistest.Embedded(t)
	k := newKit(t, s)
	send := func() bool {
		receipt, err := k.enq.With(Once("k", time.Minute)).Enqueue(k.ctx(), "report")
		require.NoError(t, err)
		return !receipt.Duplicate
	}
	assert.True(t, send())
	s.Embedded().Advance(59 * time.Second)
	assert.False(t, send(), "the time counts from the first, not from the last")
	s.Embedded().Advance(time.Second)
	assert.True(t, send())
}

func TestOnceThatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	for name, row := range map[string]struct {
		key  string
		d    time.Duration
		says string
	}{
		"no key":         {"", time.Hour, "is empty: use 1 to 200 bytes"},
		"a long key":     {strings.Repeat("k", 201), time.Hour, "which has 201 bytes: use at most 200"},
		"no time":        {"k", 0, "use a duration above zero"},
		"less than none": {"k", -1, "use a duration above zero"},
		"centuries":      {"k", 200 * 365 * 24 * time.Hour, "at most 100 years"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := k.enq.With(Once(row.key, row.d)).Enqueue(k.ctx(), "report")
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, row.says)
		})
	}
}
