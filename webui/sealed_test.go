package webui

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/seal"
)

// Sealed args and results are opened for operators of a dashboard that has the key, and for nobody else.
func TestWhoSeesWhatIsSealed(t *testing.T) {
	t.Parallel()
	sealer, err := seal.New(seal.Keys{Seal: "k2", Known: map[string][]byte{"k2": bytes.Repeat([]byte("2"), 32)}})
	require.NoError(t, err)
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, func(o *Options) { o.Codecs = []work.Codec{sealer} })
		without := k.options
		without.Codecs = nil
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace,
			Logger: k.options.Logger, Codecs: []work.Codec{sealer}}).
			JobWithOptions("card", work.JobOptions{Retention: time.Hour}, func(number, _ string) (string, error) {
				return "charged " + number, nil
			})
		enq := pool.Enqueuer().With(work.ID("a"))
		_, err := enq.Enqueue(k.ctx(), "card", secret, strings.Repeat("x", 9000))
		require.NoError(t, err)
		look := func(page, role string, handler http.Handler) string {
			k.handler = handler
			return k.do(request(http.MethodGet, page, role, nil)).Text
		}
		opens, other := k.handler, Handler(k.inspector, without)
		check := func(pages ...string) {
			for _, page := range pages {
				assert.Contains(t, look(page, "operator", opens), secret, page)
				for _, text := range []string{look(page, "viewer", opens), look(page, "operator", other)} {
					assert.NotContains(t, text, secret, page)
					assert.Contains(t, text, "sealed with key k2, ", page)
					assert.NotContains(t, text, "codec", page)
				}
			}
		}
		check("/job?id=a", "/args?id=a", "/jobs?state=queued&name=card", "/api/job?id=a")
		assert.Contains(t, look("/args?id=a", "operator", opens), "xxxx")
		require.NoError(t, pool.Start(k.ctx()))
		t.Cleanup(func() { assert.NoError(t, pool.Stop(k.ctx())) })
		require.NoError(t, enq.WaitEnd(k.ctx(), "a"))
		check("/job?id=a", "/api/job?id=a")
		assert.Contains(t, look("/job?id=a", "operator", opens), "charged "+secret)
	})
}
