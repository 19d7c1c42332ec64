package otelwork_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/otelwork"
)

func TestATraceGoesFromTheEnqueueThroughARetryToTheRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		done := make(chan struct{})
		studio.pool.Job("charge", func(ctx context.Context, job *work.Job) error {
			if job.Attempt == 1 {
				return work.RetryIn(time.Millisecond, assert.AnError)
			}
			_, span := studio.provider.Tracer("test").Start(ctx, "query")
			span.End()
			close(done)
			return nil
		})
		var id string
		studio.request(func(ctx context.Context) {
			receipt, err := studio.pool.Enqueuer().Enqueue(ctx, "charge")
			require.NoError(t, err)
			id = receipt.ID
		})
		require.NoError(t, studio.pool.Start(studio.ctx()))
		select {
		case <-done:
		case <-studio.ctx().Done():
			require.FailNow(t, "the second attempt never came")
		}
		require.NoError(t, studio.pool.Stop(studio.ctx()))

		request, enqueue := studio.span("request"), studio.span("enqueue charge")
		assert.Equal(t, trace.SpanKindProducer, enqueue.SpanKind)
		assert.Equal(t, request.SpanContext.SpanID(), enqueue.Parent.SpanID())
		assert.Equal(t, codes.Unset, enqueue.Status.Code)
		assert.Equal(t, map[string]string{
			"messaging.system": "work", "messaging.operation.name": "enqueue", "messaging.operation.type": "send",
			"messaging.destination.name": "charge", "messaging.message.id": id,
		}, attributes(enqueue))

		attempts := studio.spans("process charge")
		require.Len(t, attempts, 2)
		for _, attempt := range attempts {
			assert.Equal(t, trace.SpanKindConsumer, attempt.SpanKind)
			assert.Equal(t, request.SpanContext.TraceID(), attempt.SpanContext.TraceID())
			assert.Equal(t, enqueue.SpanContext.SpanID(), attempt.Parent.SpanID())
			assert.True(t, attempt.Parent.IsRemote())
			assert.Equal(t, []trace.SpanID{enqueue.SpanContext.SpanID()}, linked(attempt))
		}
		assert.Equal(t, map[string]string{
			"messaging.system": "work", "messaging.operation.name": "process", "messaging.operation.type": "process",
			"messaging.destination.name": "charge", "messaging.message.id": id,
			"work.attempt": "1", "work.retries_left": "25", "work.ending": "retry", "error.type": "*errors.errorString",
		}, attributes(attempts[0]))
		assert.Equal(t, codes.Error, attempts[0].Status.Code)
		assert.Contains(t, attempts[0].Status.Description, assert.AnError.Error())
		assert.NotEmpty(t, event(attempts[0], "exception"))
		second := attributes(attempts[1])
		assert.Equal(t, []string{"2", "24", "done", ""},
			[]string{second["work.attempt"], second["work.retries_left"], second["work.ending"], second["error.type"]})
		assert.Equal(t, codes.Unset, attempts[1].Status.Code)
		assert.Equal(t, attempts[1].SpanContext.SpanID(), studio.span("query").Parent.SpanID(),
			"the handler's ctx has the span")
	})
}

func TestEachJobOfManyHasItsOwnCreation(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		studio.pool.Job("a", func() error { return nil }).Job("b", func() error { return nil })
		studio.request(func(ctx context.Context) {
			_, err := studio.pool.Enqueuer().EnqueueMany(ctx, []work.Entry{{Name: "a"}, {Name: "b"}})
			require.NoError(t, err)
		})
		studio.run()
		request, send, a, b := studio.span("request"), studio.span("enqueue"), studio.span("create a"),
			studio.span("create b")
		assert.Equal(t, trace.SpanKindClient, send.SpanKind)
		assert.Equal(t, "2", attributes(send)["messaging.batch.message_count"])
		assert.NotContains(t, attributes(send), "messaging.destination.name")
		assert.Equal(t, []trace.SpanID{a.SpanContext.SpanID(), b.SpanContext.SpanID()}, linked(send))
		assert.Equal(t, trace.SpanKindProducer, a.SpanKind)
		assert.Equal(t, "create", attributes(a)["messaging.operation.type"])
		assert.Equal(t, request.SpanContext.SpanID(), a.Parent.SpanID())
		assert.Equal(t, a.SpanContext.SpanID(), studio.span("process a").Parent.SpanID())
		assert.Equal(t, b.SpanContext.SpanID(), studio.span("process b").Parent.SpanID())
	})
}

