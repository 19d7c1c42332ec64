package webui

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// inOrder wants texts on a page one behind the other.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	at := -1
	for _, text := range texts {
		next := strings.Index(page, text)
		require.Positive(t, next, text)
		assert.Greater(t, next, at, text)
		at = next
	}
}

func TestColumnsSort(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, service := range []string{"amber", "birch"} {
			pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace,
				Service: service, Logger: slog.New(slog.DiscardHandler)}).
				Job("often", pooltest.Nothing).Job("rare", pooltest.Nothing)
			require.NoError(t, pool.Start(context.Background()))
			t.Cleanup(func() { assert.NoError(t, pool.Stop(k.ctx())) })
		}
		for range 3 {
			_, err := k.enq.Enqueue(k.ctx(), "often")
			require.NoError(t, err)
		}
		k.enqueue("a", "rare")
		k.ordered("flow-1")
		k.ordered("flow-2")
		k.until("all is counted", func() bool {
			return strings.Contains(k.get("history").Text, "?name=rare") &&
				strings.Contains(k.get("history?sort=-done").Text, `class="number">3</td>`)
		})
		often, rare := `name=often&amp;span=hour">often`, `name=rare&amp;span=hour">rare`
		inOrder(t, k.get("history?sort=-done").Text, "<tbody>", often, rare)
		inOrder(t, k.get("history?sort=done").Text, "<tbody>", rare, often)
		inOrder(t, k.get("history?sort=name&span=day").Text, "<tbody>",
			`name=often&amp;span=day">often`, `name=rare&amp;span=day">rare`)
		inOrder(t, k.get("flows?sort=id").Text, "<tbody>", "flow-1", "flow-2")
		inOrder(t, k.get("flows?sort=-id").Text, "<tbody>", "flow-2", "flow-1")
		inOrder(t, k.get("workers?sort=service").Text, `id="workers"`, "<dd>amber</dd>", "<dd>birch</dd>")
		inOrder(t, k.get("workers?sort=-service").Text, `id="workers"`, "<dd>birch</dd>", "<dd>amber</dd>")
		for page, keys := range map[string]string{
			"history": "name done failed dead mean run50 run95 run99 waited50 waited95 waited99",
			"flows":   "id state gone of dead cancelled stored over",
			"workers": "host service version started busy load partition", "keys": "",
		} {
			for _, key := range strings.Fields(keys) {
				for by, says := range map[string]string{key: "ascending", "-" + key: "descending"} {
					got := k.get(page + "?sort=" + by)
					require.Equal(t, http.StatusOK, got.StatusCode)
					assert.Equal(t, 1, strings.Count(got.Text, `"`+says+`"`), "%s by %s", page, by)
				}
			}
		}
	})
}
