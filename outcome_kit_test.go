package work

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/265d0351/work/event"
	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text is a reply that is text; "" is nothing there.
func (k *kit) text(command, key string, args ...any) string {
	k.t.Helper()
	reply := k.do(command, key, args...)
	if reply == nil {
		return ""
	}
	text, err := redis.String(reply, nil)
	require.NoError(k.t, err)
	return text
}

// trail reads the trail of a job, which must be there.
func (k *kit) trail(id string) trail {
	k.t.Helper()
	var kept trail
	require.NoError(k.t, json.Unmarshal([]byte(k.text("HGET", "trail", id)), &kept))
	return kept
}

// due is when a job on a shelf is due; its absence fails the test.
func (k *kit) due(shelf, id string) time.Time {
	k.t.Helper()
	score, err := redis.Float64(k.do("ZSCORE", shelf, id), nil)
	require.NoError(k.t, err, "%s is not in %s", id, shelf)
	return time.UnixMilli(int64(score)) // the fraction is for the order
}

// duration is a wait that began within the test.
func (k *kit) duration(began time.Time, shelf, id string, wanted time.Duration) {
	k.t.Helper()
	due := k.due(shelf, id)
	assert.WithinRange(k.t, due, began.Add(wanted-2*time.Millisecond), time.Now().Add(wanted+2*time.Millisecond))
}

// store puts a job into its queue as another program would, whatever its record is.
func (k *kit) store(queue, id, record string) {
	k.t.Helper()
	k.do("HSET", "jobs", id, record)
	k.do("LPUSH", "queue:"+queue, id)
	k.do("SADD", "ready", queue)
}

// drained waits until all outcomes are in Redis.
func (k *kit) drained(p *WorkerPool) {
	k.t.Helper()
	require.NoError(k.t, p.Drain(k.ctx()))
}

// stop stops a pool that k.start is not to stop.
func (k *kit) stop(p *WorkerPool) error { return p.Stop(k.ctx()) }

// ofJob matches events of one job.
func ofJob[E interface {
	event.Event
	Ref() event.JobRef
}](id string) func(E) bool {
	return func(e E) bool { return e.Ref().ID == id }
}

// hourly is a Backoff that keeps a retry out of the way of the test.
func hourly(*Job, error) time.Duration { return time.Hour }

// seenBy returns the events of the spy without their times, for those of one job.
func seenBy(t *testing.T, s *spy, id string) []event.Event {
	t.Helper()
	var seen []event.Event
	events, _ := s.all()
	for _, e := range events {
		if of, ok := e.(interface{ Ref() event.JobRef }); ok && of.Ref().ID == id {
			seen = append(seen, e)
		}
	}
	return seen
}
