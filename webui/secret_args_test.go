package webui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// secret stands in args that Redact hides.
const secret = "4111222233334444"

// kept is a log that can be read.
type kept struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *kept) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *kept) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Jobs have died of their args, another waits with them. No page and no answer of the API has them, whatever is asked
// for.
func TestNoPageTellsArgsThatAreHidden(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		log := &kept{}
		k := newKit(t, s, func(o *Options) {
			o.Redact = func(string, json.RawMessage) json.RawMessage { return json.RawMessage(`["hidden"]`) }
			o.Logger = slog.New(slog.NewTextHandler(log, nil))
		})
		pool := work.NewWorkerPool(nil, 1,
			work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace, Logger: slog.New(slog.DiscardHandler)}).
			Job("card", func(int8) error { return nil }).Job("list", func(string, []int8) error { return nil })
		require.NoError(t, pool.Start(k.ctx()))
		t.Cleanup(func() { assert.NoError(t, pool.Stop(k.ctx())) })
		k.enqueue("a", "card", secret)
		k.enqueue("b", "list", "x", []json.RawMessage{json.RawMessage(secret)})
		k.enqueue("c", "waits", secret)
		k.until("both have died", func() bool {
			return k.state("a") == work.StateDead &&
				k.state("b") == work.StateDead
		})
		require.NoError(t, pool.Drain(k.ctx()))
		_, err := k.enq.With(work.ID("d"), work.Retention(time.Hour)).Enqueue(k.ctx(), "ends", secret)
		require.NoError(t, err)
		_, err = k.inspector.Cancel(k.ctx(), "d")
		require.NoError(t, err)
		require.Contains(t, string(k.job("d").Args), secret, "it is kept")
		looked := 0
		for _, route := range Routes() {
			if route.Acts() || route.Path == "/live" || route.Path == "/job-log" || // these go on
				strings.Contains(route.Path, "{") || strings.HasSuffix(route.Path, "/follow") {
				continue
			}
			for _, query := range []string{"", "?id=a", "?id=b", "?id=c", "?state=dead", "?name=card", "?name=list",
				"?state=queued&name=waits", "?error=argument",
				"?id=d", "?state=cancelled&name=ends", "?state=cancelled", "?ended=1", "?name=ends"} {
				got := k.do(request(http.MethodGet, route.Path+query, "operator", nil))
				assert.NotContains(t, got.Text, secret, route.Path+query)
				if got.StatusCode == http.StatusOK {
					looked++
				}
			}
		}
		assert.Greater(t, looked, 50)
		assert.Contains(t, k.get("job?id=a").Text, "a JSON string", "it does say what is wrong")
		k.sendSecrets()
		assert.NotContains(t, log.String(), secret)
		assert.NotContains(t, fmt.Sprintf("%+v", k.entries()), secret)
	})
}

// sendSecrets sends args that cannot be, to whatever takes some.
func (k *kit) sendSecrets() {
	k.t.Helper()
	refused := 0
	for _, route := range Routes() {
		if !route.Acts() {
			continue
		}
		for _, body := range []string{
			`{"args":` + secret + `}`, `{"args":"` + secret + `"}`, `{"args":{"` + secret + `":1}}`,
			`{"name":"x","args":[` + secret + `x]}`, `{"args":[` + secret,
		} {
			r := request(http.MethodPost, route.Path+"?id=none&name=none", "operator", nil)
			r.Body = io.NopCloser(strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			got := k.do(r)
			assert.NotContains(k.t, got.Text, secret, route.Path)
			if got.StatusCode == http.StatusBadRequest {
				refused++
			}
		}
	}
	assert.Greater(k.t, refused, 10)
	got := k.post("job-args?id=c", "args", `[`+secret+`x]`)
	assert.Equal(k.t, http.StatusBadRequest, got.StatusCode)
	assert.NotContains(k.t, got.Text, secret)
}
