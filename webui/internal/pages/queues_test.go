package pages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/inspect"
)

// TestThereIsNoETAWhereNobodyWorks: what ended before says nothing about what does not go on.
func TestThereIsNoETAWhereNobodyWorks(t *testing.T) {
	t.Parallel()
	of := func(change func(*inspect.QueueInfo)) inspect.QueueInfo {
		q := inspect.QueueInfo{Name: "mail", Waiting: 100, Workers: 2, Done: 300}
		change(&q)
		return q
	}
	for name, c := range map[string]struct {
		queue inspect.QueueInfo
		held  int
		eta   time.Duration
	}{
		"served":          {of(func(*inspect.QueueInfo) {}), 0, 100 * time.Second},
		"nobody serves":   {of(func(q *inspect.QueueInfo) { q.Workers = 0 }), 100, 0},
		"paused":          {of(func(q *inspect.QueueInfo) { q.Paused = true }), 100, 0},
		"none ended":      {of(func(q *inspect.QueueInfo) { q.Done = 0 }), 0, 0},
		"empty, unserved": {of(func(q *inspect.QueueInfo) { q.Waiting, q.Workers = 0, 0 }), 0, 0},
		"some need what nobody has": {of(func(q *inspect.QueueInfo) {
			q.Needs = []inspect.QueueNeeds{{Waiting: 7}, {Waiting: 5, Workers: 1}}
		}), 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := queueRows([]inspect.QueueInfo{c.queue})[0]
			assert.Equal(t, c.held > 0, row.Held())
			assert.Equal(t, c.eta, row.GoneIn)
			o := &overview{Counts: inspect.Counts{Queued: c.queue.Waiting}}
			o.count([]inspect.QueueInfo{c.queue}, []inspect.HistoryPoint{{Done: 300}, {}})
			assert.Equal(t, c.held, o.Held)
			assert.Equal(t, c.held == 0 && c.queue.Waiting > 0, o.Backlog > 0)
		})
	}
}
