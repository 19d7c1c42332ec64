package rdb

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// heldQuestion is how the message on the control channel begins that asks all workers what they hold. A token follows.
const heldQuestion = "held "

// AskedForHeld returns the token of a message on the control channel that asks what workers hold.
func AskedForHeld(message []byte) (token string, is bool) {
	return strings.CutPrefix(string(message), heldQuestion)
}

// heldAnswer is what a worker answers: the elements of its claims.
type heldAnswer struct {
	Worker string   `json:"worker"`
	Held   []string `json:"held"`
}

// repeatQuestion is the time between two questions: a message may be lost.
const repeatQuestion = time.Second

func (s *Store) answers(token string) string { return s.keys.prefix + "held:" + token }

// AnswerHeld tells who asked with that token what this worker holds.
func (w *Worker) AnswerHeld(ctx context.Context, token string, elements []string) error {
	text, err := json.Marshal(heldAnswer{w.ID, elements})
	if err != nil {
		return err
	}
	return redisconn.Publish(ctx, w.store.driver, w.store.answers(token), string(text))
}

// AskHeld asks all workers what they hold, until those that are named have answered or ctx ends, and returns what they
// said. One message goes to all, so that a fleet costs what it has workers.
func (s *Store) AskHeld(ctx context.Context, token string, workers map[string]bool) (map[string]map[string]bool,
	error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	var mu sync.Mutex
	held := map[string]map[string]bool{}
	receive := func(message []byte) {
		var answer heldAnswer
		if json.Unmarshal(message, &answer) != nil || !workers[answer.Worker] {
			return
		}
		elements := make(map[string]bool, len(answer.Held))
		for _, element := range answer.Held {
			elements[element] = true
		}
		mu.Lock()
		defer mu.Unlock()
		if held[answer.Worker] = elements; len(held) == len(workers) {
			done()
		}
	}
	var asking sync.WaitGroup
	var failed error
	ready := func() { asking.Go(func() { failed = s.ask(ctx, token) }) }
	err := s.driver.Subscribe(ctx, s.answers(token), ready, receive)
	done()
	asking.Wait()
	if err == nil {
		err = failed
	}
	return held, err
}

func (s *Store) ask(ctx context.Context, token string) error {
	again := time.NewTicker(repeatQuestion)
	defer again.Stop()
	for ctx.Err() == nil {
		err := redisconn.Publish(ctx, s.driver, s.keys.control, heldQuestion+token)
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
	return nil
}

// StillClaimed returns those of the claims of a worker that stand as they were read.
func (s *Store) StillClaimed(ctx context.Context, worker string, claims []Holding) ([]Holding, error) {
	ids, before := make([]string, len(claims)), make(map[string]string, len(claims))
	for i, h := range claims {
		ids[i], before[h.ID] = h.ID, h.raw
	}
	now, err := s.claimsOf(ctx, worker, ids)
	if err != nil {
		return nil, err
	}
	var still []Holding
	for _, h := range now {
		if before[h.ID] == h.raw {
			still = append(still, h)
		}
	}
	return still, nil
}
