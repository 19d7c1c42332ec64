package thoonkdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// Stats are what a feed has, and what was done with it.
type Stats struct {
	Now                      time.Time // Redis' clock
	Waiting, Running, Parked int
	OldestPut, OldestClaim   time.Time // zero: none, or not known
	Counts                   map[string]int
	Publishes, Finishes      int // that the released programs count, and we in their feeds
}

// Stats reads them in one round trip, and one more where claims are a hash.
func (f *Feed) Stats(ctx context.Context) (Stats, error) {
	replies, err := f.replies(ctx,
		redisconn.Call{Command: "TIME"}, of("HGETALL", f.counts), of("ZRANGE", f.putTimes, 0, 0, "WITHSCORES"),
		of("ZRANGE", f.claimed, 0, 0, "WITHSCORES"), of("LRANGE", f.running, -1, -1),
		of("LLEN", f.ids), of("ZCARD", f.ids), of("LLEN", f.running), of("ZCARD", f.claimed),
		of("LLEN", f.stalled), of("SCARD", f.stalled),
		of("GET", f.publishes), of("GET", f.finishes))
	if err != nil {
		return Stats{}, err
	}
	values := make([]any, len(replies)) // a command for another form of its key has none
	for i, reply := range replies {
		if values[i], err = optional(reply); err != nil {
			return Stats{}, err
		}
	}
	sum := func(a, b any) int {
		n, _ := a.(int64)
		m, _ := b.(int64)
		return int(n + m)
	}
	s := Stats{
		Waiting: sum(values[5], values[6]), Running: sum(values[7], values[8]), Parked: sum(values[9], values[10]),
		Publishes: number(text(values[11])), Finishes: number(text(values[12])),
	}
	if s.Now, err = clock(values[0]); err != nil {
		return Stats{}, err
	}
	if s.Counts, err = counted(values[1]); err != nil {
		return Stats{}, err
	}
	if s.OldestPut, err = first(values[2]); err != nil {
		return Stats{}, err
	}
	if values[3] != nil {
		s.OldestClaim, err = first(values[3])
		return s, err
	}
	s.OldestClaim, err = f.claimedAt(ctx, values[4])
	return s, err
}

// claimedAt is when the first of a list of ids was claimed.
func (f *Feed) claimedAt(ctx context.Context, ids any) (time.Time, error) {
	if ids == nil {
		return time.Time{}, nil
	}
	list, err := texts("LRANGE", ids)
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	replies, err := f.replies(ctx, of("HGET", f.claimed, list[0]))
	if err != nil {
		return time.Time{}, err
	}
	return ClaimTime(text(replies[0].Value)), replies[0].Err
}

// first is the score of the first member of a sorted set, as a time.
func first(members any) (time.Time, error) {
	if members == nil {
		return time.Time{}, nil
	}
	r := redisconn.Read("ZRANGE", members)
	if !r.More() {
		return time.Time{}, r.Err()
	}
	_ = r.Text()
	return ClaimTime(r.Text()), r.Err()
}

func counted(hash any) (map[string]int, error) {
	counts := map[string]int{}
	if hash == nil {
		return counts, nil
	}
	r := redisconn.Read("HGETALL", hash)
	for r.More() {
		what := r.Text()
		counts[what] = int(r.Number())
	}
	return counts, r.Err()
}

func clock(answer any) (time.Time, error) {
	r := redisconn.Read("TIME", answer)
	seconds, micros := r.Number(), r.Number()
	return time.UnixMicro(seconds*1e6 + micros), r.Err()
}
