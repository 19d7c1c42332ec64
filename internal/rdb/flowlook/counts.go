package flowlook

import (
	"context"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Counts is how many flows there are.
type Counts struct {
	Time                          time.Time // Redis' clock
	Filling, Running, Ended, Busy int
	OldestFilling, OldestBusy     time.Time // as the lists have it; zero where there is none
	OldestRunning                 time.Time // when it was sealed, or opened again
	Looked                        int       // at how many of those that run, the oldest ones
	MembersLeft                   int       // members of those that have not ended
}

// Count counts flows with two requests, of which the second asks for up to [MaxPage] flows how many of their members
// are left. The numbers are of moments right after each other.
func (f Flows) Count(ctx context.Context) (c Counts, err error) {
	over, filling, busy := f.store.FullName("flows:over"), f.store.FullName(string(Filling)),
		f.store.FullName(string(Busy))
	call := func(command string, args ...any) redisconn.Call { return redisconn.Call{Command: command, Args: args} }
	values, err := f.values(ctx, []redisconn.Call{call("TIME"), call("ZCARD", filling), call("ZCARD", busy),
		call("ZCOUNT", over, rdb.FlowsOpen, "+inf"), call("ZCOUNT", over, "-inf", "("+rdb.FlowsOpen),
		call("ZRANGE", filling, 0, 0, "WITHSCORES"), call("ZRANGE", busy, 0, 0, "WITHSCORES"),
		call("ZRANGE", over, rdb.FlowsOpen, "+inf", "BYSCORE", "LIMIT", 0, MaxPage, "WITHSCORES")})
	if err != nil {
		return c, err
	}
	clock := redisconn.Read("TIME", values[0])
	c.Time = clock.Clock().UTC()
	for i, into := range []*int{&c.Filling, &c.Busy, &c.Running, &c.Ended} {
		*into = count(values[1+i])
	}
	_, at := scored(values[5])
	c.OldestFilling = timeOf(at)
	_, at = scored(values[6])
	c.OldestBusy = timeOf(at)
	running, at := scored(values[7])
	if at > 0 {
		c.OldestRunning = timeOf(at - open)
	}
	c.Looked = len(running)
	lengths := make([]redisconn.Call, len(running))
	for i, id := range running {
		lengths[i] = call("SCARD", f.key("left", id))
	}
	lefts, err := f.values(ctx, lengths)
	for _, left := range lefts {
		c.MembersLeft += count(left)
	}
	return c, err
}

// open is what the scores of those that run have more than the ms when they were sealed.
var open = func() int64 {
	n, _ := strconv.ParseInt(rdb.FlowsOpen, 10, 64)
	return n
}()

// scored are the ids of a range with scores, and the score of the first.
func scored(value any) (ids []string, first int64) {
	entries, _ := value.([]any)
	for i := 0; i+1 < len(entries); i += 2 {
		if score, _ := strconv.ParseFloat(rdb.Word(entries[i+1]), 64); i == 0 {
			first = int64(score)
		}
		ids = append(ids, rdb.Word(entries[i]))
	}
	return ids, first
}
