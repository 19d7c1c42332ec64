package otelwork_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/otelwork"
)

func Example() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter() // a program has one that sends the spans somewhere
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	to := otelwork.WithTracerProvider(provider)

	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{
		Redis: "memory://example-otel", Logger: slog.New(slog.DiscardHandler),
		EnqueueMiddleware: []work.EnqueueMiddleware{otelwork.Enqueue(to)},
	}).
		Middleware(otelwork.Process(to)).
		Job("export", func() error { return nil })
	if _, err := pool.Enqueuer().Enqueue(ctx, "export"); err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(pool.Start(ctx), pool.Drain(ctx), pool.Stop(ctx)); err != nil {
		log.Fatal(err)
	}
	spans := exporter.GetSpans()
	for _, span := range spans {
		fmt.Println(span.SpanKind, span.Name)
	}
	fmt.Println("one trace:", spans[0].SpanContext.TraceID() == spans[1].SpanContext.TraceID())
	// Output:
	// producer enqueue export
	// consumer process export
	// one trace: true
}
