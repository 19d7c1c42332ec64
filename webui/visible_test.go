package webui

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/format"
)

// turned is what a browser would show as something else.
const turned = "exe.\u202egpj\u200b\u2066"

// areas are what a person may change and send back: they are not to be changed on the way.
var areas = regexp.MustCompile(`(?s)<textarea.*?</textarea>|<script.*?</script>|` +
	`<(?:input|button|option|a|form)\b[^>]*>`)

// assertVisible wants nothing on a page that a browser obeys or hides.
func assertVisible(t *testing.T, where string, got answer) {
	t.Helper()
	require.Equal(t, http.StatusOK, got.StatusCode, where)
	for _, char := range areas.ReplaceAllString(got.Text, "") {
		if !strconv.IsPrint(char) && char != '\n' && char != '\t' {
			assert.Fail(t, "hidden", "%s has %U", where, char)
			return
		}
	}
}

func TestPagesShowWhatABrowserWouldHide(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace, Service: turned,
			Logger: slog.New(slog.DiscardHandler)}).
			JobWithOptions(turned, work.JobOptions{Retries: -1}, func(job *work.Job, _ string) error {
				job.Logger().Info(turned, turned, turned)
				job.Checkin(turned)
				return errors.New(turned)
			})
		enq := k.enq.With(work.Meta(turned, turned), work.Tags(turned))
		_, err := enq.With(work.ID(turned)).Enqueue(k.ctx(), turned, turned)
		require.NoError(t, err)
		require.NoError(t, pool.Start(k.ctx()))
		t.Cleanup(func() { assert.NoError(t, pool.Stop(context.Background())) })
		k.until("the job dies", func() bool { return k.state(turned) == work.StateDead })
		k.until("its failure is counted", func() bool {
			groups, err := k.inspector.Errors(k.ctx(), "")
			return err == nil && len(groups) > 0
		})
		require.NoError(t, k.inspector.AddSchedule(k.ctx(), "@every 24h", turned, work.PeriodicOptions{ID: turned}))
		_, err = enq.EnqueueIn(k.ctx(), turned, time.Hour, turned)
		require.NoError(t, err)

		worker := k.worker().ID
		for _, page := range []string{
			"", "queues", "queue?name=" + url.QueryEscape(turned), "job?id=" + url.QueryEscape(turned),
			"jobs?state=dead", "jobs?state=scheduled", format.Link("jobs", "name", turned), "schedules", "errors",
			"workers", "history", "worker?id=" + worker, "jobs?tag=" + url.QueryEscape(turned),
		} {
			if got := k.get(page); got.StatusCode != http.StatusNotFound {
				assertVisible(t, page, got)
			}
		}
		page := k.get("job?id=" + url.QueryEscape(turned))
		assert.GreaterOrEqual(t, strings.Count(page.Text, `exe.\u202egpj\u200b\u2066`), 6, "as the command line does")

		var job struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		}
		k.read("job?id="+url.QueryEscape(turned), &job)
		assert.Equal(t, []string{turned, turned, `["` + turned + `"]`}, []string{job.ID, job.Name, string(job.Args)},
			"programs get the bytes")
		require.NoError(t, k.inspector.PauseQueue(k.ctx(), turned))
		k.post(form(t, page, "job-retry"))
		assert.Equal(t, work.StateQueued, k.state(turned), "and forms lead to them")
	})
}
