package enqueuing_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestWhenTheLockOfAJobIsFreed(t *testing.T) {
	t.Parallel()
	const later = time.Hour
	tests := map[string]struct {
		options  work.UniqueOptions
		job      work.JobOptions
		extra    []work.EnqueueOption
		outcome  error
		kept     bool // after the attempt another one is a duplicate still
		living   int  // records that are left before that is tried
		whileRun bool // another one is a duplicate while the handler runs
	}{
		"finished":            {whileRun: true},
		"finished, discarded": {outcome: work.Discard(nil), whileRun: true},
		"finished, failed":    {outcome: pooltest.ErrLuck, kept: true, living: 1, whileRun: true},
		"finished, snoozed":   {outcome: work.Snooze(later), kept: true, living: 1, whileRun: true},
		"finished, buried":    {outcome: work.Bury(pooltest.ErrLuck), living: 1, whileRun: true},
		"finished, dropped": {job: work.JobOptions{Retries: -1, SkipMorgue: true}, outcome: pooltest.ErrLuck,
			whileRun: true},
		"kept in morgue": {options: work.UniqueOptions{KeepInMorgue: true}, outcome: work.Bury(pooltest.ErrLuck),
			kept:   true,
			living: 1, whileRun: true},
		"kept in morgue, done": {options: work.UniqueOptions{KeepInMorgue: true}, whileRun: true},
		"started":              {options: work.UniqueOptions{Until: work.UntilStarted}},
		"started, failed": {options: work.UniqueOptions{Until: work.UntilStarted}, outcome: pooltest.ErrLuck,
			living: 1},
		"for a time":            {options: work.UniqueOptions{For: later}, kept: true, whileRun: true},
		"for a time, discarded": {options: work.UniqueOptions{For: later}, outcome: work.Discard(nil), whileRun: true},
		"for a time, buried": {options: work.UniqueOptions{For: later}, outcome: work.Bury(pooltest.ErrLuck),
			kept:   true,
			living: 1, whileRun: true},
		"expired": {extra: []work.EnqueueOption{work.ExpireAt(time.UnixMilli(1))}},
		"expired, for a time": {options: work.UniqueOptions{For: later},
			extra: []work.EnqueueOption{work.ExpireAt(time.UnixMilli(1))}},
		"deadline, buried": {options: work.UniqueOptions{Until: work.UntilStarted},
			extra: []work.EnqueueOption{work.Deadline(time.UnixMilli(1))}, living: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, tt := newKit(t, s), tt
				tt.options.Key = "k"
				entry := pooltest.Only(tt.options)
				first := entry
				first.Options = append(first.Options, tt.extra...)
				begun, leave := make(chan struct{}), make(chan struct{})
				tt.job.Backoff = pooltest.Hourly
				pool := work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("report", tt.job, func() error {
					close(begun)
					<-leave
					return tt.outcome
				})
				assert.False(t, k.Duplicate(first))
				assert.True(t, k.Duplicate(entry), "it waits")
				require.NoError(t, pool.Start(context.Background()))
				if tt.extra == nil {
					pooltest.Receive(t, begun)
					probe := entry // it is not to run, so it is due much later
					probe.In = later
					assert.Equal(t, tt.whileRun, k.Duplicate(probe), "it runs")
				}
				close(leave)
				k.Drained(pool)
				require.NoError(t, k.Stop(pool))
				if !tt.whileRun && tt.extra == nil {
					return // the probe has the lock now
				}
				assert.Equal(t, tt.living, k.Number("HLEN", "jobs"))
				assert.Equal(t, tt.kept, k.Duplicate(entry), "after it")
			})
		})
	}
}

func TestALockForATimeEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Embedded(t)
	k := newKit(t, s)
	entry := pooltest.Only(work.UniqueOptions{For: time.Minute})
	assert.False(t, k.Duplicate(entry))
	s.Embedded().Advance(59 * time.Second)
	assert.True(t, k.Duplicate(entry))
	s.Embedded().Advance(time.Second)
	assert.False(t, k.Duplicate(entry))
}

