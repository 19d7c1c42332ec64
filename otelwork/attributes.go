package otelwork

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/errchain"
)

// system is the value of messaging.system. The conventions have none for this library.
var system = semconv.MessagingSystemKey.String("work")

// What the conventions have no attribute for.
const (
	attemptKey     = attribute.Key("work.attempt")
	retriesLeftKey = attribute.Key("work.retries_left")
	endingKey      = attribute.Key("work.ending")
	duplicateKey   = attribute.Key("work.duplicate")
	keyKey         = attribute.Key("work.key") // on whose behalf the job is done
)

// fail marks a span as failed. The error is the program's own, and so are its methods.
func fail(span trace.Span, err error) {
	defer func() {
		if recover() != nil {
			span.SetStatus(codes.Error, "an error whose own methods panic")
		}
	}()
	var options []trace.EventOption
	if panicked := errchain.Find[*work.PanicError](err); panicked != nil {
		options = append(options, trace.WithAttributes(semconv.ExceptionStacktrace(panicked.Stack)))
	}
	span.RecordError(err, options...)
	span.SetStatus(codes.Error, err.Error())
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
}

// errorType is the type of the innermost error: those around it only add words, and an attribute that few spans share
// helps nobody. A panic is one whatever was thrown.
func errorType(err error) string {
	for {
		if _, ok := err.(*work.PanicError); ok { // not errors.As: this walks along the chain itself
			return fmt.Sprintf("%T", err)
		}
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
