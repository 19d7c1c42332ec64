package webui

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// A history of one name has a point for each minute, of which one call returns 200,000 at the most: pages about all
// names show their sum where there are more.
func TestPagesAboutMoreNamesThanAMinuteHolds(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Real(t))
	const many = 3_400
	entries := make([]work.Entry, many)
	for i := range entries {
		entries[i].Name = fmt.Sprintf("name-%d", i)
	}
	_, err := k.enq.EnqueueMany(k.ctx(), entries)
	require.NoError(t, err)
	for part := range slices.Chunk(entries, 200) {
		k.workOff(part)
	}
	_, err = k.inspector.History(k.ctx(), inspect.HistoryOptions{})
	require.NoError(t, err, "a minute has a bound")

	overview := k.get("")
	assert.Equal(t, http.StatusOK, overview.StatusCode)
	assert.True(t, strings.Contains(overview.Text, "3,400 outcomes in all"), "the chart is about all names")
	history := k.get("history")
	assert.Equal(t, http.StatusOK, history.StatusCode)
	assert.True(t, strings.Contains(history.Text, "(other names: there are too many"),
		"the rest is in a row of its own")
	assert.Equal(t, http.StatusOK, k.get("history?name=name-7").StatusCode)
}

// workOff runs jobs by a pool for their names, and stops it: it tells then what it has counted.
func (k *kit) workOff(entries []work.Entry) {
	k.t.Helper()
	pool := work.NewWorkerPool(nil, 20, work.WorkerOptions{Redis: k.server.DSN(), Namespace: k.namespace,
		Logger: slog.New(slog.DiscardHandler)})
	for _, entry := range entries {
		pool.Job(entry.Name, func() error { return nil })
	}
	require.NoError(k.t, pool.Start(k.ctx()))
	require.NoError(k.t, pool.Drain(k.ctx()))
	require.NoError(k.t, pool.Stop(k.ctx()))
}
