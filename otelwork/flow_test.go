package otelwork_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/otelwork"
)

func nothing() error { return nil }

// tracesOf are the ids of all traces of which there are spans.
func (s *studio) tracesOf() (ids []trace.TraceID) {
	for _, span := range s.exporter.GetSpans() {
		if id := span.SpanContext.TraceID(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func member(t *testing.T, spans []tracetest.SpanStub, name string) tracetest.SpanStub {
	t.Helper()
	for _, span := range spans {
		if attributes(span)["work.member"] == name {
			return span
		}
	}
	require.Fail(t, "there is no span of the member", name)
	return tracetest.SpanStub{}
}

func TestAFlowIsOneTrace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s)
		studio.pool.Job("a", nothing).Job("steps", func(ctx context.Context) error {
			_, err := work.Step(ctx, "one", func(context.Context) (int, error) { return 1, nil })
			return err
		})
		f := flow.New("order-7").OnDone("a")
		charge, pick := f.Job("a").Named("charge"), f.Job("steps").Named("pick")
		f.Job("a").Named("ship").After(charge, pick)
		_, err := flow.Enqueue(studio.ctx(), studio.pool.Enqueuer(), f)
		require.NoError(t, err)
		studio.runFlow("order-7")

		enqueue := studio.span("enqueue flow")
		assert.Equal(t, map[string]string{"messaging.system": "work", "messaging.operation.name": "enqueue",
			"messaging.operation.type": "send", "work.flow": "order-7", "messaging.batch.message_count": "4"},
			attributes(enqueue))
		assert.Len(t, studio.tracesOf(), 1, "all that belongs to the flow")
		created, ran := studio.spans("create a"), studio.spans("process a")
		require.Len(t, created, 3)
		require.Len(t, ran, 3)
		creations := map[string]trace.SpanID{"pick": studio.span("create steps").SpanContext.SpanID()}
		for _, name := range []string{"charge", "ship", "@done"} {
			span := member(t, created, name)
			assert.Equal(t, enqueue.SpanContext.SpanID(), span.Parent.SpanID())
			creations[name] = span.SpanContext.SpanID()
			assert.Equal(t, creations[name], member(t, ran, name).Parent.SpanID())
		}
		assert.Equal(t, []trace.SpanID{creations["ship"], creations["charge"], creations["pick"]},
			linked(member(t, ran, "ship")), "to what it has waited for")
		assert.Equal(t, []trace.SpanID{creations["charge"]}, linked(member(t, ran, "charge")))
		assert.Equal(t, studio.span("process steps").SpanContext.SpanID(), studio.span("step one").Parent.SpanID())
	})
}

func TestALargeFlowAndABatchHaveOneSpanForAllMembers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, store := range map[string]func(*studio) error{
			"a graph": func(studio *studio) error {
				f := flow.New("f")
				first := f.Job("a").Named("first")
				for n := range 249 { // so many that they may run with the end of the first
					f.Job("a").Named(strconv.Itoa(n)).After(first)
				}
				_, err := flow.Enqueue(studio.ctx(), studio.pool.Enqueuer(), f)
				return err
			},
			"a batch": func(studio *studio) error {
				entries := slices.Repeat([]work.Entry{{Name: "a"}}, 750)
				_, err := flow.Batch(studio.ctx(), studio.pool.Enqueuer(), "f", slices.Values(entries))
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				studio := newStudio(t, s)
				studio.pool.Job("a", nothing)
				require.NoError(t, store(studio))
				studio.runFlow("f")
				assert.Empty(t, studio.spans("create a"))
				assert.Len(t, studio.spans("process a"), map[string]int{"a graph": 250, "a batch": 750}[name])
				assert.Len(t, studio.tracesOf(), 1)
			})
		}
	})
}

func TestWhatIsAddedBelongsToTheTraceOfItsFlow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		studio := newStudio(t, s, otelwork.WithNewTraces())
		studio.pool.Job("a", nothing).Job("adds", func(ctx context.Context, job *work.Job) error {
			return flow.Add(ctx, job, "more", work.Entry{Name: "a"})
		})
		f := flow.New("f")
		f.Job("adds")
		_, err := flow.Enqueue(studio.ctx(), studio.pool.Enqueuer(), f)
		require.NoError(t, err)
		studio.runFlow("f")
		added := studio.spans("enqueue flow")[1]
		assert.Equal(t, studio.span("process adds").SpanContext.SpanID(), added.Parent.SpanID())
		assert.Equal(t, []trace.SpanID{added.SpanContext.SpanID()}, linked(studio.span("process a")))
	})
}
