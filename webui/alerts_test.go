package webui

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/alerts"
)

// The page says what is wrong, since when somebody knows, and whether that was told.
func TestThePageOfAlertsSaysWhatWasTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		page := k.get("alerts")
		assert.Contains(t, page.Text, "No worker is registered")
		assert.Contains(t, page.Text, "nobody sends its alerts")
		posted := make(chan struct{}, 10)
		hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posted <- struct{}{} }))
		defer hook.Close()
		ctx, cancel := context.WithCancel(k.ctx())
		ended := make(chan error)
		go func() {
			ended <- alerts.Send(ctx, k.inspector, alerts.Options{URL: hook.URL, After: 1, Every: time.Second})
		}()
		<-posted
		k.until("it is noted", func() bool {
			incidents, _, err := k.inspector.Incidents(k.ctx())
			return err == nil && len(incidents) > 0 && !incidents[0].Told.IsZero()
		})
		cancel()
		require.NoError(t, <-ended)
		page = k.get("alerts")
		assert.NotContains(t, page.Text, "nobody sends its alerts")
		assert.Regexp(t, `data-label="Told" class="when"><time`, page.Text)

		require.NoError(t, k.inspector.SilenceAlert(k.ctx(), "jobs-stuck", time.Hour, "bob"))
		var told struct {
			Alerts    []alerts.Alert
			Incidents []inspect.Incident
			Silences  []inspect.Silence
		}
		require.NoError(t, json.Unmarshal([]byte(k.get("api/alerts").Text), &told))
		assert.Equal(t, alerts.NoWorkers, told.Alerts[0].Rule)
		assert.Equal(t, "no-workers", told.Incidents[0].Rule)
		assert.Equal(t, "bob", told.Silences[0].By)
		assert.Contains(t, k.get("alerts").Text, "Tell again")
	})
}

func TestSilencesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	for name, row := range map[string]struct {
		rule, within string
		status       int
	}{
		"no such rule": {"nonsense", "1h", 404}, "no time": {"no-workers", "", 400}, "never": {"no-workers", "-1h",
			400},
		"for ever": {"no-workers", "9000h", 400}, "no duration": {"no-workers", "soon", 400},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, row.status, k.post("alert-silence?rule="+row.rule, "for", row.within).StatusCode)
			got := k.call(http.MethodPost, "alert-silence?rule="+row.rule+"&for="+row.within, "")
			assert.Equal(t, row.status, got.StatusCode)
		})
	}
}