func TestWithoutCreateSpans(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s, otelwork.WithoutCreateSpans())
		studio.pool.Job("a", func() error { return nil })
		_, err := studio.pool.Enqueuer().EnqueueMany(studio.ctx(), []work.Entry{{Name: "a"}, {Name: "a"}})
		require.NoError(t, err)
		studio.run()
		send := studio.span("enqueue a")
		assert.Equal(t, trace.SpanKindProducer, send.SpanKind)
		assert.Empty(t, send.Links)
		assert.Equal(t, "a", attributes(send)["messaging.destination.name"])
		assert.Empty(t, studio.spans("create a"))
		runs := studio.spans("process a")
		require.Len(t, runs, 2)
		for _, run := range runs {
			assert.Equal(t, send.SpanContext.SpanID(), run.Parent.SpanID())
		}
	})
}

// TestAContextThatTheProgramGaveIsKept: whatever made it knows better where the job comes from.
func TestAContextThatTheProgramGaveIsKept(t *testing.T) {
	t.Parallel()
	const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	wanted, err := trace.SpanIDFromHex("b7ad6b7169203331")
	require.NoError(t, err)
	for name, entries := range map[string][]work.Entry{
		"one": {{Name: "a"}}, "many": {{Name: "a"}, {Name: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				studio := newStudio(t, s)
				studio.pool.Job("a", func() error { return nil })
				_, err := studio.pool.Enqueuer().With(work.Meta("traceparent", given)).
					EnqueueMany(studio.ctx(), entries)
				require.NoError(t, err)
				studio.run()
				assert.Empty(t, studio.spans("create a"))
				send := studio.span("enqueue a")
				assert.Equal(t, trace.SpanKindClient, send.SpanKind)
				require.Len(t, linked(send), len(entries))
				assert.Equal(t, wanted, linked(send)[0])
				for _, run := range studio.spans("process a") {
					assert.Equal(t, wanted, run.Parent.SpanID())
				}
			})
		})
	}
}

func TestAnEnqueueThatFails(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		_, err := studio.pool.Enqueuer().Enqueue(studio.ctx(), "a", make(chan int))
		require.Error(t, err)
		_, err = studio.pool.Enqueuer().With(work.ID("x")).Enqueue(studio.ctx(), "b")
		require.NoError(t, err)
		_, err = studio.pool.Enqueuer().With(work.ID("x")).Enqueue(studio.ctx(), "b")
		require.NoError(t, err)
		require.NoError(t, studio.pool.Stop(studio.ctx()))
		failed := studio.span("enqueue a")
		assert.Equal(t, codes.Error, failed.Status.Code)
		assert.NotEmpty(t, attributes(failed)["error.type"])
		assert.NotContains(t, attributes(failed), "messaging.message.id")
		both := studio.spans("enqueue b")
		require.Len(t, both, 2)
		assert.NotContains(t, attributes(both[0]), "work.duplicate")
		assert.Equal(t, "true", attributes(both[1])["work.duplicate"])
	})
}

func TestNothingIsWrittenWhereNothingIsTraced(t *testing.T) {
	t.Parallel()
	entries := []work.Entry{{Name: "a"}}
	err := otelwork.Enqueue(otelwork.WithTracerProvider(noop.NewTracerProvider()))(t.Context(), entries,
		func(_ context.Context, entries []work.Entry) ([]work.Receipt, error) {
			assert.Nil(t, entries[0].Meta())
			return []work.Receipt{{ID: "i"}}, nil
		})
	require.NoError(t, err)
}
