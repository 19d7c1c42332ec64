package otelwork

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
)

// Enqueue traces the enqueues of an Enqueuer, for work.WithEnqueueMiddleware or WorkerOptions.EnqueueMiddleware. It may
// be used by any number of them.
func Enqueue(opts ...Option) work.EnqueueMiddleware {
	s := newSettings(opts)
	return func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		if of := flow.StoringFromContext(ctx); of != nil {
			return s.enqueueFlow(ctx, of, entries, next)
		}
		if len(entries) == 1 {
			return s.enqueueOne(ctx, entries, next)
		}
		return s.enqueueMany(ctx, entries, next)
	}
}

func (s *settings) enqueueOne(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
	entry := &entries[0]
	attributes := append(sending(), destination(entry)...)
	if given, ok := s.given(entry); ok {
		return s.send(ctx, "enqueue "+entry.Name, entries, next, trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attributes...), trace.WithLinks(given))
	}
	return s.send(ctx, "enqueue "+entry.Name, entries, next, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attributes...))
}

func (s *settings) enqueueMany(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
	name := "enqueue"
	attributes := append(sending(), semconv.MessagingBatchMessageCount(len(entries)))
	if destination := sharedName(entries); destination != "" {
		name += " " + destination
		attributes = append(attributes, semconv.MessagingDestinationName(destination))
	}
	kind := trace.SpanKindProducer
	if !s.noCreate {
		kind = trace.SpanKindClient
		for i := range entries {
			s.create(ctx, &entries[i])
		}
	}
	var links []trace.Link
	for i := range entries {
		if given, ok := s.given(&entries[i]); ok {
			links = append(links, given)
		}
	}
	return s.send(ctx, name, entries, next, trace.WithSpanKind(kind), trace.WithAttributes(attributes...),
		trace.WithLinks(links...))
}

// create gives an entry a creation context of its own, unless it has one.
func (s *settings) create(ctx context.Context, entry *work.Entry, more ...attribute.KeyValue) {
	if s.writtenIn(entry.Meta()) {
		return
	}
	ctx, span := s.tracer().Start(ctx, "create "+entry.Name, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(
			system, semconv.MessagingOperationName("create"), semconv.MessagingOperationTypeCreate),
		trace.WithAttributes(destination(entry)...), trace.WithAttributes(more...))
	s.inject(ctx, entry)
	span.End()
}

// send is the span around next. Its context goes to all entries that have none.
func (s *settings) send(ctx context.Context, name string, entries []work.Entry, next work.EnqueueFunc,
	options ...trace.SpanStartOption) error {
	ctx, span := s.tracer().Start(ctx, name, options...)
	defer span.End()
	for i := range entries {
		if !s.writtenIn(entries[i].Meta()) {
			s.inject(ctx, &entries[i])
		}
	}
	receipts, err := next(ctx, entries)
	if len(receipts) == 1 && receipts[0].ID != "" {
		span.SetAttributes(semconv.MessagingMessageID(receipts[0].ID))
		if receipts[0].Duplicate {
			span.SetAttributes(duplicateKey.Bool(true))
		}
	}
	if err != nil {
		fail(span, err)
	}
	return err
}

// given is a link to the creation context that an entry has.
func (s *settings) given(entry *work.Entry) (trace.Link, bool) {
	found := s.creation(entry.Meta())
	return trace.Link{SpanContext: found}, found.IsValid()
}

func (s *settings) inject(ctx context.Context, entry *work.Entry) {
	carrier := propagation.MapCarrier{}
	s.propagator.Inject(ctx, carrier)
	for key, value := range carrier {
		entry.Options = append(entry.Options, work.Meta(key, value))
	}
}

func sending() []attribute.KeyValue {
	return []attribute.KeyValue{system, semconv.MessagingOperationName("enqueue"), semconv.MessagingOperationTypeSend}
}

// destination is where a job goes, and on whose behalf, where it has a key.
func destination(entry *work.Entry) []attribute.KeyValue {
	to := []attribute.KeyValue{semconv.MessagingDestinationName(entry.Name)}
	if key := entry.Settings().Key; key != "" {
		to = append(to, keyKey.String(key))
	}
	return to
}

// sharedName is the name that all entries have; empty when they differ.
func sharedName(entries []work.Entry) string {
	for i := range entries {
		if entries[i].Name != entries[0].Name {
			return ""
		}
	}
	return entries[0].Name
}
