package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// StepKind is what stands in a place of the steps of a job.
type StepKind string

// The kinds.
const (
	StepDone     StepKind = "done"    // a step has succeeded: Value, Type, At, Took
	StepSleeping StepKind = "sleep"   // it sleeps: Until
	StepSlept    StepKind = "slept"   // it has slept: Until, At
	StepWaiting  StepKind = "wait"    // it waits for a message: Until, which may be zero
	StepLate     StepKind = "late"    // none has come: Until, At
	StepReceived StepKind = "message" // one has come: Value, Sent, At
)

// Step is a step of a job, or a wait of it, as it is stored.
type Step struct {
	Kind  StepKind
	At    time.Time     // when it was over; zero while it is not
	Took  time.Duration // by the function of the step
	Until time.Time
	Sent  time.Time
	Type  string // of the value
	Value []byte // JSON
}

// Over tells whether nothing is left of it to be done or waited for.
func (s *Step) Over() bool { return s.Kind != StepSleeping && s.Kind != StepWaiting }

// Encode makes the text of a step that has succeeded. The other kinds are written by lua/job/receive.lua.
func (s *Step) Encode() string {
	return fmt.Sprintf("%s %d %d %s\n%s", StepDone, s.At.UnixMilli(), s.Took.Milliseconds(),
		strings.ReplaceAll(s.Type, "\n", " "), s.Value)
}

// DecodeStep reads the text of a step.
func DecodeStep(text string) (Step, error) {
	head, value, _ := strings.Cut(text, "\n")
	kind, rest, _ := strings.Cut(head, " ")
	s := Step{Kind: StepKind(kind)}
	var numbers [2]int64
	for i := range stepNumbers[s.Kind] {
		var word string
		var err error
		word, rest, _ = strings.Cut(rest, " ")
		if numbers[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return Step{}, unreadable(text)
		}
	}
	first, second := timeOf(numbers[0]), timeOf(numbers[1])
	switch s.Kind {
	case StepDone:
		s.At, s.Took, s.Type, s.Value = first, time.Duration(numbers[1])*time.Millisecond, rest, []byte(value)
	case StepSleeping, StepWaiting:
		s.Until = first
	case StepSlept, StepLate:
		s.Until, s.At = first, second
	case StepReceived:
		s.Sent, s.At, s.Value = first, second, []byte(value)
	default:
		return Step{}, unreadable(text)
	}
	return s, nil
}

// stepNumbers is how many numbers follow a kind.
var stepNumbers = map[StepKind]int{StepDone: 2, StepSleeping: 1, StepSlept: 2, StepWaiting: 1, StepLate: 2,
	StepReceived: 2}

func unreadable(text string) error {
	return fmt.Errorf("what is stored of it cannot be read: %.60q", text)
}

// timeOf is zero for 0: no time.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
