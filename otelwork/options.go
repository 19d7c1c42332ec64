package otelwork

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Option is an option of [Enqueue] and [Process].
type Option func(*settings)

type settings struct {
	provider   trace.TracerProvider
	propagator propagation.TextMapPropagator
	noCreate   bool
	newTraces  bool
}

// WithTracerProvider is where spans go. The default is the global provider of the otel package.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(s *settings) { s.provider = provider }
}

// WithPropagator is how contexts are written into a job's Meta and read from there; both sides need the same. The
// default is W3C Trace Context. The global propagator of the otel package is not used, since it does nothing unless
// set. Add propagation.Baggage{} to pass baggage on.
func WithPropagator(propagator propagation.TextMapPropagator) Option {
	return func(s *settings) { s.propagator = propagator }
}

// WithoutCreateSpans makes one span of an EnqueueMany, however many jobs it has.
func WithoutCreateSpans() Option { return func(s *settings) { s.noCreate = true } }

// WithNewTraces begins a new trace for each attempt, which links to the one of the enqueue.
func WithNewTraces() Option { return func(s *settings) { s.newTraces = true } }

func newSettings(opts []Option) settings {
	s := settings{propagator: propagation.TraceContext{}}
	for _, opt := range opts {
		if opt != nil {
			opt(&s)
		}
	}
	if s.propagator == nil {
		s.propagator = propagation.TraceContext{}
	}
	return s
}

// tracer is asked for at each use where the global provider is meant: it may be set later. The provider keeps it.
func (s *settings) tracer() trace.Tracer {
	provider := s.provider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return provider.Tracer("github.com/265d0351/work/otelwork", trace.WithSchemaURL(semconv.SchemaURL))
}

// writtenIn tells whether meta holds a context already.
func (s *settings) writtenIn(meta map[string]string) bool {
	for _, field := range s.propagator.Fields() {
		if _, ok := meta[field]; ok {
			return true
		}
	}
	return false
}
