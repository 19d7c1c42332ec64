package otelwork

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
)

const (
	flowKey   = attribute.Key("work.flow")
	memberKey = attribute.Key("work.member")
)

// In the Meta of a member are the id of its flow, and what creates those for which it waits: ids of traces and spans.
const (
	metaFlow  = "work.flow"
	metaAfter = "work.after"
)

// maxCreated is how many members of a flow have spans of their own: of larger ones all share the one of the enqueue,
// and so do those of a batch. maxAfter is to how many of those that it waits for a member is linked.
const (
	maxCreated = 200
	maxAfter   = 32
)

// enqueueFlow traces the storing of a flow, or of a part of one, by one span below which all else is: so all that its
// members do is one trace.
func (s *settings) enqueueFlow(ctx context.Context, of *flow.Storing, entries []work.Entry,
	next work.EnqueueFunc) error {
	ctx, span := s.tracer().Start(ctx, "enqueue flow", trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(sending()...),
		trace.WithAttributes(flowKey.String(of.Flow), semconv.MessagingBatchMessageCount(len(entries))))
	defer span.End()
	if of.After != nil && len(entries) <= maxCreated && !s.noCreate {
		s.createMembers(ctx, of, entries)
	}
	for i := range entries {
		entries[i].Options = append(entries[i].Options, work.Meta(metaFlow, of.Flow))
		if !s.writtenIn(entries[i].Meta()) {
			s.inject(ctx, &entries[i])
		}
	}
	receipts, err := next(ctx, entries)
	if len(receipts) > 0 && receipts[0].Duplicate {
		span.SetAttributes(duplicateKey.Bool(true))
	}
	if err != nil {
		fail(span, err)
	}
	return err
}

// createMembers gives each member a creation context of its own, unless it has one, and notes in what waits for it
// which one that is.
func (s *settings) createMembers(ctx context.Context, of *flow.Storing, entries []work.Entry) {
	created := make([]trace.SpanContext, len(entries))
	for i := range entries {
		s.create(ctx, &entries[i], flowKey.String(of.Flow), memberKey.String(of.Members[i]))
		created[i] = s.creation(entries[i].Meta())
	}
	for i, after := range of.After {
		var ids []string
		for _, place := range after[:min(len(after), maxAfter)] {
			if c := created[place]; c.IsValid() {
				ids = append(ids, c.TraceID().String()+"-"+c.SpanID().String())
			}
		}
		if ids != nil {
			entries[i].Options = append(entries[i].Options, work.Meta(metaAfter, strings.Join(ids, " ")))
		}
	}
}

// creation is the creation context that the Meta of a job has.
func (s *settings) creation(meta map[string]string) trace.SpanContext {
	if !s.writtenIn(meta) {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(s.propagator.Extract(context.Background(), propagation.MapCarrier(meta)))
}

// membership are the attributes of a member, and links to the creation of those that it has waited for.
func membership(job *work.Job) (options []trace.SpanStartOption) {
	id, is := job.Meta[metaFlow]
	member, of := strings.CutPrefix(job.ID, id+"/")
	if !is || !of { // a job that does again what a member did is none
		return nil
	}
	options = append(options, trace.WithAttributes(flowKey.String(id), memberKey.String(member)))
	for _, one := range strings.Fields(job.Meta[metaAfter]) {
		first, second, _ := strings.Cut(one, "-")
		traceID, badTrace := trace.TraceIDFromHex(first)
		spanID, badSpan := trace.SpanIDFromHex(second)
		if badTrace != nil || badSpan != nil {
			continue // somebody else's
		}
		options = append(options, trace.WithLinks(trace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, Remote: true}),
			Attributes:  []attribute.KeyValue{afterLink}}))
	}
	return options
}

// afterLink says of a link that its end was waited for.
var afterLink = attribute.Key("work.link").String("after")
