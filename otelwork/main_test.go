package otelwork_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/otelwork"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience is how long a test waits for a signal; nothing depends on it while all is well.
const patience = 2 * time.Minute

// studio is a pool and an exporter that keeps its spans.
type studio struct {
	t        *testing.T
	exporter *tracetest.InMemoryExporter
	provider *sdktrace.TracerProvider
	pool     *work.WorkerPool
}

func newStudio(t *testing.T, s redistest.Server, opts ...otelwork.Option) *studio {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	opts = append([]otelwork.Option{otelwork.WithTracerProvider(provider)}, opts...)
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{EnqueueAnyName: true,
		Redis: s.DSN(), Namespace: redistest.Namespace(t), Logger: slog.New(slog.DiscardHandler),
		EnqueueMiddleware: []work.EnqueueMiddleware{otelwork.Enqueue(opts...)},
	})
	pool.Middleware(otelwork.Process(opts...))
	return &studio{t: t, exporter: exporter, provider: provider, pool: pool}
}

func (s *studio) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.t.Cleanup(cancel)
	return ctx
}

// request is what a program does before it enqueues: a span of its own.
func (s *studio) request(do func(ctx context.Context)) {
	ctx, span := s.provider.Tracer("test").Start(s.ctx(), "request")
	defer span.End()
	do(ctx)
}

// run lets the pool run what is due, and stops it.
func (s *studio) run() {
	s.t.Helper()
	require.NoError(s.t, s.pool.Start(s.ctx()))
	require.NoError(s.t, s.pool.Drain(s.ctx()))
	require.NoError(s.t, s.pool.Stop(s.ctx()))
}

// runFlow is run for a flow: what its worker does not know where to put, others put there a moment later.
func (s *studio) runFlow(id string) {
	s.t.Helper()
	require.NoError(s.t, s.pool.Start(s.ctx()))
	_, err := flow.Wait(s.ctx(), s.pool.Enqueuer(), id)
	require.NoError(s.t, err)
	require.NoError(s.t, s.pool.Drain(s.ctx()))
	require.NoError(s.t, s.pool.Stop(s.ctx()))
}

// spans returns the spans of that name, in the order of their ends.
func (s *studio) spans(name string) []tracetest.SpanStub {
	var found []tracetest.SpanStub
	for _, span := range s.exporter.GetSpans() {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

func (s *studio) span(name string) tracetest.SpanStub {
	s.t.Helper()
	found := s.spans(name)
	require.Len(s.t, found, 1, "spans named %q", name)
	return found[0]
}

// attributes are those of a span, as text.
func attributes(span tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range span.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// event is one of a span's events by its name, as text.
func event(span tracetest.SpanStub, name string) map[string]string {
	all := map[string]string{}
	for _, e := range span.Events {
		if e.Name == name {
			for _, a := range e.Attributes {
				all[string(a.Key)] = a.Value.String()
			}
		}
	}
	return all
}

// linked are the ids of the spans that a span links to.
func linked(span tracetest.SpanStub) []trace.SpanID {
	var ids []trace.SpanID
	for _, link := range span.Links {
		ids = append(ids, link.SpanContext.SpanID())
	}
	return ids
}
