package work

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// duplicate enqueues the entry once more and tells whether another one of its kind lives.
func (k *kit) duplicate(e Entry) bool {
	k.t.Helper()
	receipt, err := k.enqueueEntry(e)
	require.NoError(k.t, err)
	return receipt.Duplicate
}

func TestWhenTheLockOfAJobIsFreed(t *testing.T) {
	t.Parallel()
	const later = time.Hour
	tests := map[string]struct {
		options  UniqueOptions
		job      JobOptions
		extra    []EnqueueOption
		outcome  error
		kept     bool // after the attempt another one is a duplicate still
		living   int  // records that are left before that is tried
		whileRun bool // another one is a duplicate while the handler runs
	}{
		"finished":            {whileRun: true},
		"finished, discarded": {outcome: Discard(nil), whileRun: true},
		"finished, failed":    {outcome: errLuck, kept: true, living: 1, whileRun: true},
		"finished, snoozed":   {outcome: Snooze(later), kept: true, living: 1, whileRun: true},
		"finished, buried":    {outcome: Bury(errLuck), living: 1, whileRun: true},
		"finished, dropped":   {job: JobOptions{Retries: -1, SkipMorgue: true}, outcome: errLuck, whileRun: true},
		"kept in morgue": {options: UniqueOptions{KeepInMorgue: true}, outcome: Bury(errLuck), kept: true,
			living: 1, whileRun: true},
		"kept in morgue, done":  {options: UniqueOptions{KeepInMorgue: true}, whileRun: true},
		"started":               {options: UniqueOptions{Until: UntilStarted}},
		"started, failed":       {options: UniqueOptions{Until: UntilStarted}, outcome: errLuck, living: 1},
		"for a time":            {options: UniqueOptions{For: later}, kept: true, whileRun: true},
		"for a time, discarded": {options: UniqueOptions{For: later}, outcome: Discard(nil), whileRun: true},
		"for a time, buried": {options: UniqueOptions{For: later}, outcome: Bury(errLuck), kept: true, living: 1,
			whileRun: true},
		"expired": {extra: []EnqueueOption{ExpireAt(time.UnixMilli(1))}},
		"expired, for a time": {options: UniqueOptions{For: later},
			extra: []EnqueueOption{ExpireAt(time.UnixMilli(1))}},
		"deadline, buried": {options: UniqueOptions{Until: UntilStarted},
			extra: []EnqueueOption{Deadline(time.UnixMilli(1))}, living: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, tt := newKit(t, s), tt
				tt.options.Key = "k"
				entry := only(tt.options)
				first := entry
				first.Options = append(first.Options, tt.extra...)
				begun, leave := make(chan struct{}), make(chan struct{})
				tt.job.Backoff = hourly
				pool := NewWorkerPool(nil, 1, k.options()).JobWithOptions("report", tt.job, func() error {
					close(begun)
					<-leave
					return tt.outcome
				})
				assert.False(t, k.duplicate(first))
				assert.True(t, k.duplicate(entry), "it waits")
				require.NoError(t, pool.Start(context.Background()))
				if tt.extra == nil {
					receive(t, begun)
					probe := entry // it is not to run, so it is due much later
					probe.In = later
					assert.Equal(t, tt.whileRun, k.duplicate(probe), "it runs")
				}
				close(leave)
				k.drained(pool)
				require.NoError(t, k.stop(pool))
				if !tt.whileRun && tt.extra == nil {
					return // the probe has the lock now
				}
				assert.Equal(t, tt.living, k.number("HLEN", "jobs"))
				assert.Equal(t, tt.kept, k.duplicate(entry), "after it")
			})
		})
	}
}

func TestALockForATimeEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Embedded(t)
	k := newKit(t, s)
	entry := only(UniqueOptions{For: time.Minute})
	assert.False(t, k.duplicate(entry))
	s.Embedded().Advance(59 * time.Second)
	assert.True(t, k.duplicate(entry))
	s.Embedded().Advance(time.Second)
	assert.False(t, k.duplicate(entry))
}

func TestACancelledJobHasNoLock(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		inspector, err := NewInspector(s.DSN(), Namespace(k.namespace))
		require.NoError(t, err)
		defer inspector.Close()
		for _, options := range []UniqueOptions{{}, {For: time.Hour}, {Until: UntilStarted}, {KeepInMorgue: true}} {
			options.Key = "k"
			receipt, err := k.enqueueEntry(only(options))
			require.NoError(t, err)
			require.False(t, receipt.Duplicate)
			_, err = inspector.Cancel(k.ctx(), receipt.ID)
			require.NoError(t, err)
			assert.Zero(t, k.number("HLEN", "unique"))
		}
	})
}

func TestALockIsVoidWithItsOwnerAndSweptByTheJanitor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipt, err := k.enqueueEntry(only(UniqueOptions{}))
		require.NoError(t, err)
		k.do("HDEL", "jobs", receipt.ID) // whoever deletes it by hand
		assert.False(t, k.duplicate(only(UniqueOptions{})))
		k.do("HSET", "unique", "void", "ghost 0 f")
		j := &janitor{worker: &worker{store: k.enq.core.store}}
		require.NoError(t, j.voidLocks(k.ctx()))
		assert.Equal(t, 1, k.number("HLEN", "unique"))
		assert.Empty(t, k.text("HGET", "unique", "void"))
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
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("report", func(n int) error {
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
			_, err := k.enqueueEntry(only(UniqueOptions{Key: "k", Until: UntilStarted, OnConflict: ReplaceArgs}, n+1))
			require.NoError(t, err)
		}
		k.drained(pool)
		assert.Equal(t, rounds, last)
		k.empty("report")
		assert.Zero(t, k.number("HLEN", "unique"))
	})
}

func TestALostReplyToBeginLeavesTheJobToBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.options()
		options.Redis = proxy.DSN()
		begun := make(chan struct{}, 2)
		pool := k.start(NewWorkerPool(nil, 1, options).Job("report", func() error { begun <- struct{}{}; return nil }))
		await(t, k.spy, func(event.WorkerStarted) bool { return true })
		entry := only(UniqueOptions{Until: UntilStarted})
		_, err := k.enqueueEntry(entry) // so that the script is known
		require.NoError(t, err)
		receive(t, begun)
		k.drained(pool)
		swallowed := proxy.SwallowReply("{" + k.namespace + "}:unique")
		assert.False(t, k.duplicate(entry))
		receive(t, swallowed)
		receive(t, begun)
		k.drained(pool)
		k.empty("report")
		assert.Zero(t, k.number("HLEN", "unique"))
		assert.Empty(t, begun)
	})
}
