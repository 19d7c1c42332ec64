package rdb

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// StoppedWorker is a worker that has stopped or was taken apart.
type StoppedWorker struct {
	ID   string
	At   time.Time // when it was removed, by Redis' clock
	Text string    // that [Worker.Forget] was given; empty where somebody has removed it
}

// Stopped returns those that were removed last, the newest first.
func (s *Store) Stopped(ctx context.Context, most int) ([]StoppedWorker, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZRANGE",
		Args: []any{s.keys.stopped, 0, most - 1, "REV", "WITHSCORES"}})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("ZRANGE", value, nil)
	listed := r.TextsOf(value)
	stopped := make([]StoppedWorker, 0, len(listed)/2)
	for pair := range slices.Chunk(listed, 2) {
		stopped = append(stopped, StoppedWorker{ID: pair[0], At: fromMillis(int64(parseScore(pair[1])))})
	}
	if r.Err() != nil || len(stopped) == 0 {
		return stopped, r.Err()
	}
	return stopped, s.stoppedTexts(ctx, stopped)
}

// stoppedAtOnce is how many texts, of up to 8 KiB as a rule, one reply brings.
const stoppedAtOnce = 200

func (s *Store) stoppedTexts(ctx context.Context, stopped []StoppedWorker) error {
	for some := range slices.Chunk(stopped, stoppedAtOnce) {
		args := []any{s.keys.stoppedInfo}
		for _, worker := range some {
			args = append(args, worker.ID)
		}
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HMGET", Args: args})
		if err != nil {
			return err
		}
		r := redisconn.NewReader("HMGET", value, nil)
		texts := r.TextsOf(value)
		for i := range min(len(texts), len(some)) {
			some[i].Text = texts[i]
		}
		if r.Err() != nil {
			return r.Err()
		}
	}
	return nil
}

// Remains is what Redis knows of a dead worker beside what is still in its lists.
type Remains struct {
	Info  map[string]string
	Taken []string  // elements that were taken from it, in no order
	Died  time.Time // about; zero where nobody noted it
}

// Remains reads that. A key of a wrong type counts as one that is not there.
func (w *Worker) Remains(ctx context.Context) (Remains, error) {
	replies, err := w.store.driver.Pipeline(ctx,
		redisconn.Call{Command: "HGETALL", Args: []any{w.keys.info}},
		redisconn.Call{Command: "HGETALL", Args: []any{w.keys.taken}},
		redisconn.Call{Command: "ZSCORE", Args: []any{w.store.keys.deaths, w.ID}})
	if err != nil {
		return Remains{}, err
	}
	hash := func(reply redisconn.Reply) map[string]string {
		r := redisconn.NewReader("HGETALL", nil, nil)
		if reply.Err != nil {
			return nil
		}
		return pairsOf(r.TextsOf(reply.Value))
	}
	left := Remains{Info: hash(replies[0])}
	for element := range hash(replies[1]) {
		if element != "n" { // the number of its last fetch
			left.Taken = append(left.Taken, element)
		}
	}
	if score, ok := replies[2].Value.([]byte); ok && replies[2].Err == nil {
		left.Died = fromMillis(int64(parseScore(string(score))))
	}
	return left, nil
}