func TestACancelledJobHasNoLock(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, options := range []work.UniqueOptions{{}, {For: time.Hour}, {Until: work.UntilStarted},
			{KeepInMorgue: true}} {
			options.Key = "k"
			receipt, err := k.EnqueueEntry(pooltest.Only(options))
			require.NoError(t, err)
			require.False(t, receipt.Duplicate)
			_, err = k.Enq.Cancel(k.Ctx(), receipt.ID)
			require.NoError(t, err)
			assert.Zero(t, k.Number("HLEN", "unique"))
		}
	})
}

func TestALockIsVoidWithItsOwnerAndSweptByTheJanitor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipt, err := k.EnqueueEntry(pooltest.Only(work.UniqueOptions{}))
		require.NoError(t, err)
		k.Do("HDEL", "jobs", receipt.ID) // whoever deletes it by hand
		assert.False(t, k.Duplicate(pooltest.Only(work.UniqueOptions{})))
		k.Do("HSET", "unique", "void", "ghost 0 f")
		j := maintain.NewJanitor(maintain.Env{Store: pooltest.StoreOf(k.Enq)}, maintain.JanitorOptions{})
		require.NoError(t, j.FreeLocks(k.Ctx()))
		assert.Equal(t, 1, k.Number("HLEN", "unique"))
		assert.Empty(t, k.Text("HGET", "unique", "void"))
	})
}

// One that replaced the args of a job that was about to begin must find a job that runs with them, whatever happens in
// between.
func TestTheLatestArgsRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mu sync.Mutex
		last := 0
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("report", func(n int) error {
			mu.Lock()
			defer mu.Unlock()
			last = max(last, n)
			return nil
		}))
		rounds := 200
		if s.Embedded() == nil {
			rounds = 50
		}
		for n := range rounds {
			options := work.UniqueOptions{Key: "k", Until: work.UntilStarted, OnConflict: work.ReplaceArgs}
			_, err := k.EnqueueEntry(pooltest.Only(options, n+1))
			require.NoError(t, err)
		}
		k.Drained(pool)
		assert.Equal(t, rounds, last)
		k.Empty("report")
		assert.Zero(t, k.Number("HLEN", "unique"))
	})
}

func TestALostReplyToBeginLeavesTheJobToBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.Options()
		options.Connection = k.Via(proxy.DSN())
		begun := make(chan struct{}, 2)
		pool := k.Start(work.NewWorkerPool(nil, 1, options).
			Job("report", func() error { begun <- struct{}{}; return nil }))
		pooltest.Await(t, k.Spy, func(event.WorkerStarted) bool { return true })
		entry := pooltest.Only(work.UniqueOptions{Until: work.UntilStarted})
		_, err := k.EnqueueEntry(entry) // so that the script is known
		require.NoError(t, err)
		pooltest.Receive(t, begun)
		k.Drained(pool)
		swallowed := proxy.SwallowReply("{" + k.Namespace + "}:unique")
		assert.False(t, k.Duplicate(entry))
		pooltest.Receive(t, swallowed)
		pooltest.Receive(t, begun)
		k.Drained(pool)
		k.Empty("report")
		assert.Zero(t, k.Number("HLEN", "unique"))
		assert.Empty(t, begun)
	})
}

