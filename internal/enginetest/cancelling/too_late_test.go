package cancelling_test

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

func TestAJobThatHasNotBegunInTimeExpires(t *testing.T) {
	t.Parallel()
	past, future := time.UnixMilli(1), time.Now().Add(time.Hour)
	tests := map[string]struct {
		options []work.EnqueueOption
		trail   string
		crashes string
		expired bool
	}{
		"expired":                    {options: []work.EnqueueOption{work.ExpireAt(past)}, expired: true},
		"not yet":                    {options: []work.EnqueueOption{work.ExpireAt(future)}},
		"in a while":                 {options: []work.EnqueueOption{work.ExpireIn(time.Hour)}},
		"has failed before":          {options: []work.EnqueueOption{work.ExpireAt(past)}, trail: `{"fails":1}`},
		"was put off by its handler": {options: []work.EnqueueOption{work.ExpireAt(past)}, trail: `{"begun":true}`},
		"was put off before it began": {options: []work.EnqueueOption{work.ExpireAt(past)}, trail: `{"run_at":5}`,
			expired: true},
		"a worker died with it":   {options: []work.EnqueueOption{work.ExpireAt(past)}, crashes: "w0"},
		"the last of two options": {options: []work.EnqueueOption{work.ExpireAt(past), work.ExpireIn(time.Hour)}},
		"the last of two, otherwise": {options: []work.EnqueueOption{work.ExpireIn(time.Hour), work.ExpireAt(past)},
			expired: true},
		"with what else may belong to it": {options: []work.EnqueueOption{work.ExpireAt(past),
			work.Unique(work.UniqueOptions{})},
			expired: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				receipt, err := k.Enq.With(append(tt.options, work.Tags("big"))...).SourcedEnqueue(k.Ctx(), "a", 7)
				require.NoError(t, err)
				if tt.trail != "" {
					k.Do("HSET", "trail", receipt.ID, tt.trail)
				}
				if tt.crashes != "" {
					k.Do("HSET", "crashes", receipt.ID, tt.crashes)
				}
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { return nil }))
				if !tt.expired {
					pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](receipt.ID))
					return
				}
				e := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobExpired](receipt.ID))
				assert.Equal(t, past, e.At)
				assert.Equal(t, []string{"big"}, e.Tags)
				assert.Equal(t, int64(7), e.SourceID)
				k.Drained(pool)
				k.Empty("a")
				assert.Zero(t, k.Number("HLEN", "unique"))
				assert.Zero(t, pooltest.Count[event.JobStarted](k.Spy))
				_, err = work.Result[int](k.Ctx(), k.Enq, receipt.ID)
				var none *work.NoResultError
				require.ErrorAs(t, err, &none)
				assert.Equal(t, "expired", none.State)
			})
		})
	}
}

func TestAJobThatWasPutOffHasBegun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipt, err := k.Enq.With(work.ExpireIn(time.Hour)).Enqueue(k.Ctx(), "a")
		require.NoError(t, err)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func() error { return work.Snooze(time.Hour) }))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](receipt.ID))
		k.Drained(pool)
		assert.True(t, k.Trail(receipt.ID).Begun)
	})
}

func TestTheTimeToExpireBeginsWhenAJobIsDue(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	receipt, err := k.Enq.With(work.ExpireIn(time.Minute)).EnqueueIn(k.Ctx(), "a", time.Hour)
	require.NoError(t, err)
	r, err := record.Decode([]byte(k.Text("HGET", "jobs", receipt.ID)))
	require.NoError(t, err)
	assert.Equal(t, r.RunAt+time.Minute.Milliseconds(), r.Expires)
}

func TestADeadlineEndsTheCtxAndTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			JobWithOptions("a", work.JobOptions{Timeout: time.Hour},
				func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }))
		now := pooltest.PartsOf(k.Enq).Clock
		k.Enqueue("other")
		receipt, err := k.Enq.With(work.Deadline(now.Now().Add(200*time.Millisecond))).Enqueue(k.Ctx(), "a")
		require.NoError(t, err)
		buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](receipt.ID))
		if errors.Is(buried.Err, work.ErrDeadline) { // else the machine was so slow that it has not begun
			assert.Equal(t, "its next attempt would come after its deadline", buried.Reason)
			require.ErrorIs(t, buried.Err, work.ErrTimeout)
			assert.Equal(t, event.FailureTimeout, buried.Failure)
			return
		}
		assert.Equal(t, "its deadline has passed", buried.Reason)
	})
}

func TestNoAttemptBeginsAfterTheDeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options work.JobOptions
		event   func(t *testing.T, k *kit, id string) string
	}{
		"buried": {event: func(t *testing.T, k *kit,
			id string) string {
			return pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id)).Reason
		}},
		"dropped": {options: work.JobOptions{SkipMorgue: true}, event: func(t *testing.T, k *kit, id string) string {
			return pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDiscarded](id)).Err.Error()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				receipt, err := k.Enq.With(work.Deadline(time.UnixMilli(1))).Enqueue(k.Ctx(), "a")
				require.NoError(t, err)
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("a", tt.options, func() error { return nil }))
				assert.Equal(t, "its deadline has passed", tt.event(t, k, receipt.ID))
				assert.Zero(t, pooltest.Count[event.JobStarted](k.Spy))
			})
		})
	}
}

