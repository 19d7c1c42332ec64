package work

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/longjob"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// StepError says what is wrong with a step of a job, or with what is stored of it. It fails the attempt like any error
// that a handler returns; [Bury] it where no attempt could go better.
type StepError struct {
	Job, Step string
	Problem   string
	Err       error // may be nil
}

func (e *StepError) Error() string { return excerpt.Cut(e.text()) }

func (e *StepError) text() string {
	text := fmt.Sprintf("step %s of job %s %s", excerpt.Brief(e.Step), excerpt.Brief(e.Job), e.Problem)
	if e.Err != nil {
		text += ": " + excerpt.ErrorText(e.Err)
	}
	return text
}

// Unwrap returns Err.
func (e *StepError) Unwrap() error { return e.Err }

// ErrNoMessage is, by errors.Is, a *[NoMessageError].
var ErrNoMessage = errors.New("no message has come in time")

// NoMessageError is what [ReceiveWithin] returns when its time has passed without a message. It is [ErrNoMessage].
type NoMessageError struct {
	Job, Message string
	Until        time.Time // when it was over
}

func (e *NoMessageError) Error() string {
	return fmt.Sprintf("no message %s has come to job %s until %s", excerpt.Brief(e.Message), excerpt.Brief(e.Job),
		e.Until.UTC().Format(time.RFC3339))
}

// Is tells that it is ErrNoMessage.
func (e *NoMessageError) Is(target error) bool { return target == ErrNoMessage }

// maxStepName is how many bytes the name of a step or a message may have.
const maxStepName = 255

// badStepName says what is wrong with a name; nothing where it may be one.
func badStepName(name string) string {
	switch {
	case name == "":
		return "has no name: give each step one of its own"
	case len(name) > maxStepName:
		return fmt.Sprintf("has a name of %d bytes: use at most %d", len(name), maxStepName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "has a name with characters that cannot be shown: use others"
	}
	return ""
}

func (s *stepping) problem(text string) error {
	return &StepError{Job: s.job.ID, Step: s.name, Problem: text}
}

// failed is what is said of an error of package longjob.
func (s *stepping) failed(err error) error {
	switch {
	case errors.Is(err, longjob.ErrParked):
		return s.long.Parked().Err
	case errors.Is(err, longjob.ErrTwice):
		return s.problem("is asked for twice in one attempt: give each step a name of its own")
	case errors.Is(err, longjob.ErrFull):
		return s.problem(fmt.Sprintf("was not stored: a job keeps at most %d steps, and %d bytes of them: store what "+
			"is large elsewhere, and return where to find it", rdb.MaxSteps, rdb.MaxStepBytes))
	}
	return fmt.Errorf("step %s of job %s was not stored: %w", excerpt.Brief(s.name), excerpt.Brief(s.job.ID),
		s.job.run.stateError(err))
}

// nounOf names what is stored under a name.
func nounOf(kind record.StepKind) string {
	switch kind {
	case record.StepSleeping, record.StepSlept:
		return "a sleep"
	case record.StepWaiting, record.StepLate, record.StepReceived:
		return "a message"
	}
	return "a step"
}
