package questions

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/lifecycle"
)

// Handler answers a question.
type Handler func(ctx context.Context, payload json.RawMessage) (any, error)

// Store is what an Answerer needs of Redis.
type Store interface {
	Question(ctx context.Context, token string) (string, error)
	Answer(ctx context.Context, worker, token, text string, life time.Duration) error
}

// Answerer answers the questions that heartbeats of a worker bring, each in a goroutine of its own, at most eight at a
// time: others come again with the next heartbeat. Each is handled once, also where it comes again since its answer
// was not acknowledged: then the same answer is sent again.
type Answerer struct {
	Store   Store
	Life    context.Context // of what is sent to Redis
	Serving context.Context // with it the ctx of handlers ends
	Find    func(worker, name string) (Handler, error)
	Timeout time.Duration // of what is sent to Redis

	mu    sync.Mutex
	known map[string]*state
	busy  int
	ended bool
	idle  chan struct{} // closed when the last goroutine ends after Stop
}

// state is what has become of a question.
type state struct {
	since  time.Time
	busy   bool   // a goroutine is about it
	answer string // once it was handled
}

const (
	mostAtOnce = 8
	// a question that was answered is remembered, in case that it is sent again
	mostKnown    = 1000
	knownAtLeast = time.Hour
)

// Asked is called with the tokens of questions that were not answered yet. It does not wait.
func (a *Answerer) Asked(worker, tokens string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for token := range strings.FieldsSeq(tokens) {
		s := a.known[token]
		if a.ended || a.busy == mostAtOnce || s != nil && s.busy {
			continue
		}
		if s == nil {
			a.forget()
			s = &state{since: time.Now()}
			if a.known == nil {
				a.known = map[string]*state{}
			}
			a.known[token] = s
		}
		s.busy = true
		a.busy++
		go a.attend(worker, token, s)
	}
}

// forget drops old questions where there are many; a.mu is held.
func (a *Answerer) forget() {
	if len(a.known) < mostKnown {
		return
	}
	for token, s := range a.known {
		if !s.busy && time.Since(s.since) > knownAtLeast {
			delete(a.known, token)
		}
	}
}

// Stop takes no more questions, and waits for those that are being handled until ctx ends. The ctx of handlers should
// end before: one that does not heed it is left behind.
func (a *Answerer) Stop(ctx context.Context) {
	a.mu.Lock()
	a.ended = true
	if a.idle == nil {
		a.idle = make(chan struct{})
		if a.busy == 0 {
			close(a.idle)
		}
	}
	idle := a.idle
	a.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

func (a *Answerer) attend(worker, token string, s *state) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		s.busy = false
		if a.busy--; a.busy == 0 && a.ended {
			close(a.idle)
		}
	}()
	if s.answer == "" { // one goroutine at a time has it
		ctx, cancel := context.WithTimeout(a.Life, a.Timeout)
		text, err := a.Store.Question(ctx, token)
		cancel()
		if err != nil {
			return // it comes again
		}
		if text != "" { // else its time is over
			s.answer = a.answer(worker, text)
		}
	}
	ctx, cancel := context.WithTimeout(a.Life, a.Timeout)
	defer cancel()
	_ = a.Store.Answer(ctx, worker, token, s.answer, AnswerKept) // it comes again
}

// answer is the answer to a question, encoded.
func (a *Answerer) answer(worker, text string) string {
	var q Question
	var answer Answer
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		answer.Error = "the question cannot be read: " + excerpt.ErrorText(err)
	} else if value, err := a.handle(worker, q); err != nil {
		answer.Error = excerpt.ErrorText(err)
	} else if answer.Value, err = Encode("the answer", value); err != nil {
		answer.Error = excerpt.ErrorText(err)
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		return `{"error":"the answer cannot be written"}`
	}
	return string(encoded)
}

// handle calls the handler. A panic, or the end of its goroutine, is an error that the one who asks gets.
func (a *Answerer) handle(worker string, q Question) (value any, err error) {
	handler, err := a.Find(worker, q.Name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(a.Serving, time.Duration(q.Within)*time.Millisecond)
	defer cancel()
	failure := lifecycle.Apart(func() { value, err = handler(ctx, q.Payload) })
	if failure != "" {
		return nil, &failedError{failure}
	}
	return value, err
}

type failedError struct{ how string }

func (e *failedError) Error() string { return "the function that answers " + e.how }
