package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// ends are counts as every view has them.
type ends struct {
	Done   float64 `json:"done"`
	Failed float64 `json:"failed"`
	Dead   float64 `json:"dead"`
}

// scripted is a Redis on which jobs ended in the last full minute: 4 well, 3 with an error, to be tried again, 2 out of
// attempts, one by a panic, and one was buried by hand.
func scripted(t *testing.T) (dsn string, want ends) {
	t.Helper()
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	now := time.Date(2030, 1, 31, 9, 0, 10, 0, time.UTC)
	server.SetTime(now)
	later := func(*work.Job, error) time.Duration { return time.Hour }
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: server.DSN(), Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("mail", work.JobOptions{Backoff: later}, func(job *work.Job, end string) error {
			switch end {
			case "fails":
				return errors.New("no")
			case "panics":
				panic("oh")
			case "buried":
				return work.Bury(errors.New("never"))
			}
			return nil
		})
	enq := pool.Enqueuer()
	for end, n := range map[string]int{"well": 4, "fails": 3, "buried": 1, "dies": 2, "panics": 1} {
		for range n {
			if end == "dies" {
				_, err = enq.With(work.Retries(0)).Enqueue(t.Context(), "mail", "fails")
			} else {
				_, err = enq.Enqueue(t.Context(), "mail", end)
			}
			require.NoError(t, err)
		}
	}
	require.NoError(t, pool.Start(t.Context()))
	require.NoError(t, pool.Drain(t.Context()))
	require.NoError(t, pool.Stop(t.Context()))
	server.SetTime(now.Add(time.Minute))
	return server.DSN(), ends{Done: 4, Failed: 3 + 2 + 1 + 1, Dead: 2 + 1}
}

// TestFailedMeansTheSameEverywhere: each view of one set of jobs, on the command line, the dashboard and of programs.
func TestFailedMeansTheSameEverywhere(t *testing.T) {
	t.Parallel()
	dsn, want := scripted(t)
	said := func(into any, args ...string) {
		t.Helper()
		got := call(append(args, "--redis", dsn, "--json")...)
		require.Equal(t, exit.OK, got.status, got.err)
		require.NoError(t, json.Unmarshal([]byte(got.out), into), got.out)
	}
	var stats, queue ends
	said(&stats, "stats", "mail", "--since", "1h")
	said(&queue, "queues", "mail")
	assert.Equal(t, want, stats, "work stats")
	assert.Equal(t, want, queue, "work queues")
	var top struct {
		Queues  []ends `json:"queues"`
		Minutes []ends `json:"minutes"`
	}
	said(&top, "top", "--once")
	assert.Equal(t, []ends{want}, top.Queues, "a queue in work top")
	var all ends
	for _, minute := range top.Minutes {
		all = ends{all.Done + minute.Done, all.Failed + minute.Failed, all.Dead + minute.Dead}
	}
	assert.Equal(t, want, all, "the last hour in work top")

	inspector, err := inspect.New(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	history, err := inspector.History(t.Context(), inspect.HistoryOptions{})
	require.NoError(t, err)
	var points ends
	for _, p := range history["mail"] {
		points = ends{points.Done + float64(p.Done), points.Failed + float64(p.Failed), points.Dead + float64(p.Dead)}
	}
	assert.Equal(t, want, points, "Inspector.History")

	handler := webui.Handler(inspector, webui.Options{Logger: slog.New(slog.DiscardHandler),
		Authorize: func(*http.Request) (webui.Role, string, error) { return webui.RoleViewer, "", nil }})
	ask := func(target string) string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		require.Equal(t, http.StatusOK, w.Code, target)
		return w.Body.String()
	}
	var ofAPI ends
	require.NoError(t, json.Unmarshal([]byte(ask("/api/queue?name=mail")), &ofAPI))
	assert.Equal(t, want, ofAPI, "the API")
	assert.Contains(t, ask("/queue?name=mail"), "4 done, 7 failed, 3 of them dead", "the chart of a queue")
	assert.Contains(t, ask("/history"), "4 done, 7 failed, 3 of them dead", "the chart of the history")
	assert.Contains(t, strings.Join(strings.Fields(ask("/queues")), " "), `<span class="warn">7</span>`, "the queues")
	assert.Contains(t, call("stats", "mail", "--since", "1h", "--redis", dsn).out, "7", "as people read it")
}