func TestARequestIsStoredOnceWhateverBecameOfItsJob(t *testing.T) {
	t.Parallel()
	ends := map[string]func(k *kit, i enginetest.ByHand, id string){
		"it waits":    func(*kit, enginetest.ByHand, string) {},
		"it stalled":  func(k *kit, i enginetest.ByHand, id string) { require.NoError(k.T, i.Stall(k.Ctx(), id)) },
		"was deleted": func(k *kit, i enginetest.ByHand, id string) { require.NoError(k.T, i.Delete(k.Ctx(), id)) },
		"was purged": func(k *kit, i enginetest.ByHand, _ string) {
			require.NoError(k.T, i.PurgeAll(k.Ctx(), "ok"))
		},
		"was cancelled": func(k *kit, i enginetest.ByHand, id string) {
			_, err := i.Cancel(k.Ctx(), id)
			require.NoError(k.T, err)
		},
		"its record is lost": func(k *kit, _ enginetest.ByHand, id string) { k.Do("HDEL", "jobs", id) },
	}
	for what, end := range ends {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				once := k.Enq.With(work.Once("request 7", time.Hour))
				first, err := once.Enqueue(k.Ctx(), "ok", 1)
				require.NoError(t, err)
				assert.False(t, first.Duplicate)
				end(k, k.ByHand(), first.ID)
				j := maintain.NewJanitor(maintain.Env{Store: pooltest.StoreOf(k.Enq)}, maintain.JanitorOptions{})
				require.NoError(t, j.FreeLocks(k.Ctx()))
				for _, name := range []string{"ok", "other"} {
					again, err := once.Enqueue(k.Ctx(), name, 2)
					require.NoError(t, err)
					assert.Equal(t, work.Receipt{ID: first.ID, Name: name, Duplicate: true}, again)
				}
				assert.Zero(t, k.Number("LLEN", "queue:other"))
				other, err := k.Enq.With(work.Once("request 8", time.Hour)).Enqueue(k.Ctx(), "ok", 1)
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
		pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: s.DSN(), Namespace: k.Namespace}).
			Job("done", func(id string) error { ran.Store(id, true); return nil }).
			Job("dropped", func() error { return work.Discard(pooltest.ErrLuck) }).
			JobWithOptions("dead", work.JobOptions{Retries: -1, Unique: &work.UniqueOptions{}},
				func() error { return pooltest.ErrLuck })
		require.NoError(t, pool.Start(k.Ctx()))
		defer func() { assert.NoError(t, pool.Stop(k.Ctx())) }()
		for name, args := range map[string][]any{"done": {"x"}, "dropped": nil, "dead": nil} {
			once := pool.Enqueuer().With(work.Once(name, time.Hour), work.Retention(time.Hour))
			first, err := once.Enqueue(k.Ctx(), name, args...)
			require.NoError(t, err)
			_ = once.WaitEnd(k.Ctx(), first.ID) // however it ended
			again, err := once.Enqueue(k.Ctx(), name, args...)
			require.NoError(t, err)
			assert.Equal(t, work.Receipt{ID: first.ID, Name: name, Duplicate: true}, again)
		}
		_, did := ran.Load("x")
		assert.True(t, did)
	})
}

func TestARequestWhoseReplyWasLostIsStoredOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		b := enginetest.NewEnqueueBench(t, s, proxy.DSN())
		_, err := b.With(work.Once("warm", time.Hour)).Enqueue(t.Context(), "warm") // so that Redis knows the script
		require.NoError(t, err)
		once := b.With(work.Once("k", time.Hour))
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
		assert.Equal(t, work.Receipt{ID: first.ID, Name: "a", Duplicate: true}, again)
		assert.Len(t, b.Waiting(t, "a"), 1)
	})
}

func TestARequestThatIsSentByManyAtOnceIsStoredOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := make([]work.Receipt, 40)
		var senders sync.WaitGroup
		for i := range receipts {
			senders.Go(func() {
				var err error
				receipts[i], err = k.Enq.With(work.Once("k", time.Hour)).Enqueue(k.Ctx(), "report", i)
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
		assert.EqualValues(t, 1, k.Number("LLEN", "queue:report"))
	})
}

func TestARequestMayComeAgainWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	s := redistest.Embedded(t)
	k := newKit(t, s)
	send := func() bool {
		receipt, err := k.Enq.With(work.Once("k", time.Minute)).Enqueue(k.Ctx(), "report")
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
			_, err := k.Enq.With(work.Once(row.key, row.d)).Enqueue(k.Ctx(), "report")
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, row.says)
		})
	}
}
