package work

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

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestATimeoutEndsTheCtxWithItsCause(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		wait := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		pool := k.start(NewWorkerPool(nil, 4, k.options()).
			JobWithOptions("option", JobOptions{Timeout: 20 * time.Millisecond, Backoff: hourly}, wait).
			JobWithOptions("enqueue", JobOptions{Timeout: time.Hour, Backoff: hourly}, wait))
		byOption := k.enqueue("option")
		byEnqueue, err := k.enq.With(Timeout(20*time.Millisecond)).Enqueue(k.ctx(), "enqueue")
		require.NoError(t, err)
		for _, id := range []string{byOption.ID, byEnqueue.ID} {
			failed := await(t, k.spy, ofJob[event.JobFailed](id))
			require.ErrorIs(t, failed.Err, ErrTimeout)
			assert.GreaterOrEqual(t, failed.Elapsed, 20*time.Millisecond)
		}
		k.drained(pool)
		assert.Zero(t, count[event.JobStuck](k.spy), "they returned")
	})
}

func TestATimeoutTooLongForGoIsNone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		handler := func(ctx context.Context) error { return context.Cause(ctx) }
		k.store("byRecord", "r", `{"jid":"r","name":"byRecord","args":[],"t":1,"timeout":9223372036854775807,"retention":9223372036854775807}`)
		k.start(NewWorkerPool(nil, 4, k.options()).
			JobWithOptions("byOption", JobOptions{Timeout: 1<<63 - 1, Retention: 1<<63 - 1}, handler).
			Job("byRecord", handler))
		await(t, k.spy, ofJob[event.JobDone](k.enqueue("byOption").ID))
		await(t, k.spy, ofJob[event.JobDone]("r"))
		assert.Zero(t, count[event.JobStuck](k.spy))
	})
}

func TestTimesAreAtMostACentury(t *testing.T) {
	t.Parallel()
	const century, far = 100 * 365 * 24 * time.Hour, 1<<63 - 1
	byOption := &run{record: &plainRecord,
		registration: &registration{options: JobOptions{Timeout: far, Retention: far}}}
	byRecord := &run{registration: &registration{}, record: &record{Timeout: far, Retention: far}}
	for _, r := range []*run{byOption, byRecord} {
		assert.Equal(t, century, r.timeout())
		assert.Equal(t, century, r.retention())
	}
}

func TestAHandlerThatIgnoresItsTimeoutIsStuckAndKeepsItsSlot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("deaf", JobOptions{Timeout: time.Millisecond, Backoff: hourly},
				func() error { <-release; return errors.New("late") }).
			Job("next", func() error { return nil })
		pool.stuckAfter = 5 * time.Millisecond
		k.start(pool)
		deaf := k.enqueue("deaf")
		stuck := await(t, k.spy, ofJob[event.JobStuck](deaf.ID))
		require.ErrorIs(t, stuck.Cause, ErrTimeout)
		assert.False(t, stuck.Begun.IsZero())
		next := k.enqueue("next")
		assert.Equal(t, 1, k.number("LLEN", "queue:next"), "nothing is fetched for a slot that is taken")
		close(release)
		started := await(t, k.spy, ofJob[event.JobStarted](next.ID))
		failed := await(t, k.spy, ofJob[event.JobFailed](deaf.ID))
		assert.False(t, started.Begun.Before(failed.Begun.Add(failed.Elapsed)),
			"the next began after the deaf one returned")
		k.drained(pool)
		assert.Equal(t, 1, count[event.JobStuck](k.spy))
	})
}

func TestTheCtxEndsWithTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ctxs := make(chan context.Context, 1)
		jobs := make(chan *Job, 1)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(ctx context.Context, job *Job) error {
			ctxs <- ctx
			jobs <- job
			return ctx.Err()
		}))
		id := k.enqueue("a").ID
		ctx := receive(t, ctxs)
		receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
		assert.Same(t, receive(t, jobs), JobFromContext(ctx))
		assert.Nil(t, JobFromContext(k.ctx()))
		await(t, k.spy, ofJob[event.JobDone](id))
	})
}

func TestTheNameIsALabelOfTheProfile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		name := "labelled " + k.namespace // which no other test has
		profile := func() string {
			var b bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // into memory
			return b.String()
		}
		inside, labels := make(chan string, 1), make(chan string, 1)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job(name, func(ctx context.Context) error {
			label, _ := pprof.Label(ctx, "job")
			labels <- label
			child := make(chan struct{})
			go func() { inside <- profile(); close(child) }()
			<-child
			return nil
		}))
		k.enqueue(name)
		assert.Equal(t, name, receive(t, labels))
		assert.Contains(t, receive(t, inside), `{"job":"`+name+`"}`)
		k.drained(pool)
		assert.Eventually(t, func() bool { return !strings.Contains(profile(), name) }, patience, 10*time.Millisecond,
			"the child may be ending")
	})
}

type counted struct{ seen int }

func (c *counted) Count(ctx context.Context, _ *Job, next NextFunc) error { c.seen++; return next(ctx) }

func TestEachJobHasACopyOfThePrototype(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := make(chan int, 3)
		prototype := &counted{seen: 40}
		k.start(NewWorkerPool(prototype, 1, k.options()).
			Middleware((*counted).Count).Middleware((*counted).Count).
			Job("a", func(c *counted) error { seen <- c.seen; return nil }))
		for range 3 {
			k.enqueue("a")
			assert.Equal(t, 42, receive(t, seen))
		}
		assert.Equal(t, 40, prototype.seen)
	})
}
