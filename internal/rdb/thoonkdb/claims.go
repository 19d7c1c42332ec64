package thoonkdb

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// claims are the ids of claimed jobs, the latest first, and the times of those that are in a sorted set.
type claims struct {
	ids   []string
	times map[string]string // nil where they are a hash
}

// Running returns the claimed jobs without their items, the latest first.
func (f *Feed) Running(ctx context.Context) ([]Claimed, error) {
	claims, err := f.claims(ctx)
	if err != nil {
		return nil, err
	}
	jobs := make([]Claimed, 0, len(claims.ids))
	for page := range slices.Chunk(claims.ids, rdb.MaxBatch) {
		some, err := f.page(ctx, claims.times, page)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, some...)
	}
	return jobs, nil
}

func (f *Feed) claims(ctx context.Context) (claims, error) {
	replies, err := f.replies(ctx, of("TYPE", f.claimed), of("ZREVRANGE", f.claimed, 0, -1, "WITHSCORES"),
		of("TYPE", f.running), of("LRANGE", f.running, 0, -1))
	if err != nil {
		return claims{}, err
	}
	forms := []as{{typ: "zset"}, {typ: "hash"}}
	typ, sorted, err := chosen(f.claimed, replies[0], []redisconn.Reply{replies[1], {}}, forms)
	if err != nil {
		return claims{}, err
	}
	_, list, err := chosen(f.running, replies[2], replies[3:], []as{{typ: "list"}})
	if err != nil {
		return claims{}, err
	}
	var all claims
	if typ == "zset" {
		if all, err = timed(sorted); err != nil {
			return claims{}, err
		}
	}
	if list == nil {
		return all, nil
	}
	running, err := texts("LRANGE", list)
	all.ids = append(all.ids, slices.DeleteFunc(running, func(id string) bool { return all.times[id] != "" })...)
	return all, err
}

// timed reads claims with their times.
func timed(reply any) (claims, error) {
	c := claims{times: map[string]string{}}
	r := redisconn.Read("ZREVRANGE", reply)
	for r.More() {
		id := r.Text()
		c.ids, c.times[id] = append(c.ids, id), r.Text()
	}
	return c, r.Err()
}

// page reads what is known of some claims.
func (f *Feed) page(ctx context.Context, times map[string]string, ids []string) ([]Claimed, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	marks := f.claimed
	if times != nil {
		marks = f.tokens
	}
	replies, err := f.replies(ctx, of("HMGET", marks, args...), of("HMGET", f.cancelled, args...))
	if err != nil {
		return nil, err
	}
	tokens, err := optionalTexts(replies[0], len(ids))
	if err != nil {
		return nil, err
	}
	counts, err := optionalTexts(replies[1], len(ids))
	if err != nil {
		return nil, err
	}
	jobs := make([]Claimed, len(ids))
	for i, id := range ids {
		jobs[i] = Claimed{Entry{ID: id}, marked(times, id, tokens[i]), number(counts[i])}
	}
	return jobs, nil
}

// number is a count; what is none is 0.
func number(text string) int {
	n, _ := strconv.Atoi(text) //lint:ignore errcheck it is 0 then
	return n
}

// optionalTexts are strings of a hash, or none where the key has the type of another form.
func optionalTexts(reply redisconn.Reply, n int) ([]string, error) {
	list, err := optional(reply)
	if err != nil || list == nil {
		return make([]string, n), err
	}
	return texts("HMGET", list)
}

// marked is the time of a claim with its token. In a sorted set it is ours if it ends in half a ms, and the token tells
// of the same one.
func marked(times map[string]string, id, token string) string {
	if times == nil {
		return token
	}
	if ms, _, _ := strings.Cut(token, "."); ms+".5" == times[id] {
		return token
	}
	return times[id]
}

// ClaimTime reads the time of a claim. Other programs write ms or seconds; the zero time is none.
func ClaimTime(stored string) time.Time {
	whole, _, _ := strings.Cut(stored, ".")
	if strings.Contains(stored, "e") { // a round score: 1.8e+12
		score, _ := strconv.ParseFloat(stored, 64) //lint:ignore errcheck it is no time then
		whole = strconv.FormatInt(int64(score), 10)
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}
	}
	if n < 1e11 {
		n *= 1000
	}
	return time.UnixMilli(n)
}
