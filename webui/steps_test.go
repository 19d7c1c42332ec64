package webui

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestAPageAndTheAPITellOfSteps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace,
			Logger: slog.New(slog.DiscardHandler)}).
			Job("import", func(ctx context.Context) error {
				_, err := work.Step(ctx, "<charge>", func(context.Context) (string, error) { return "secret", nil })
				if err == nil {
					_, err = work.ReceiveWithin[string](ctx, "approval", time.Hour)
				}
				return err
			})
		require.NoError(t, pool.Start(k.ctx()))
		t.Cleanup(func() { assert.NoError(t, pool.Stop(context.Background())) })
		k.enqueue("a", "import")
		k.until("it waits", func() bool { return k.state("a") == work.StateScheduled })

		page := k.get("job?id=a").Text
		for _, want := range []string{"Steps", "&lt;charge&gt;", "waits for message &#34;approval&#34; until "} {
			assert.Contains(t, page, want)
		}
		assert.NotContains(t, page, "secret", "what a step keeps is not on the page")
		assert.Contains(t, page, `action="job-send?id=a"`, "what it waits for can be sent")
		assert.NotContains(t, k.do(request(http.MethodGet, "/job?id=a", "viewer", nil)).Text, "job-send")
		var steps inspect.Steps
		k.read("steps?id=a", &steps)
		require.Len(t, steps.Done, 1)
		assert.JSONEq(t, `"secret"`, string(steps.Done[0].Value))
		require.Len(t, steps.Waits, 1)
		assert.True(t, steps.Waits[0].Message)

		sent := k.call(http.MethodPost, "job-send?id=a", `{"name":"other","value":7}`)
		assert.Equal(t, http.StatusOK, sent.StatusCode)
		k.read("steps?id=a", &steps)
		require.Len(t, steps.Mailbox, 1)
		assert.Contains(t, k.get("job?id=a").Text, "Message other of ")
		assert.Equal(t, http.StatusBadRequest, k.call(http.MethodPost, "job-send?id=a", `{"value":7}`).StatusCode)
		assert.Equal(t, http.StatusNotFound, k.call(http.MethodPost, "job-send?id=b", `{"name":"other"}`).StatusCode)
		assert.Equal(t, http.StatusNotFound, k.post("job-send?id=b", "name", "other", "value", "1").StatusCode)
		odd := k.post("job-send?id=a", "name", "other", "value", "yes")
		assert.Equal(t, http.StatusBadRequest, odd.StatusCode)
		assert.Contains(t, odd.Text, "A message is JSON")
		assert.Equal(t, http.StatusOK, k.call(http.MethodPost, "job-forget-steps?id=a", "").StatusCode)
		k.until("it has done it again", func() bool {
			var again inspect.Steps
			k.read("steps?id=a", &again)
			return len(again.Waits) == 1 && again.Done[0].At != steps.Done[0].At
		})
		sent = k.post("job-send?id=a", "name", "approval", "value", `"yes"`)
		assert.Equal(t, http.StatusSeeOther, sent.StatusCode)
		audited := k.entries()
		last := audited[len(audited)-1]
		assert.Equal(t, []string{"a"}, last.Targets)
		assert.Contains(t, last.Detail, `sent message "approval"`)
		k.until("it has ended", func() bool { return k.state("a") == "" })
	})
}
