package rdb

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	forgetEndedScript = redisconn.Load("inspect/forget_ended")
	forgetQueueScript = redisconn.Load("inspect/forget_queue")
	forgetDateScript  = redisconn.Load("inspect/forget_date")
)

// ForgetEnded removes jobs that have ended, oldest first, with outcomes that begin so, and their details: at most
// [MaxBatch] of them, fewer where their outcomes are large. It answers how many there were, and how many are left.
func (s *Store) ForgetEnded(ctx context.Context, of EndedShelf, beginning string) (removed, left int, err error) {
	k := s.keys
	ended, details := k.ended(of.State, of.Name)
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: forgetEndedScript,
		Keys: []string{k.outcomes, k.outcomesUntil, ended, details}, Args: []any{beginning, MaxBatch, maxExpiredBytes}})
	if err != nil {
		return 0, 0, err
	}
	r := redisconn.Read("inspect/forget_ended", value)
	return int(r.Number()), int(r.Number()), r.Err()
}

// ForgetQueue takes a queue out of the lists of queues, if nothing is in it; also out of those names that are known to
// be served, where no worker serves it. It answers whether it did.
func (s *Store) ForgetQueue(ctx context.Context, name string, unserved bool) (bool, error) {
	k, of := s.keys, s.keys.queue(name)
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: forgetQueueScript,
		Keys: []string{k.queues, k.ready, k.served, of.queue, of.wake, of.running, of.rate, k.turns, k.passes,
			k.turning, k.holding, k.waking},
		Args: []any{name, unserved}})
	n, _ := value.(int64)
	return n == 1, err
}

// ForgetHistory removes what was counted of a name, in all minutes and days that are kept. It makes a call for each of
// them, of some microseconds.
func (s *Store) ForgetHistory(ctx context.Context, name string, now time.Time) error {
	var calls []redisconn.Call
	for at := minuteOf(now.Add(-MinutesKept)); !at.After(now); at = at.Add(time.Minute) {
		calls = append(calls, redisconn.Call{Command: "HDEL", Args: []any{s.keys.minute(at), name}})
	}
	for at := dayOf(now.Add(-DaysKept)); !at.After(now); at = at.Add(24 * time.Hour) {
		calls = append(calls, redisconn.Call{Command: "HDEL", Args: []any{s.keys.day(at), name}})
	}
	_, err := s.many(ctx, calls)
	return err
}

// OfName are the jobs of a page of a shelf that are of a name, as far as the shelf tells. Those of which it does not
// are among them, with an empty Queue: their records may.
func (s *Store) OfName(ctx context.Context, page []SeenJob, name string) ([]SeenJob, error) {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HMGET",
		Args: appendTexts([]any{s.keys.names}, ids)})
	if err != nil {
		return nil, err
	}
	names := redisconn.Read("HMGET", value)
	for i := range page {
		page[i].Queue = string(names.Bytes())
	}
	return slices.DeleteFunc(page, func(job SeenJob) bool {
		return job.Queue != "" &&
			needs.Name(job.Queue) != name
	}), names.Err()
}

// doomScore is a date as the key of those that are to be destroyed has it; empty for none.
func doomScore(due time.Time) string {
	if due.IsZero() {
		return ""
	}
	return strconv.FormatInt(due.UnixMilli(), 10)
}

// Doom sets when a queue is to be destroyed, in place of any date before.
func (s *Store) Doom(ctx context.Context, name string, due time.Time) error {
	_, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZADD",
		Args: []any{s.keys.doomed, doomScore(due), name}})
	return err
}

// Spare takes that back, and tells whether there was a date.
func (s *Store) Spare(ctx context.Context, name string) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZREM", Args: []any{s.keys.doomed, name}})
	n, _ := value.(int64)
	return n == 1, err
}

// ForgetDate removes the date of a queue that has been destroyed, if it is still the given one; where that is zero,
// whatever it is.
func (s *Store) ForgetDate(ctx context.Context, name string, due time.Time) error {
	_, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: forgetDateScript, Keys: []string{s.keys.doomed},
		Args: []any{name, doomScore(due)}})
	return err
}

// AnyDate is later than any date of a queue.
var AnyDate = time.UnixMilli(1 << 52)

// Doomed are the queues that are to be destroyed until a time, and when.
func (s *Store) Doomed(ctx context.Context, until time.Time) (map[string]time.Time, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZRANGEBYSCORE",
		Args: []any{s.keys.doomed, "-inf", doomScore(until), "WITHSCORES"}})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("ZRANGEBYSCORE", value, nil)
	words := r.TextsOf(value)
	dates := make(map[string]time.Time, len(words)/2)
	for i := 0; i+1 < len(words); i += 2 {
		dates[words[i]] = time.UnixMilli(int64(parseScore(words[i+1])))
	}
	return dates, r.Err()
}
