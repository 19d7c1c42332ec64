package webui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/api"
)

func TestTheAPICountsBeforeItIsSure(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		queued(k)
		k.enqueue("other", "other")
		var done api.BulkDone
		got := k.call(http.MethodPost, "bulk?state=queued&name=mail&action=stall", "")
		got.decode(t, &done)
		assert.True(t, done.DryRun)
		assert.Equal(t, 2, done.Matched)
		assert.Equal(t, 0, done.Done)
		assert.Equal(t, work.StateQueued, k.state("a"), "nothing was done yet")
		done = api.BulkDone{}
		k.call(http.MethodPost, "bulk?state=queued&name=mail&action=stall&limit=1&sure=1", "").decode(t, &done)
		assert.False(t, done.DryRun)
		assert.Equal(t, 1, done.Done)
		done = api.BulkDone{}
		k.call(http.MethodPost, "bulk?state=queued&name=mail&action=stall&sure=1", "").decode(t, &done)
		assert.Equal(t, 1, done.Done, "what was left")
		assert.True(t, done.Complete)
		assert.Equal(t, work.StateStalled, k.state("a"))
		assert.Equal(t, work.StateStalled, k.state("first"))
		assert.Equal(t, work.StateQueued, k.state("other"))
		var outcomes []Outcome
		for _, entry := range k.entries() {
			outcomes = append(outcomes, entry.Outcome)
			assert.Equal(t, []string{"state queued, name mail"}, entry.Targets)
		}
		assert.Equal(t, []Outcome{OutcomeDone, OutcomeBegun, OutcomeDone, OutcomeBegun, OutcomeDone}, outcomes)
	})
}

func TestProgressComesByLines(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		var entries []work.Entry
		for i := range 1200 {
			entries = append(entries, work.Entry{Name: "mail",
				Options: []work.EnqueueOption{work.ID(fmt.Sprint("j", i))}})
		}
		_, err := k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		got := k.call(http.MethodPost, "bulk?state=queued&action=delete&sure=1", "", "Accept",
			"text/plain, application/x-ndjson;q=0.9")
		require.Equal(t, http.StatusOK, got.StatusCode)
		assert.Equal(t, "application/x-ndjson", got.Header.Get("Content-Type"))
		lines := strings.Split(strings.TrimSuffix(got.Text, "\n"), "\n")
		require.GreaterOrEqual(t, len(lines), 2, "progress, and the outcome")
		var last struct {
			Progress *api.Progress
			Outcome  *api.BulkDone
			Problem  *api.Problem
		}
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &last))
		require.NotNil(t, last.Progress)
		assert.Positive(t, last.Progress.Done)
		last.Progress = nil
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
		require.NotNil(t, last.Outcome)
		assert.Nil(t, last.Progress)
		assert.Nil(t, last.Problem)
		assert.Equal(t, 1200, last.Outcome.Done)
	})
}
