package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Steps is how far a job came that remembers it: see [work.Step].
type Steps struct {
	Done    []Step    `json:"done"`    // oldest first
	Waits   []Wait    `json:"waits"`   // what it waits for, as its last attempt has found
	Mailbox []Message `json:"mailbox"` // what it was sent and has not asked for, oldest first
	Bytes   int       `json:"bytes"`   // of what Done keeps, names and JSON
}

// Step is a step that has succeeded, or a wait that is over.
type Step struct {
	Name  string          `json:"name"`
	Kind  string          `json:"kind"`            // "step", "sleep", "message"; "late": no message came in time
	At    time.Time       `json:"at"`              // when it was over, as its worker knew Redis' clock: to a few ms
	Took  time.Duration   `json:"took,omitzero"`   // in the function of a step; 0 for a wait. Its JSON is in ns
	Type  string          `json:"type,omitzero"`   // of the value of a step, as Go names it
	Bytes int             `json:"bytes,omitzero"`  // of Value
	Value json.RawMessage `json:"value,omitempty"` // what it keeps; nil for a sleep
}

// Wait is a wait that is not over.
type Wait struct {
	Name    string    `json:"name"`
	Message bool      `json:"message"`        // for a message of that name; else it sleeps
	Until   time.Time `json:"until,omitzero"` // zero for a message without an end
}

func (w Wait) String() string {
	name := excerpt.Brief(w.Name)
	switch {
	case !w.Message:
		return fmt.Sprintf("sleeps until %s (%s)", w.Until.UTC().Format(time.RFC3339), name)
	case w.Until.IsZero():
		return "waits for message " + name
	}
	return fmt.Sprintf("waits for message %s until %s", name, w.Until.UTC().Format(time.RFC3339))
}

// Message is one that a job was sent.
type Message struct {
	Name  string          `json:"name"`
	Sent  time.Time       `json:"sent"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Steps reads the steps, waits and messages of a job that lives, all as of one moment. It is [work.ErrNotFound] for one
// that does not: they go with the job. It costs one request beside the look for the job, and up to 1.25 MiB.
func (i *Inspector) Steps(ctx context.Context, id string) (Steps, error) {
	v, seen, err := i.find(ctx, id)
	if err == nil && len(seen.Record) == 0 {
		err = work.ErrNotFound
	}
	if err != nil {
		return Steps{}, failed(id, "asked for its steps", err)
	}
	stored, messages, err := v.store.StepsAndMail(ctx, id, rdb.RecordDigest(seen.Record))
	if err != nil {
		return Steps{}, failed(id, "asked for its steps", err)
	}
	steps := Steps{Done: []Step{}, Waits: []Wait{}, Mailbox: []Message{}}
	for name, text := range stored {
		steps.add(name, text)
	}
	slices.SortFunc(steps.Done, func(a, b Step) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(steps.Waits, func(a, b Wait) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range messages {
		steps.Mailbox = append(steps.Mailbox, Message{Name: m.Name, Sent: m.Sent, Value: m.JSON})
	}
	return steps, nil
}

// add adds what is stored under a name. What cannot be read is shown as it stands.
func (s *Steps) add(name, text string) {
	stored, err := record.DecodeStep(text)
	if err != nil {
		value, _ := json.Marshal(excerpt.Text(text, excerpt.Name))
		s.Done = append(s.Done, Step{Name: name, Kind: "unreadable", Value: value})
		return
	}
	if !stored.Over() {
		s.Waits = append(s.Waits, Wait{Name: name, Message: stored.Kind == record.StepWaiting, Until: stored.Until})
		return
	}
	kinds := map[record.StepKind]string{record.StepDone: "step", record.StepSlept: "sleep",
		record.StepReceived: "message", record.StepLate: "late"}
	s.Bytes += len(name) + len(stored.Value)
	s.Done = append(s.Done, Step{Name: name, Kind: kinds[stored.Kind], At: stored.At, Took: stored.Took,
		Type: stored.Type, Bytes: len(stored.Value), Value: stored.Value})
}

// StepsError says that a job has steps, which it has done with the args that it has. Nothing was done.
type StepsError struct{ ID string }

func (e *StepsError) Error() string {
	return fmt.Sprintf("job %s has done steps with its args, which another attempt would not do again: forget its "+
		"steps first (ForgetSteps), and it does all of them with the new ones", excerpt.Brief(e.ID))
}

// ForgetSteps has a job that no worker holds forget its steps and waits, and returns how many there were: its next
// attempt does all of them again, also what has cost something. One that is put off is due at once. Its messages stay.
// One that runs is a *[StateError], one that is not there [work.ErrNotFound].
func (i *Inspector) ForgetSteps(ctx context.Context, id string) (int, error) {
	const past = "made to forget its steps"
	for range backoff.Rereads(ctx) {
		v, seen, err := i.find(ctx, id)
		if err != nil {
			return 0, failed(id, past, err)
		}
		c := control{past: past, from: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying,
			work.StateStalled, work.StateDead}}
		if err := c.refusal(&seen); err != nil {
			return 0, err
		}
		n, done, err := v.store.ForgetSteps(ctx, id)
		if err != nil {
			return 0, failed(id, past, err)
		}
		if done == rdb.AmendDone {
			return n, nil
		}
	}
	return 0, failed(id, past, errKeepsMoving)
}

// Send is [work.Send], for those who enqueue nothing.
func (i *Inspector) Send(ctx context.Context, id, name string, value any) error {
	if i.unusable != nil {
		return i.unusable
	}
	return work.Send(ctx, i.enqueuer(), id, name, value)
}
