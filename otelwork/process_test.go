package otelwork_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/otelwork"
)

func explode() { panic("boom") }

// shouting is an error whose Unwrap panics.
type shouting struct{}

func (shouting) Error() string { return "shouting" }
func (shouting) Unwrap() error { panic("do not look into me") }

func TestTheStatusOfAnAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler func() error
		ending  string
		kind    string // error.type; empty when the attempt has not failed
	}{
		"nil":            {func() error { return nil }, "done", ""},
		"an error":       {func() error { return assert.AnError }, "bury", "*errors.errorString"},
		"a panic":        {func() error { explode(); return nil }, "bury", "*work.PanicError"},
		"runtime.Goexit": {func() error { runtime.Goexit(); return nil }, "bury", "*work.GoexitError"},
		"Bury":           {func() error { return work.Bury(assert.AnError) }, "bury", "*errors.errorString"},
		"Snooze":         {func() error { return work.Snooze(time.Hour) }, "snooze", ""},
		"Release":        {func() error { return work.Release(assert.AnError) }, "snooze", ""},
		"Discard":        {func() error { return work.Discard(assert.AnError) }, "discard", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				studio := newStudio(t, s)
				studio.pool.JobWithOptions("a", work.JobOptions{Retries: -1}, c.handler)
				_, err := studio.pool.Enqueuer().Enqueue(studio.ctx(), "a")
				require.NoError(t, err)
				studio.run()
				span := studio.span("process a")
				seen := attributes(span)
				assert.Equal(t, c.ending, seen["work.ending"])
				assert.Equal(t, c.kind, seen["error.type"])
				assert.Equal(t, c.kind != "", span.Status.Code == codes.Error)
				assert.Equal(t, c.kind != "", len(span.Events) == 1)
				if name == "a panic" {
					assert.Contains(t, event(span, "exception")["exception.stacktrace"], "otelwork_test.explode")
				}
			})
		})
	}
}

func TestSpansSayWhoseTheJobIs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		studio.pool.Job("a", func() error { return nil }).Job("b", func() error { return nil })
		enq := studio.pool.Enqueuer()
		_, err := enq.With(work.Key("customer-7")).Enqueue(studio.ctx(), "a")
		require.NoError(t, err)
		_, err = enq.EnqueueMany(studio.ctx(), []work.Entry{{Name: "b"},
			{Name: "b", Options: []work.EnqueueOption{work.Key("customer-8")}}})
		require.NoError(t, err)
		studio.run()
		assert.Equal(t, "customer-7", attributes(studio.span("enqueue a"))["work.key"])
		assert.Equal(t, "customer-7", attributes(studio.span("process a"))["work.key"])
		created := studio.spans("create b")
		require.Len(t, created, 2)
		assert.NotContains(t, attributes(created[0]), "work.key")
		assert.Equal(t, "customer-8", attributes(created[1])["work.key"])
		keys := []string{}
		for _, span := range studio.spans("process b") {
			keys = append(keys, attributes(span)["work.key"])
		}
		assert.ElementsMatch(t, []string{"", "customer-8"}, keys)
	})
}

func TestAnErrorWhoseMethodsPanic(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		studio.pool.JobWithOptions("a", work.JobOptions{Retries: -1}, func() error { return shouting{} })
		_, err := studio.pool.Enqueuer().Enqueue(studio.ctx(), "a")
		require.NoError(t, err)
		studio.run()
		assert.Equal(t, codes.Error, studio.span("process a").Status.Code)
	})
}

func TestWithNewTraces(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s, otelwork.WithNewTraces())
		studio.pool.Job("a", func() error { return nil })
		_, err := studio.pool.Enqueuer().Enqueue(studio.ctx(), "a")
		require.NoError(t, err)
		studio.run()
		enqueue, process := studio.span("enqueue a"), studio.span("process a")
		assert.NotEqual(t, enqueue.SpanContext.TraceID(), process.SpanContext.TraceID())
		assert.False(t, process.Parent.IsValid())
		assert.Equal(t, []trace.SpanID{enqueue.SpanContext.SpanID()}, linked(process))
	})
}

// TestAChildHangsBelowTheHandlerThatEnqueuedIt: one trace from the request to the child of the child.
func TestAChildHangsBelowTheHandlerThatEnqueuedIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		enqueue := func(name string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := work.EnqueuerFromContext(ctx).Enqueue(ctx, name)
				return err
			}
		}
		studio.pool.Job("a", enqueue("b")).Job("b", enqueue("c")).Job("c", func() error { return nil })
		studio.request(func(ctx context.Context) {
			_, err := studio.pool.Enqueuer().Enqueue(ctx, "a")
			require.NoError(t, err)
		})
		studio.run()
		above := studio.span("request")
		for _, name := range []string{"enqueue a", "process a", "enqueue b", "process b", "enqueue c", "process c"} {
			span := studio.span(name)
			assert.Equal(t, above.SpanContext.SpanID(), span.Parent.SpanID(), name)
			assert.Equal(t, above.SpanContext.TraceID(), span.SpanContext.TraceID(), name)
			above = span
		}
	})
}

