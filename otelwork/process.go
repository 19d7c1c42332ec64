package otelwork

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/265d0351/work"
	"github.com/265d0351/work/middleware"
)

// Process traces the attempts of jobs, for WorkerPool.Middleware. Put it outermost, so that its span has the time of
// all others. The ctx of what is inside has the span. A panic comes out of it as a *work.PanicError, as which the pool
// takes it anyway. It may be used by any number of pools.
func Process(opts ...Option) middleware.Func {
	s := newSettings(opts)
	return func(ctx context.Context, job *work.Job, next work.NextFunc) error {
		ctx, span := s.begin(ctx, job)
		defer span.End()
		err := middleware.Catch(ctx, next, func(gone error) { finish(span, job, gone) })
		finish(span, job, err)
		return err
	}
}

func (s *settings) begin(ctx context.Context, job *work.Job) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		system, semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
		semconv.MessagingDestinationName(job.Name), semconv.MessagingMessageID(job.ID),
		attemptKey.Int(job.Attempt), retriesLeftKey.Int(job.RetriesLeft))}
	around := trace.SpanFromContext(ctx)
	hasAround := around.SpanContext().IsValid()
	if s.writtenIn(job.Meta) {
		ctx = s.propagator.Extract(trace.ContextWithSpan(ctx, nil), propagation.MapCarrier(job.Meta))
		if creation := trace.SpanContextFromContext(ctx); creation.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: creation}))
		}
	}
	switch {
	case hasAround:
		ctx = trace.ContextWithSpan(ctx, around)
	case s.newTraces:
		options = append(options, trace.WithNewRoot())
	}
	return s.tracer().Start(ctx, "process "+job.Name, options...)
}

func finish(span trace.Span, job *work.Job, err error) {
	ending, failed := job.Ending(err)
	span.SetAttributes(endingKey.String(string(ending)))
	if failed {
		fail(span, err)
	}
}
