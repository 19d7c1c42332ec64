package resize_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
)

// plain runs a command on a key of a partition, past all faults.
func (w *world) plain(i int, command, key string, args ...any) any {
	value, err := redisconn.Do(context.Background(), w.raw, redisconn.Call{Command: command,
		Args: append([]any{"{" + partition.Namespace(w.namespace, i) + "}:" + key}, args...)})
	require.NoError(w.t, err)
	return value
}

func (w *world) texts(i int, command, key string, args ...any) (texts []string) {
	list, _ := w.plain(i, command, key, args...).([]any)
	for _, one := range list {
		texts = append(texts, string(one.([]byte)))
	}
	return texts
}

// check compares the partitions with the ledger. A job that lives stands in one place of all: a queue, a shelf, or the
// hands of a worker; or it is frozen. It is both while a mover has stored it at its target and has not said so at the
// source. What has ended stands in none.
func (w *world) check(when string) {
	w.t.Helper()
	places, frozen := map[string][]string{}, map[string]bool{}
	for i := range partitions {
		records := map[string]bool{}
		for n, id := range w.texts(i, "HGETALL", "jobs") {
			if n%2 == 0 {
				records[id] = true
			}
		}
		note := func(place string, ids []string) {
			for _, id := range ids {
				if records[id] {
					places[id] = append(places[id], fmt.Sprintf("%s of %d", place, i))
				}
			}
		}
		for _, queue := range queues {
			note(queue, w.texts(i, "LRANGE", "queue:"+queue, 0, -1))
		}
		for _, shelf := range []string{"scheduled", "retry", "morgue", "stalled", "turns"} {
			note(shelf, w.texts(i, "ZRANGE", shelf, 0, -1))
		}
		note("hands", w.texts(i, "HKEYS", "claimed"))
		for _, id := range w.texts(i, "HKEYS", "frozen") {
			frozen[id] = true
		}
	}
	living := map[string]*entry{}
	for _, e := range w.jobs {
		if !w.endedByMover(e) && e.state != gone && (e.acked || living[e.id] == nil) {
			living[e.id] = e
		}
	}
	for id, found := range places {
		require.Len(w.t, found, 1, "%s: %s", when, id)
		require.NotNil(w.t, living[id], "%s: %s has ended and is in %v", when, id, found)
	}
	for id, e := range living {
		if e.acked && e.state != unsure {
			require.True(w.t, len(places[id]) == 1 || frozen[id], "%s: job %d, %s, is nowhere", when, e.number, id)
		}
		if e.state == held {
			require.True(w.t, strings.HasPrefix(strings.Join(places[id], ""), "hands"),
				"%s: job %d, %s, is held and in %v",
				when, e.number, id, places[id])
		}
	}
}