// TestASpanAroundTheJob: what a middleware further out has begun is the parent, as the conventions want it.
func TestASpanAroundTheJob(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]otelwork.Option{"default": nil, "WithNewTraces": {otelwork.WithNewTraces()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				studio := newStudio(t, s)
				pool := studio.pool
				var inner trace.SpanContext
				opts := append(opts, otelwork.WithTracerProvider(studio.provider))
				pool.Middleware(otelwork.Process(opts...)).Job("a", func(ctx context.Context) error {
					inner = trace.SpanContextFromContext(ctx)
					return nil
				})
				_, err := pool.Enqueuer().Enqueue(studio.ctx(), "a")
				require.NoError(t, err)
				studio.run()
				both := studio.spans("process a")
				require.Len(t, both, 2)
				assert.Equal(t, inner.SpanID(), both[0].SpanContext.SpanID(), "the inner one ends first")
				assert.Equal(t, both[1].SpanContext.SpanID(), both[0].Parent.SpanID())
				assert.Equal(t, []trace.SpanID{studio.span("enqueue a").SpanContext.SpanID()}, linked(both[0]))
			})
		})
	}
}

// TestABrokenContextBesideASpanAroundTheJob: there is no creation to link to, and the span around is none.
func TestABrokenContextBesideASpanAroundTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		studio.pool.Middleware(otelwork.Process(otelwork.WithTracerProvider(studio.provider))).
			Job("a", func() error { return nil })
		_, err := studio.pool.Enqueuer().With(work.Meta("traceparent", "00-zzz")).Enqueue(studio.ctx(), "a")
		require.NoError(t, err)
		studio.run()
		assert.Empty(t, studio.span("enqueue a").Links)
		assert.Equal(t, trace.SpanKindProducer, studio.span("enqueue a").SpanKind)
		both := studio.spans("process a")
		require.Len(t, both, 2)
		assert.Empty(t, both[0].Links)
		assert.Equal(t, both[1].SpanContext.SpanID(), both[0].Parent.SpanID())
	})
}

func TestAJobWithoutAUsableContextHasATraceOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]work.EnqueueOption{
		"none": nil, "one that is broken": {work.Meta("traceparent", "00-zzz")},
		"only half of one": {work.Meta("tracestate", "a=b")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				studio := newStudio(t, s)
				namespace := redistest.Namespace(t)
				pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: namespace}).
					Middleware(otelwork.Process(otelwork.WithTracerProvider(studio.provider))).
					Job("a", func() error { return nil })
				studio.pool = pool
				_, err := pool.Enqueuer().With(opts...).Enqueue(studio.ctx(), "a")
				require.NoError(t, err)
				studio.run()
				process := studio.span("process a")
				assert.False(t, process.Parent.IsValid())
				assert.True(t, process.SpanContext.IsValid())
				assert.Empty(t, process.Links)
			})
		})
	}
}

func TestBaggageReachesTheHandler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s, otelwork.WithPropagator(
			propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})))
		var tenant string
		studio.pool.Job("a", func(ctx context.Context) error {
			tenant = baggage.FromContext(ctx).Member("tenant").Value()
			return nil
		})
		member, err := baggage.NewMember("tenant", "acme")
		require.NoError(t, err)
		bag, err := baggage.New(member)
		require.NoError(t, err)
		_, err = studio.pool.Enqueuer().Enqueue(baggage.ContextWithBaggage(studio.ctx(), bag), "a")
		require.NoError(t, err)
		studio.run()
		assert.Equal(t, "acme", tenant)
		assert.Equal(t, studio.span("enqueue a").SpanContext.SpanID(), studio.span("process a").Parent.SpanID())
	})
}

// TestJobsThatAreTakenTogether have one span, which is linked to the creation of each.
func TestJobsThatAreTakenTogether(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		studio.pool.JobWithOptions("a", work.JobOptions{Together: work.Together{Most: 3, Wait: time.Hour}},
			func(work.Batch[int]) error { return work.Bury(assert.AnError) })
		for i := range 3 {
			_, err := studio.pool.Enqueuer().Enqueue(studio.ctx(), "a", i)
			require.NoError(t, err)
		}
		studio.run()
		span := studio.span("process a")
		assert.False(t, span.Parent.IsValid())
		var created []trace.SpanID
		for _, one := range studio.spans("enqueue a") {
			created = append(created, one.SpanContext.SpanID())
		}
		require.Len(t, created, 3)
		assert.ElementsMatch(t, created, linked(span))
		assert.Equal(t, "3", attributes(span)["messaging.batch.message_count"])
		assert.Equal(t, codes.Error, span.Status.Code)
	})
}

func TestAStepIsASpanWithinItsAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		studio.pool.Job("import", func(ctx context.Context) error {
			_, err := work.Step(ctx, "download", func(context.Context) (int, error) { return 1, nil })
			return err
		})
		_, err := studio.pool.Enqueuer().Enqueue(studio.ctx(), "import")
		require.NoError(t, err)
		studio.run()
		assert.Equal(t, studio.span("process import").SpanContext.SpanID(),
			studio.span("step download").Parent.SpanID())
	})
}
