package alerts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
)

func TestAlertsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	now := time.Now()
	texts := func(alerts []Alert) string {
		var all []string
		for _, a := range alerts {
			all = append(all, a.Text)
		}
		return strings.Join(all, "\n")
	}
	assert.Empty(t, OfServer(inspect.ServerInfo{}), "what is not told is no alert")
	assert.Empty(t, OfServer(inspect.ServerInfo{Version: "7.0", EvictionPolicy: "noeviction", AppendOnly: true,
		Role: "master", MemoryUsed: 79 << 20, MemoryMax: 100 << 20}))
	got := texts(OfServer(inspect.ServerInfo{Version: "7.0", EvictionPolicy: "allkeys-lru", Role: "slave",
		SaveFailed: true, Evicted: 3, MemoryUsed: 80 << 20, MemoryMax: 100 << 20}))
	for _, part := range []string{"allkeys-lru", "replica", "could not save", "dropped 3 keys", "80 %", "append-only"} {
		assert.Contains(t, got, part)
	}
	queues := []inspect.QueueInfo{{Name: "fine", Waiting: 1, Workers: 1}, {Name: "idle"}, {Name: "lonely", Waiting: 1},
		{Name: "still", Paused: true, Workers: 1}, {Name: "odd", Problem: "a string"}}
	assert.Equal(t, "The keys of queues are not what they should be, the doctor mends them: odd\nJobs wait that no "+
		"worker serves: lonely\nPaused queues: still", texts(ofQueues(queues, false)))
	assert.Contains(t, texts(ofQueues(queues, true)), "All queues are paused")
	stuck := inspect.RunningJob{ID: "stuck", Since: now.Add(-2 * time.Hour)}
	talks := inspect.RunningJob{ID: "talks", Since: now.Add(-2 * time.Hour), CheckAt: now.Add(-time.Minute)}
	is := State{Now: now, StuckAfter: time.Hour}
	got = texts(ofWorkers(t.Context(), []inspect.WorkerInfo{
		{ID: "w1", Alive: true, Running: []inspect.RunningJob{stuck, talks}},
		{ID: "w2"}, {ID: "w3", Running: []inspect.RunningJob{talks}}}, is))
	assert.Contains(t, got, "over 1 h without a word: stuck")
	assert.NotContains(t, got, "talks")
	assert.Contains(t, got, "w2 (0 jobs), w3 (1 job)")
	assert.Equal(t, []Alert{{Rule: NoWorkers, Bad: true, Text: "No worker is registered: nothing runs",
		Link: "workers"}}, ofWorkers(t.Context(), nil, is))
	ctx, _ := partly.Collect(t.Context())
	require.True(t, partly.Note(ctx, 2, map[int]error{1: errors.New("away")}))
	got = texts(ofWorkers(ctx, nil, is))
	assert.Contains(t, got, "It is not known whether anything runs")
	assert.False(t, ofWorkers(ctx, nil, is)[0].Bad, "nobody is woken by what nobody knows")
}
