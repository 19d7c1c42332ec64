package rdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// The commands about questions: see [Store.Ask].
const (
	commandAsk      Command = "ask"
	commandAnswered Command = "answered"
)

// Asked is what came of asking a worker.
type Asked int

// What came of it.
const (
	AskedUnknown Asked = 0  // no such worker is registered
	AskedFull    Asked = -1 // it has a hundred questions that it has not answered
	AskedOne     Asked = 1
)

// PutQuestion stores the text of a question for that long: before [Store.Ask], so that whoever hears of it finds it.
func (s *Store) PutQuestion(ctx context.Context, token, text string, life time.Duration) error {
	_, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SET",
		Args: []any{s.keys.question(token), text, "PX", millis(life)}})
	return err
}

// Ask tells each of the workers of a question, by the hint that also tells what is wanted of one; where that is lost by
// its next heartbeat. It may be repeated: a worker has a token once.
func (s *Store) Ask(ctx context.Context, token string, workers []string) ([]Asked, error) {
	calls := make([]redisconn.Call, len(workers))
	for i, worker := range workers {
		calls[i] = s.aboutQuestion(worker, commandAsk, token)
	}
	values, err := s.many(ctx, calls)
	asked := make([]Asked, len(values))
	for i, value := range values {
		n, _ := value.(int64)
		asked[i] = Asked(n)
	}
	return asked, err
}

func (s *Store) aboutQuestion(worker string, command Command, token string) redisconn.Call {
	return redisconn.Call{
		Script: commandScript, Keys: []string{s.keys.workers, s.keys.worker(worker).info, s.keys.control},
		Args: []any{worker, string(command), token},
	}
}

// Question returns the text of a question; empty where its time is over.
func (s *Store) Question(ctx context.Context, token string) (string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "GET", Args: []any{s.keys.question(token)}})
	text, _ := value.([]byte)
	return string(text), err
}

// Answer stores what a worker answers, for that long, and then takes the question from it; an empty text only does the
// latter. It may be repeated.
func (s *Store) Answer(ctx context.Context, worker, token, text string, life time.Duration) error {
	if text != "" {
		if _, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SET",
			Args: []any{s.keys.answer(token, worker), text, "PX", millis(life)}}); err != nil {
			return err
		}
	}
	_, err := redisconn.Do(ctx, s.driver, s.aboutQuestion(worker, commandAnswered, token))
	return err
}

// Answers returns what workers have answered, in their order; empty for those that have not yet.
func (s *Store) Answers(ctx context.Context, token string, workers []string) ([]string, error) {
	calls := make([]redisconn.Call, len(workers))
	for i, worker := range workers {
		calls[i] = redisconn.Call{Command: "GET", Args: []any{s.keys.answer(token, worker)}}
	}
	values, err := s.many(ctx, calls)
	answers := make([]string, len(values))
	for i, value := range values {
		text, _ := value.([]byte)
		answers[i] = string(text)
	}
	return answers, err
}
