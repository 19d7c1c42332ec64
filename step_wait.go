package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/longjob"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// ErrWaiting is, by errors.Is, the error of [Sleep] and [Receive] with which a handler has to leave: its job waits, and
// no processor with it. The handler returns it, wrapped or not; it runs from its beginning when the wait is over, by
// another worker perhaps. No attempt is used.
//
// A handler that keeps it to itself changes nothing about that: once such an error was given to it, the attempt ends
// with the wait whatever it returns, nil, another error, [Bury] or a result; only a panic is a failure all the same,
// and a cancellation ends the job. Every later [Step], [Sleep] and [Receive] of that attempt returns the error again
// and does nothing. [event.WaitIgnored], a warning in the log, names the handler's mistake: what it did after that
// error it will do once more.
var ErrWaiting = errors.New("the job waits, and its handler has to return this error")

// parkedFor is for how long a job is put off that waits for a message without an end.
const parkedFor = 99 * 365 * 24 * time.Hour // less than the longest time that anything is put off for

// Sleep lets the job wait for d, from the first time on that it comes to this name, and gives its processor back. It
// returns nil once that time has passed, by the clock of Redis. Before, it returns an error that the handler must
// return: see [ErrWaiting]. The time stays as it was first: other attempts, and a program with another d, change
// nothing of it.
//
//	if err := work.Sleep(ctx, "cool-down", 24*time.Hour); err != nil {
//		return err
//	}
//
// The job is scheduled meanwhile: it can be listed, cancelled and deleted as any other; RunNow has it look, and sleep
// on. A d of zero or less is over at once; more than 100 years are 100 years. Names, ctx and other errors are those of
// [Step].
func Sleep(ctx context.Context, name string, d time.Duration) error {
	s, err := begin(ctx, name)
	if err != nil {
		return err
	}
	if s.found && s.stored.Kind != record.StepSleeping && s.stored.Kind != record.StepSlept {
		return s.problem("is " + nounOf(s.stored.Kind) + ", and is asked for as a sleep: give one of them another name")
	}
	if err := s.await(ctx, rdb.Awaiting{Name: name, Lasts: max(0, span.Capped(d))}); err != nil {
		return err
	}
	if s.stored.Kind == record.StepSlept {
		return nil
	}
	return s.park(rdb.Wait{Until: s.stored.Until}, event.StepKindSleep)
}

// Receive returns the message of this name that was sent to the job by [Send], before or after the job has come to
// here. While there is none it returns an error that the handler must return: see [ErrWaiting]. The job then waits
// without a processor, for as long as it takes, and is due as soon as the message is there.
//
//	approval, err := work.Receive[Approval](ctx, "approval")
//	if err != nil {
//		return err
//	}
//
// The message is taken as a step: later attempts get the same one. Of several of one name the oldest is taken, and the
// others stay; an attempt asks for each name once. A message that does not fit T is a *[StepError] in every attempt.
// Names, ctx and other errors are those of [Step].
func Receive[T any](ctx context.Context, name string) (T, error) { return receiveFor[T](ctx, name, 0) }

// ReceiveWithin is [Receive] with an end: if no message has come within d, from the first time on that the job comes to
// here, the error is a *[NoMessageError], in this and every later attempt. A d of zero or less only looks.
func ReceiveWithin[T any](ctx context.Context, name string, d time.Duration) (T, error) {
	return receiveFor[T](ctx, name, max(time.Millisecond, span.Capped(d)))
}

func receiveFor[T any](ctx context.Context, name string, within time.Duration) (T, error) {
	var message, none T
	s, err := begin(ctx, name)
	if err == nil {
		err = s.message(ctx, within)
	}
	var open []byte
	if err == nil {
		open, err = s.open(codec.Message(s.job.ID, name))
	}
	if err == nil {
		err = s.decode(open, &message)
	}
	if err != nil {
		return none, err
	}
	return message, nil
}

// message waits until a message is stored under the name.
func (s *stepping) message(ctx context.Context, within time.Duration) error {
	switch s.stored.Kind {
	case record.StepDone, record.StepSleeping, record.StepSlept:
		return s.problem("is " + nounOf(s.stored.Kind) +
			", and is asked for as a message: give one of them another name")
	}
	if err := s.await(ctx, rdb.Awaiting{Name: s.name, Message: true, Lasts: within}); err != nil {
		return err
	}
	switch s.stored.Kind {
	case record.StepReceived:
		return nil
	case record.StepLate:
		return &NoMessageError{Job: s.job.ID, Message: s.name, Until: s.stored.Until}
	}
	until := s.stored.Until
	if until.IsZero() {
		until = s.job.run.now().Add(parkedFor)
	}
	return s.park(rdb.Wait{Until: until, Message: s.name}, event.StepKindMessage)
}

// await asks Redis whether a wait is over, unless that is known.
func (s *stepping) await(ctx context.Context, wait rdb.Awaiting) error {
	if s.found && s.stored.Over() {
		return nil
	}
	text, err := s.long.AskWait(ctx, wait)
	if err != nil {
		return s.failed(err)
	}
	if s.stored, err = record.DecodeStep(text); err != nil {
		return s.problem(err.Error())
	}
	if s.stored.Over() {
		kind := event.StepKindSleep
		if wait.Message {
			kind = event.StepKindMessage
		}
		s.tell(event.StepDone{Kind: kind, Bytes: len(s.stored.Value)})
	}
	return nil
}

// park says that the job leaves its worker to wait, and returns the error with which its handler has to leave.
func (s *stepping) park(wait rdb.Wait, kind event.StepKind) error {
	waiting := &WaitingError{Name: s.name, Kind: kind, Until: s.stored.Until}
	s.long.Park(longjob.Parking{Wait: wait, Name: s.name, Err: &disposition{verb: verbSnooze,
		delay: boundedDelay(wait.Until.Sub(s.job.run.now())), err: waiting}})
	return s.long.Parked().Err
}

// WaitingError says what a job waits for. It is [ErrWaiting], and stands within what [Sleep] and [Receive] return then,
// and within the Err of [event.JobSnoozed].
type WaitingError struct {
	Name  string // of the sleep or the message
	Kind  event.StepKind
	Until time.Time // when it is over at the latest; zero where a message is waited for without an end
}

func (e *WaitingError) Error() string {
	name, until := excerpt.Brief(e.Name), e.Until.UTC().Format(time.RFC3339)
	switch {
	case e.Kind == event.StepKindSleep:
		return fmt.Sprintf("sleeps until %s (%s)", until, name)
	case e.Until.IsZero():
		return "waits for message " + name
	}
	return fmt.Sprintf("waits for message %s until %s", name, until)
}

// Is tells that it is ErrWaiting.
func (e *WaitingError) Is(target error) bool { return target == ErrWaiting }
