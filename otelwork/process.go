package otelwork

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
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
		ctx = work.AroundSteps(ctx, s.step)
		err := middleware.Catch(ctx, next, func(gone error) { finish(span, job, gone) })
		finish(span, job, err)
		return err
	}
}

// step is the span of a step that is done, within that of its attempt.
func (s *settings) step(ctx context.Context, step string, next work.NextFunc) error {
	ctx, span := s.tracer().Start(ctx, "step "+step)
	defer span.End()
	err := next(ctx)
	if err != nil {
		fail(span, err)
	}
	return err
}

func (s *settings) begin(ctx context.Context, job *work.Job) (context.Context, trace.Span) {
	if together := job.Together(); together != nil {
		return s.beginTogether(ctx, job.Name, together)
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		system, semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
		semconv.MessagingDestinationName(job.Name), semconv.MessagingMessageID(job.ID),
		attemptKey.Int(job.Attempt), retriesLeftKey.Int(job.RetriesLeft))}
	if job.Key != "" {
		options = append(options, trace.WithAttributes(keyKey.String(job.Key)))
	}
	around := trace.SpanFromContext(ctx)
	hasAround := around.SpanContext().IsValid()
	if s.writtenIn(job.Meta) {
		ctx = s.propagator.Extract(trace.ContextWithSpan(ctx, nil), propagation.MapCarrier(job.Meta))
		if creation := trace.SpanContextFromContext(ctx); creation.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: creation}))
		}
	}
	options = append(options, membership(job)...)
	switch {
	case hasAround:
		ctx = trace.ContextWithSpan(ctx, around)
	case s.newTraces:
		options = append(options, trace.WithNewRoot())
	}
	return s.tracer().Start(ctx, "process "+job.Name, options...)
}

// beginTogether begins the one span of jobs that are taken together. It belongs to none of their traces, and is linked
// to the creation of each.
func (s *settings) beginTogether(ctx context.Context, name string, jobs []*work.Job) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		system, semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
		semconv.MessagingDestinationName(name), semconv.MessagingBatchMessageCount(len(jobs)))}
	for _, job := range jobs {
		if !s.writtenIn(job.Meta) {
			continue
		}
		created := s.propagator.Extract(context.Background(), propagation.MapCarrier(job.Meta))
		if creation := trace.SpanContextFromContext(created); creation.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: creation,
				Attributes: []attribute.KeyValue{semconv.MessagingMessageID(job.ID)}}))
		}
	}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		options = append(options, trace.WithNewRoot())
	}
	return s.tracer().Start(ctx, "process "+name, options...)
}

func finish(span trace.Span, job *work.Job, err error) {
	ending, failed := job.Ending(err)
	span.SetAttributes(endingKey.String(string(ending)))
	if failed {
		fail(span, err)
	}
}
