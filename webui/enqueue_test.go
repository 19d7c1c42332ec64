package webui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

// takesJobs makes it a dashboard with an enqueuer.
func (k *kit) takesJobs() {
	opts := k.options
	opts.Enqueuer = k.enq
	k.handler = Handler(k.inspector, opts)
}

// addEffects are those of forms that add something. For programs they have other names: POST /api/jobs and
// /api/schedules.
func addEffects() map[string]effect {
	return map[string]effect{
		"/schedule-add": {target: "force=true", form: []string{"id", "s", "spec", "0 6 * * *", "tz", "Europe/Berlin",
			"name", "report", "key", "north", "args", `["orders", 12345678901234567890]`, "missed", "skip",
			"overlap", "skip", "jitter", "30s"}, after: func(t *testing.T, k *kit) {
			got := k.schedules()[0]
			assert.Equal(t, []string{"s", "0 6 * * *", "report", "Europe/Berlin", "north"},
				[]string{got.ID, got.Spec, got.Name, got.Options.TZ, got.Options.Key})
			assert.JSONEq(t, `["orders",12345678901234567890]`, string(got.Args))
			assert.Equal(t, work.MissedSkip, got.Options.Missed)
			assert.Equal(t, work.OverlapSkip, got.Options.Overlap)
			assert.Equal(t, 30*time.Second, got.Options.Jitter)
		}},
		"/enqueue": {before: (*kit).takesJobs, target: "force=true",
			form: []string{"name", "mail", "id", "a", "in", "1h",
				"args", `["ann", 12345678901234567890]`, "tags", "eu, vip", "key", "north", "retention", "24h",
				"retries", "3", "once", "token"}, after: func(t *testing.T, k *kit) {
				job, err := k.inspector.Job(k.ctx(), "a")
				require.NoError(t, err)
				assert.Equal(t, work.StateScheduled, job.State)
				assert.JSONEq(t, `["ann",12345678901234567890]`, string(job.Args))
				assert.Equal(t, []string{"eu", "vip"}, job.Tags)
				assert.Equal(t, "north", job.Options.Key)
				again := k.post("enqueue?force=true", "name", "mail", "once", "token")
				assert.Contains(t, k.get(again.Header.Get("Location")).Text, "had been enqueued before",
					"a form that is sent twice")
			}},
	}
}
