package webui

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// TestErrorsOfAllNamesAreListedByCause: the same text is one cause, whatever its numbers and the names of the jobs.
func TestErrorsOfAllNamesAreListedByCause(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		fails := func(n int) error { return fmt.Errorf("order %d is not there", n) }
		pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace,
			Logger: slog.New(slog.DiscardHandler)}).
			JobWithOptions("mail", work.JobOptions{Retries: -1}, fails).
			JobWithOptions("report", work.JobOptions{Retries: -1}, fails)
		for n, name := range []string{"mail", "mail", "report"} {
			k.enqueue(fmt.Sprint("j", n), name, n)
		}
		require.NoError(t, pool.Start(k.ctx()))
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		page := k.get("errors")
		assert.Equal(t, 1, strings.Count(page.Text, "order # is not there"), "one cause")
		assert.Contains(t, page.Text, `class="number">3</td>`)
		assert.Contains(t, page.Text, `aria-label="3 in 24 hours, at most `)
		for _, name := range []string{"mail", "report"} {
			assert.Regexp(t, `<summary>`+name+` <span class="muted">[12]</span>`, page.Text)
		}
		assert.Contains(t, page.Text, `href="errors?sort=-count"`)
		assert.Contains(t, k.get("errors?sort=-count").Text,
			`aria-sort="descending"><a class="sort" href="errors?sort=count">`)
		assert.Contains(t, k.get("errors?name=mail").Text, `class="number">2</td>`)
		assert.Less(t, strings.Index(page.Text, "</table>"), strings.Index(page.Text, "errors-clear"),
			"to clear counts is the least of what one does")
	})
}
