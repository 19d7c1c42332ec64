package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
)

// StateError says that a job is in a state in which what was wanted of it cannot be done. Nothing was done.
type StateError struct {
	ID     string
	State  work.State   // in which it is
	What   string       // what was wanted: "stalled", "deleted", "retried", ...
	Wanted []work.State // in which it could be
}

func (e *StateError) Error() string { return excerpt.Cut(e.text()) }

func (e *StateError) text() string {
	text := fmt.Sprintf("job %s cannot be %s: it is %s, and only one that is %s can be", excerpt.Brief(e.ID), e.What,
		e.State, alternatives(e.Wanted))
	if remedy := e.remedy(); remedy != "" {
		text += ": " + remedy
	}
	return text
}

func alternatives(states []work.State) string {
	words := make([]string, len(states))
	for i, state := range states {
		words[i] = string(state)
	}
	if n := len(words); n > 1 {
		words = append(words[:n-2], words[n-2]+" or "+words[n-1])
	}
	return strings.Join(words, ", ")
}

// remedy is what to do with a job of that state first, or instead.
func (e *StateError) remedy() string {
	can := func(state work.State) bool { return slices.Contains(e.Wanted, state) }
	switch e.State {
	case work.StateRunning:
		return "cancel it first, or wait until its attempt has ended"
	case work.StateQueued:
		if can(work.StateStalled) || can(work.StateScheduled) {
			return "it goes as soon as its turn comes"
		}
	case work.StateScheduled:
		if can(work.StateQueued) || can(work.StateRetrying) {
			return "run it now"
		}
	case work.StateRetrying:
		return "retry it now"
	case work.StateStalled:
		return "resume it first"
	case work.StateLost:
		return "let the doctor mend it"
	case work.StateDead:
		return "retry or delete it"
	case work.StateCancelled, work.StateSucceeded, work.StateDiscarded, work.StateExpired, work.StateDeleted:
		return "enqueue it again"
	}
	return ""
}

// TooDeepError says that a job stands so deep in a long queue, more than 10,000 jobs from either end, that to look for
// it there would hold Redis up. Nothing was done. Try again when its turn is nearer, or delete it: that can be done
// wherever it is.
type TooDeepError struct {
	ID   string
	Name string // of its queue
	What string // what was wanted
}

func (e *TooDeepError) Error() string { return excerpt.Cut(e.text()) }

func (e *TooDeepError) text() string {
	return fmt.Sprintf("job %s cannot be %s: it stands more than %d jobs from both ends of the queue of %s: try again "+
		"when it is nearer",
		excerpt.Brief(e.ID), e.What, maxQueueSearch, excerpt.Brief(e.Name))
}

// maxQueueSearch is how far from the ends of its queue a job is looked for.
const maxQueueSearch = 10_000

// errKeepsMoving is what is wrong when a job is somewhere else each time.
var errKeepsMoving = errors.New("it was somewhere else each time that it was looked for: try again")
