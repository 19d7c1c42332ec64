package rdb

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	stepScript     = redisconn.Load("job/step")
	receiveMessage = redisconn.Load("job/receive")
	forgetSteps    = redisconn.Load("inspect/forget_steps")
)

// The bounds of what the steps of a job keep. A wait counts as a step.
const (
	MaxSteps     = 1000
	MaxStepBytes = 1 << 20 // names and texts of all steps
)

// RecordDigest tells the record of a job from that of another one of the same id: what steps and messages belong to.
func RecordDigest(record []byte) string {
	sum := sha1.Sum(record) // as Redis does it: it tells apart, and protects nothing
	return hex.EncodeToString(sum[:])
}

// Holder is the job whose steps are written, and the claim under which.
type Holder struct {
	Claim
	ID     string
	Digest string // of the record
	Note   Note
	Known  int // how many steps there are, as far as the caller knows
}

// StepAnswer is what came of a call about steps.
type StepAnswer string

// The answers. The zero value is none.
const (
	StepWritten StepAnswer = "written"
	StepGone    StepAnswer = "gone" // the claim is
	StepFull    StepAnswer = "full" // there would be too many of them: nothing was done
	StepLost    StepAnswer = "lost" // there are fewer than the caller knows: nothing was done, send them all again
)

// StoredStep is a step, or a wait, with the text that stands there.
type StoredStep struct{ Name, Text string }

// WriteSteps stores steps that are not there yet.
func (w *Worker) WriteSteps(ctx context.Context, holder *Holder, steps []StoredStep) (StepAnswer, error) {
	args := w.stepArgs(holder)
	for _, step := range steps {
		args = append(args, step.Name, step.Text)
	}
	k := w.store.keys
	value, err := redisconn.Do(ctx, w.store.driver, redisconn.Call{Script: stepScript,
		Keys: []string{k.steps(holder.ID), k.trail, w.keys.inprocess(holder.Queue)}, Args: args})
	if err != nil {
		return "", err
	}
	switch answer := StepAnswer(Word(value)); answer {
	case StepWritten, StepGone, StepFull, StepLost:
		return answer, nil
	}
	return "", &redisconn.UnexpectedReplyError{Script: stepScript.Name, Reply: value}
}

func (w *Worker) stepArgs(holder *Holder) []any {
	return []any{holder.Element, holder.Digest, holder.Note.Trail, holder.Note.Fuller, millis(longJobMemory), MaxSteps,
		MaxStepBytes, holder.Known}
}

// Awaiting is what a job asks for.
type Awaiting struct {
	Name    string
	Message bool          // else it sleeps
	Lasts   time.Duration // from the first time on that it asks; 0 is no end, of a sleep none at all
}

// AskWait asks whether a wait is over, and notes it where it is not. It returns the text of the wait.
func (w *Worker) AskWait(ctx context.Context, holder *Holder, wait Awaiting) (StepAnswer, string, error) {
	kind, lasts := "sleep", strconv.FormatInt(millis(wait.Lasts), 10)
	if wait.Message {
		kind = "message"
		if wait.Lasts == 0 {
			lasts = ""
		}
	}
	k := w.store.keys
	value, err := redisconn.Do(ctx, w.store.driver, redisconn.Call{Script: receiveMessage,
		Keys: []string{k.steps(holder.ID), k.mail(holder.ID), k.trail, w.keys.inprocess(holder.Queue)},
		Args: append(w.stepArgs(holder), wait.Name, kind, lasts)})
	if err != nil {
		return "", "", err
	}
	switch answer := Word(value); answer {
	case string(StepGone), string(StepFull), string(StepLost):
		return StepAnswer(answer), "", nil
	case "":
		return "", "", &redisconn.UnexpectedReplyError{Script: receiveMessage.Name, Reply: value}
	default:
		return StepWritten, answer, nil
	}
}

// Wait is what a job waits for that has left its worker.
type Wait struct {
	Digest  string    // of the record, by RecordDigest; empty where it waits for nothing
	Until   time.Time // when it is due at the latest
	Message string    // the name of the message that has it due before; empty where it sleeps
}

// words is what a script is told of it.
func (w Wait) words() string {
	if w.Digest == "" {
		return ""
	}
	return w.Digest + " " + w.Message
}

// ForgetSteps forgets the steps of a job that nobody holds, and returns how many there were. AmendDone says that it is
// done, [AmendGone] and [AmendHeld] that it is not.
func (s *Store) ForgetSteps(ctx context.Context, id string) (int, Amended, error) {
	k := s.keys
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: forgetSteps,
		Keys: []string{k.jobs, k.claimed, k.steps(id), k.scheduled, k.control}, Args: []any{id}})
	if err != nil {
		return 0, "", err
	}
	if n, is := value.(int64); is {
		return int(n), AmendDone, nil
	}
	switch answer := Amended(Word(value)); answer {
	case AmendGone, AmendHeld:
		return 0, answer, nil
	}
	return 0, "", &redisconn.UnexpectedReplyError{Script: forgetSteps.Name, Reply: value}
}

// Steps returns the steps of a job with that record, by name; none of one of another record.
func (s *Store) Steps(ctx context.Context, id, digest string) (map[string]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HGETALL", Args: []any{s.keys.steps(id)}})
	if err != nil {
		return nil, err
	}
	return stepsIn(value, digest)
}

func stepsIn(value any, digest string) (map[string]string, error) {
	r := redisconn.Read("HGETALL", value)
	steps := map[string]string{}
	for r.More() {
		name := r.Text()
		steps[name] = r.Text()
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	if of, _, _ := strings.Cut(steps[""], " "); of != digest {
		return nil, nil
	}
	delete(steps, "")
	return steps, nil
}
