package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

// An action that ends in the middle has done a part, which the answer tells.
func TestWhatWasBegunTellsHowFarItGot(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json", "application/x-ndjson"} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/api/bulk", nil)
			r.Header.Set("Accept", accept)
			v := &visit.Visit{Site: &visit.Site{Logger: slog.New(slog.DiscardHandler)}, W: w, R: r, Path: "/api/bulk"}
			if err := newLengthy(v).end(BulkDone{Done: 7}, work.ErrRedisFull); err != nil {
				Fail(v, err)
			}
			got := w.Body.String()
			assert.Contains(t, got, `"done":7`)
			if accept == "application/json" {
				assert.Equal(t, http.StatusServiceUnavailable, w.Code)
				assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
				assert.Contains(t, got, "maxmemory")
				return
			}
			assert.Equal(t, http.StatusOK, w.Code, "it had begun")
			assert.Contains(t, got, `"problem":{"type":"about:blank"`)
			assert.Contains(t, got, "maxmemory")
		})
	}
}

// Args that an older program has stored may have bytes that are not UTF-8: nobody could read an answer with them.
func TestAnAnswerIsUTF8WhateverIsStored(t *testing.T) {
	t.Parallel()
	v := &visit.Visit{Site: &visit.Site{}}
	stored := json.RawMessage("[\"file-\xe9\"]")
	for name, body := range map[string]any{
		"jobs": jobList{Jobs: shownJobs(v, []*inspect.JobInfo{{ID: "a", Args: stored}})},
		"args": map[string]json.RawMessage{"args": soundJSON(stored)},
	} {
		text, err := asJSON(body)
		require.NoError(t, err)
		assert.True(t, utf8.Valid(text) && json.Valid(text), "%s: %q", name, text)
		assert.Contains(t, string(text), "[\"file-\ufffd\"]", name)
	}
}

func TestARecordThatIsNoJSONHidesNoOther(t *testing.T) {
	t.Parallel()
	v := &visit.Visit{Site: &visit.Site{}}
	shown := shownJobs(v, []*inspect.JobInfo{
		{ID: "odd", Name: "mail", State: work.StateSucceeded, Result: json.RawMessage("{")}, nil,
		{ID: "b", State: work.StateQueued},
	})
	require.Len(t, shown, 2)
	var job struct{ ID, Problem string }
	require.NoError(t, json.Unmarshal(shown[0], &job))
	assert.Equal(t, "odd", job.ID)
	assert.NotEmpty(t, job.Problem)
}