func TestTagsReachTheHandlerAndEveryEvent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := make(chan []string, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job) error { seen <- job.Tags; return nil }))
		receipt, err := k.Enq.With(work.Tags("old"), work.Tags("eu", `"quoted"`)).Enqueue(k.Ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, []string{"eu", `"quoted"`}, pooltest.Receive(t, seen))
		assert.Equal(t, []string{"eu", `"quoted"`}, pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](receipt.ID)).
			Tags)
	})
}

func TestATimeoutEndsTheCtxWithItsCause(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		wait := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		pool := k.Start(work.NewWorkerPool(nil, 4, k.Options()).
			JobWithOptions("option", work.JobOptions{Timeout: 20 * time.Millisecond, Backoff: pooltest.Hourly}, wait).
			JobWithOptions("enqueue", work.JobOptions{Timeout: time.Hour, Backoff: pooltest.Hourly}, wait))
		byOption := k.Enqueue("option")
		byEnqueue, err := k.Enq.With(work.Timeout(20*time.Millisecond)).Enqueue(k.Ctx(), "enqueue")
		require.NoError(t, err)
		for _, id := range []string{byOption.ID, byEnqueue.ID} {
			failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
			require.ErrorIs(t, failed.Err, work.ErrTimeout)
			assert.GreaterOrEqual(t, failed.Elapsed, 20*time.Millisecond)
		}
		k.Drained(pool)
		assert.Zero(t, pooltest.Count[event.JobStuck](k.Spy), "they returned")
	})
}

func TestATimeoutTooLongForGoIsNone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		handler := func(ctx context.Context) error { return context.Cause(ctx) }
		k.Store("byRecord", "r", `{"jid":"r","name":"byRecord","args":[],"t":1,"timeout":9223372036854775807,"retention":9223372036854775807}`)
		k.Start(work.NewWorkerPool(nil, 4, k.Options()).
			JobWithOptions("byOption", work.JobOptions{Timeout: 1<<63 - 1, Retention: 1<<63 - 1}, handler).
			Job("byRecord", handler))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](k.Enqueue("byOption").ID))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone]("r"))
		assert.Zero(t, pooltest.Count[event.JobStuck](k.Spy))
	})
}

func TestAHandlerThatIgnoresItsTimeoutIsStuckAndKeepsItsSlot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("deaf", work.JobOptions{Timeout: time.Millisecond, Backoff: pooltest.Hourly},
				func() error { <-release; return errors.New("late") }).
			Job("next", func() error { return nil })
		pooltest.Times(pool).Stuck = 5 * time.Millisecond
		k.Start(pool)
		deaf := k.Enqueue("deaf")
		stuck := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStuck](deaf.ID))
		require.ErrorIs(t, stuck.Cause, work.ErrTimeout)
		assert.False(t, stuck.Begun.IsZero())
		next := k.Enqueue("next")
		assert.Equal(t, 1, k.Number("LLEN", "queue:next"), "nothing is fetched for a slot that is taken")
		close(release)
		started := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStarted](next.ID))
		failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](deaf.ID))
		assert.False(t, started.Begun.Before(failed.Begun.Add(failed.Elapsed)),
			"the next began after the deaf one returned")
		k.Drained(pool)
		assert.Equal(t, 1, pooltest.Count[event.JobStuck](k.Spy))
	})
}

func TestTheCtxEndsWithTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ctxs := make(chan context.Context, 1)
		jobs := make(chan *work.Job, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(ctx context.Context, job *work.Job) error {
			ctxs <- ctx
			jobs <- job
			return ctx.Err()
		}))
		id := k.Enqueue("a").ID
		ctx := pooltest.Receive(t, ctxs)
		pooltest.Receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
		assert.Same(t, pooltest.Receive(t, jobs), work.JobFromContext(ctx))
		assert.Nil(t, work.JobFromContext(k.Ctx()))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
	})
}

func TestTheNameIsALabelOfTheProfile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		name := "labelled " + k.Namespace // which no other test has
		profile := func() string {
			var b bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // into memory
			return b.String()
		}
		inside, labels := make(chan string, 1), make(chan string, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job(name, func(ctx context.Context) error {
			label, _ := pprof.Label(ctx, "job")
			labels <- label
			child := make(chan struct{})
			go func() { inside <- profile(); close(child) }()
			<-child
			return nil
		}))
		k.Enqueue(name)
		assert.Equal(t, name, pooltest.Receive(t, labels))
		assert.Contains(t, pooltest.Receive(t, inside), `{"job":"`+name+`"}`)
		k.Drained(pool)
		assert.Eventually(t, func() bool { return !strings.Contains(profile(), name) }, pooltest.Patience,
			10*time.Millisecond,
			"the child may be ending")
	})
}

type counted struct{ seen int }

func (c *counted) Count(ctx context.Context, _ *work.Job, next work.NextFunc) error {
	c.seen++
	return next(ctx)
}

func TestEachJobHasACopyOfThePrototype(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := make(chan int, 3)
		prototype := &counted{seen: 40}
		k.Start(work.NewWorkerPool(prototype, 1, k.Options()).
			Middleware((*counted).Count).Middleware((*counted).Count).
			Job("a", func(c *counted) error { seen <- c.seen; return nil }))
		for range 3 {
			k.Enqueue("a")
			assert.Equal(t, 42, pooltest.Receive(t, seen))
		}
		assert.Equal(t, 40, prototype.seen)
	})
}
