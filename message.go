package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/mailing"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Send gives a message to a job, which gets it from [Receive] under the same name. The job need not have asked for it
// yet, nor even have begun: the message waits in the job's mailbox. If the job waits for it, the job is due at once.
//
//	err := work.Send(ctx, enq, receipt.ID, "approval", Approval{By: "ann"})
//
// When it returns nil the message is in Redis, once: a call whose reply was lost is made again under its number. It
// tries as long as an enqueue does ([EnqueueTimeout]). An error is a *[MessageError]; if that is neither
// [ErrNotFound], nor [ErrMailboxFull], nor an *[InvalidError], the message may have been stored or not.
//
// value is stored as JSON; text in it that is not UTF-8 is an *[InvalidError]. A mailbox holds at most 100 messages
// that were not asked for, and 256 KiB of them. It goes away with the job: a job that never asks loses its messages
// without a word. A message to a job that has ended, or that never was, is an error; one that is dead lives, as it can
// be retried. It is found in whichever partition it is. An id that is used again has an empty mailbox. Send may be
// called concurrently, and by handlers with [EnqueuerFromContext].
func Send(ctx context.Context, enq *Enqueuer, id, name string, value any) error {
	err := enq.sendMessage(ctx, id, name, value)
	if err != nil {
		return &MessageError{Job: id, Message: name, State: enq.core.endedAs(ctx, id, err), Err: err}
	}
	return nil
}

// ErrMailboxFull says that a job has as many messages as it may have that it has not asked for.
var ErrMailboxFull = fmt.Errorf("its mailbox is full: it has %d messages, or %d KiB of them, that it has not asked for",
	rdb.MaxMessages, rdb.MaxMailboxBytes>>10)

// MessageError says why a message was not sent.
type MessageError struct {
	Job, Message string
	State        State // of one that has ended, where that is still known; empty otherwise
	Err          error // such as ErrNotFound, ErrMailboxFull, *InvalidError
}

func (e *MessageError) Error() string { return excerpt.Cut(e.text()) }

func (e *MessageError) text() string {
	reason := excerpt.ErrorText(e.Err)
	if e.State != "" {
		reason = "it has ended as " + string(e.State)
	}
	return fmt.Sprintf("message %s was not sent to job %s: %s", excerpt.Brief(e.Message), excerpt.Brief(e.Job), reason)
}

// Unwrap returns Err.
func (e *MessageError) Unwrap() error { return e.Err }

func (e *Enqueuer) sendMessage(ctx context.Context, id, name string, value any) error {
	c := e.core
	if err := c.intake.Enter(); err != nil {
		return err
	}
	defer c.intake.Leave()
	if err := validateID(id); err != nil {
		return err
	}
	if problem := badStepName(name); problem != "" {
		return &InvalidError{What: "a message", Value: fmt.Sprintf("one that %.300s", problem),
			Remedy: "use 1 to 255 bytes of text"}
	}
	encoded, err := encodeValue(value)
	var broken *InvalidError
	switch {
	case errors.As(err, &broken):
		return broken
	case err != nil:
		return &InvalidError{What: "message " + excerpt.Brief(name), Value: excerpt.ErrorText(err),
			Remedy: "send what encoding/json can encode"}
	}
	if encoded, err = e.settings.codecs.Encode(codec.Message(id, name), encoded); err != nil {
		return codecError("message "+excerpt.Brief(name), err)
	}
	if len(encoded)+len(name) > rdb.MaxMailboxBytes/2 {
		return &InvalidError{What: "message " + excerpt.Brief(name),
			Value:  fmt.Sprintf("a value whose JSON has %d bytes", len(encoded)),
			Remedy: fmt.Sprintf("send at most %d, and where to find what is larger", rdb.MaxMailboxBytes/2-len(name))}
	}
	switch err := c.mail.Send(ctx, id, name, encoded); {
	case errors.Is(err, mailing.ErrNoJob):
		return ErrNotFound
	case errors.Is(err, mailing.ErrFull):
		return ErrMailboxFull
	default:
		return asPartition(err)
	}
}

// endedAs is how a job has ended that was not found, if that is known.
func (c *enqueuerCore) endedAs(ctx context.Context, id string, err error) State {
	if !errors.Is(err, ErrNotFound) {
		return ""
	}
	for number := range c.parts.Map().Len() {
		kept, err := c.places.store(number).Outcome(ctx, id)
		if err == nil && kept != nil {
			return State(record.EndedAs(kept))
		}
	}
	return ""
}

// Message is the name of a message with its type, so that the compiler finds who sends or receives it with another one.
// The zero value has no name, and everything done with it is an error.
type Message[T any] struct{ name string }

// DefineMessage declares a message. It may be declared more than once; nothing is stored.
//
//	var Approved = work.DefineMessage[Approval]("approval")
//
//	err := Approved.Send(ctx, enq, id, Approval{By: "ann"})
//	approval, err := Approved.Receive(ctx)
func DefineMessage[T any](name string) Message[T] { return Message[T]{name} }

// Name is what it was defined with.
func (m Message[T]) Name() string { return m.name }

// Send is [Send].
func (m Message[T]) Send(ctx context.Context, enq *Enqueuer, id string, value T) error {
	return Send(ctx, enq, id, m.name, value)
}

// Receive is [Receive].
func (m Message[T]) Receive(ctx context.Context) (T, error) { return Receive[T](ctx, m.name) }

// ReceiveWithin is [ReceiveWithin].
func (m Message[T]) ReceiveWithin(ctx context.Context, d time.Duration) (T, error) {
	return ReceiveWithin[T](ctx, m.name, d)
}
