// Package otelwork traces jobs with OpenTelemetry, from the enqueue to every run. The context of the trace travels in
// the job's Meta, as W3C Trace Context.
//
//	enq, err := work.NewEnqueuer(dsn, work.WithEnqueueMiddleware(otelwork.Enqueue()))
//	pool := work.NewWorkerPool(nil, 15, options).Middleware(otelwork.Process())
//
// # What a trace looks like
//
// It follows the conventions for messaging spans,
// https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/, in the words of which a job is a message, its
// name is the destination and its Enqueuer the producer. The conventions are not stable yet; SchemaURL of the spans
// says which version was followed.
//
//   - Enqueue of one job is a span "enqueue <name>" of kind producer. Its context is the job's creation context.
//   - EnqueueMany of several jobs is a span "create <name>" of kind producer for each, whose context is that job's, and
//     one span "enqueue" of kind client that links to all of them. [WithoutCreateSpans] makes it one span of kind
//     producer, whose context is that of all the jobs: for batches of thousands.
//   - An attempt is a span "process <name>" of kind consumer around the handler and the middleware inside. Each attempt
//     of a job that is retried has one of its own.
//
// What package flow stores is a span "enqueue flow" of kind producer, also of each part of a batch, and all that the
// members do is in its trace. In a graph of up to 200 jobs each member has a span "create <name>" below it, and its
// process span links to those of the members that it has waited for, 32 at the most, with work.link = after. The
// members of larger ones, and of a batch, have the one of the enqueue. work.flow and work.member name them.
//
// A step of a job ([work.Step]) that is done is a span "step <name>" within that of its attempt; one that an earlier
// attempt has done is none.
//
// A process span always links to the creation context. It is a child of it as well, which the conventions leave open
// for single messages: so a trace goes on from the request to the job and what the job does. [WithNewTraces] begins a
// trace for each attempt instead, which is better where jobs wait for days. Where another middleware has begun a span
// in the ctx of the job, the process span is the child of that one.
//
// A context that the program itself gave the job as Meta is kept, and linked to.
//
// The status is Error, with error.type and the error as an event, for what counts as a failure of the attempt: not for
// Snooze, Release and Discard. work.ending says what becomes of the job: done, retry, snooze, release, bury or discard.
//
// A traced job's record is 70 bytes larger, more with a tracestate or baggage, for a member also by the id of its flow
// and 50 for each link; and Meta has a limit of 16 KiB in all.
package otelwork
