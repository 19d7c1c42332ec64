package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/questions"
	"github.com/265d0351/work/internal/rdb"
)

// Answer is what one worker has answered to [Inspector.Ask].
type Answer struct {
	Worker string          // its id
	Value  json.RawMessage // JSON; nil where there is an error
	// what its function returned as an error, that it knows no such message, [ErrNoWorker] where it is gone, or the
	// cause of the ctx of Ask where that ended before it answered
	Err error
}

// The times of a question.
const (
	firstAnswerLook   = 5 * time.Millisecond // between two looks for answers; it grows up to the next one
	longestAnswerLook = 200 * time.Millisecond
	goneLook          = time.Second // between two looks whether those who have not answered are there
	longestQuestion   = time.Hour
)

// Ask sends a message to workers, and returns what each has answered, in their order: those that are named, or all that
// are registered. "echo" and "info" are answered by all, other messages by those whose program has registered them with
// work.WorkerPool.OnMessage. payload is written as JSON of up to 64 KiB; nil is none.
//
// It waits until all have answered or ctx has ended; whoever has not answered by then has that as Err. A worker hears
// of it within milliseconds, or by its next heartbeat. Its answer means that it has handled the message once; without
// one it may have handled it or not. Workers of older programs do not answer. The error is for all: Redis could not be
// asked. It may be called concurrently.
func (i *Inspector) Ask(ctx context.Context, workers []string, name string, payload any) ([]Answer, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	encoded, err := questions.Encode("the payload", payload)
	if err != nil {
		return nil, fmt.Errorf("message %s was not sent: %w", excerpt.Brief(name), inside.AsInvalid(err))
	}
	if len(name) > questions.MaxName {
		return nil, fmt.Errorf("message %s was not sent: its name has %d bytes, more than %d", excerpt.Brief(name),
			len(name), questions.MaxName)
	}
	q := questions.Question{Name: name, Payload: encoded}
	of := i.served(ctx)
	if of.single() && len(workers) > 0 {
		return of.views[0].ask(ctx, workers, q)
	}
	return askAll(ctx, of, workers, q)
}

// askAll finds out where workers are registered, and asks them there; all that there are where none are named.
func askAll(ctx context.Context, of scope, named []string, q questions.Question) ([]Answer, error) {
	at := map[*view][]string{}
	registered := ask(ctx, of.views, func(v *view, ctx context.Context) ([]string, error) {
		workers, err := v.store.Registered(ctx)
		if err != nil {
			err = fmt.Errorf("message %s was not sent, the workers cannot be read: %w", excerpt.Brief(q.Name), err)
		}
		return workers, err
	})
	var asked []*view
	for _, a := range registered {
		for _, id := range slices.Sorted(slices.Values(a.value)) {
			if len(named) == 0 || slices.Contains(named, id) {
				at[a.from] = append(at[a.from], id)
			}
		}
		if len(at[a.from]) > 0 {
			asked = append(asked, a.from)
		}
	}
	err := failure(registered)
	if err != nil && len(asked) == 0 {
		return nil, err
	}
	answered := ask(ctx, asked, func(v *view, ctx context.Context) ([]Answer, error) { return v.ask(ctx, at[v], q) })
	answers, unsent := []Answer{}, failure(answered)
	for _, a := range answered {
		answers = append(answers, a.value...)
	}
	if unsent != nil {
		err = unsent
	}
	if len(named) == 0 {
		slices.SortFunc(answers, func(a, b Answer) int { return strings.Compare(a.Worker, b.Worker) })
		return answers, err
	}
	return inOrder(named, answers, err), err
}

// inOrder are the answers of those that were named. Who was not found may be where nobody could be asked.
func inOrder(named []string, answers []Answer, missing error) []Answer {
	all := make([]Answer, len(named))
	for n, id := range named {
		all[n] = Answer{Worker: id, Err: cmp.Or(missing, ErrNoWorker)}
		if k := slices.IndexFunc(answers, func(a Answer) bool { return a.Worker == id }); k >= 0 {
			all[n] = answers[k]
		}
	}
	return all
}

// ask asks workers of one partition.
func (v *view) ask(ctx context.Context, workers []string, q questions.Question) ([]Answer, error) {
	a := &asking{view: v, token: ids.Random(16), answers: make([]Answer, len(workers))}
	for n, id := range workers {
		a.answers[n].Worker = id
		a.open = append(a.open, n)
	}
	if err := a.send(ctx, q); err != nil {
		return nil, fmt.Errorf("message %s was not sent, or not to all: %w", excerpt.Brief(q.Name), err)
	}
	a.wait(ctx)
	return a.answers, nil
}

// asking is one question under way.
type asking struct {
	*view
	token   string
	answers []Answer
	open    []int // of the answers: those that have not come
}

// send stores the question, and tells the workers of it.
func (a *asking) send(ctx context.Context, q questions.Question) error {
	life := longestQuestion
	if deadline, ok := ctx.Deadline(); ok {
		life = min(life, max(time.Millisecond, time.Until(deadline)))
	}
	q.Within = life.Milliseconds()
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if err := a.store.PutQuestion(ctx, a.token, string(text), life); err != nil {
		return err
	}
	asked, err := a.store.Ask(ctx, a.token, a.openWorkers())
	if err != nil {
		return err
	}
	for n, came := range asked {
		switch came {
		case rdb.AskedUnknown:
			a.answers[n].Err = ErrNoWorker
		case rdb.AskedFull:
			a.answers[n].Err = errors.New("it has a hundred messages that it has not answered: it answers none")
		}
	}
	a.close()
	return nil
}

func (a *asking) openWorkers() []string {
	workers := make([]string, len(a.open))
	for n, of := range a.open {
		workers[n] = a.answers[of].Worker
	}
	return workers
}

// close forgets those that are open no more.
func (a *asking) close() {
	a.open = slices.DeleteFunc(a.open, func(n int) bool { return a.answers[n].Err != nil || a.answers[n].Value != nil })
}

// wait fills the answers. What Redis does not answer is asked again.
func (a *asking) wait(ctx context.Context) {
	looked := time.Now()
	for look := firstAnswerLook; len(a.open) > 0; look = min(2*look, longestAnswerLook) {
		if !backoff.Pause(ctx, look) {
			break
		}
		gone := []string(nil)
		if time.Since(looked) > goneLook {
			looked = time.Now()
			gone = a.gone(ctx) // before the answers: one that has answered may leave then
		}
		if texts, err := a.store.Answers(ctx, a.token, a.openWorkers()); err == nil {
			a.read(texts, gone)
		}
	}
	for _, n := range a.open {
		a.answers[n].Err = fmt.Errorf("it has not answered: %w", excerpt.Error(context.Cause(ctx)))
	}
}

// gone are those of the open workers that are not registered.
func (a *asking) gone(ctx context.Context) []string {
	registered, err := a.store.Registered(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(a.openWorkers(), func(id string) bool { return slices.Contains(registered, id) })
}

func (a *asking) read(texts, gone []string) {
	for at, text := range texts {
		answer := &a.answers[a.open[at]]
		var stored questions.Answer
		switch {
		case text == "" && slices.Contains(gone, answer.Worker):
			answer.Err = ErrNoWorker
		case text == "":
		case json.Unmarshal([]byte(text), &stored) != nil:
			answer.Err = errors.New("its answer cannot be read")
		case stored.Error != "":
			answer.Err = errors.New(stored.Error)
		default:
			if answer.Value = stored.Value; answer.Value == nil {
				answer.Value = json.RawMessage("null")
			}
		}
	}
	a.close()
}
