package webui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
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
		for _, key := range strings.Fields("host service version started busy load partition") {
			for by, says := range map[string]string{key: "ascending", "-" + key: "descending"} {
				assert.Equal(t, 1, strings.Count(k.get("workers?sort="+by).Text, `"`+says+`"`), by)
			}
		}
	})
}

// TestEachColumnSortsBothWays goes by every link in a head of every page, and back.
func TestEachColumnSortsBothWays(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.fillTables()
		for page, columns := range map[string]int{
			"queues": 9, "history": 11, "errors": 4, "schedules": 5, "flows": 8, "flow?id=flow-1": 3, "keys": 5,
			"keys?name=mail": 6, "workers": 8, "alerts": 8, "nodes": 14, "partitions": 9, "": 0,
		} {
			t.Run("/"+page, func(t *testing.T) {
				links := targets(sortLinks, k.get(page).Text)
				require.Len(t, links, columns)
				for _, link := range links {
					k.sortsBothWays(t, link)
				}
			})
		}
		for _, row := range []string{"stopped=done", "stopped=-done"} {
			page := k.get("workers?sort=-host&" + row).Text
			assert.Contains(t, page, `workers?sort=-host&amp;stopped=why#stopped`, "each table keeps its order")
			assert.NotContains(t, page, `workers?sort=-host#`)
		}
	})
}

// fillTables puts rows that differ into the tables of the dashboard, and lets nobody change them any more.
func (k *kit) fillTables() {
	k.t.Helper()
	k.ordered("flow-1")
	k.ordered("flow-2")
	_, err := k.inspector.CancelFlow(k.ctx(), "flow-2")
	require.NoError(k.t, err)
	for n, name := range []string{"often", "rare"} {
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: k.server.DSN(), Namespace: k.namespace,
			Logger: slog.New(slog.DiscardHandler)}).
			Job("often", pooltest.Nothing).
			JobWithOptions("rare", work.JobOptions{Retries: -1}, func() error { return errors.New("it is " + name) }).
			JobWithOptions("dies", work.JobOptions{Retries: -1}, func() error { return io.ErrUnexpectedEOF })
		for range 3 - n {
			_, err := k.enq.Enqueue(k.ctx(), name)
			require.NoError(k.t, err)
		}
		_, err := k.enq.Enqueue(k.ctx(), []string{"dies", "often"}[n])
		require.NoError(k.t, err)
		require.NoError(k.t, pool.Start(context.Background()))
		require.NoError(k.t, pool.Drain(k.ctx()))
		require.NoError(k.t, pool.Stop(k.ctx()))
	}
	k.keyed("mail", "north", 3)
	k.keyed("mail", "south", 1)
	k.keyed("report", "east", 1)
	require.NoError(k.t, k.inspector.StopKey(k.ctx(), "mail", "north"))
	for n, id := range []string{"a", "b"} {
		require.NoError(k.t, k.inspector.AddSchedule(k.ctx(), fmt.Sprintf("@every %dh", n+1), id,
			work.PeriodicOptions{ID: id}))
		require.NoError(k.t, k.inspector.SilenceAlert(k.ctx(), []string{"jobs-stuck", "no-workers"}[n],
			time.Duration(n+1)*time.Hour, id))
	}
}

var (
	sortLinks = regexp.MustCompile(`<a class="sort" href="([^"]*)"`)
	tablesOf  = regexp.MustCompile(`(?s)<table.*?</table>`)
	headCells = regexp.MustCompile(`(?s)<th[ >].*?</th>`)
	rowsOf    = regexp.MustCompile(`(?s)<tr[ >].*?</tr>`)
	cellsOf   = regexp.MustCompile(`(?s)<td[ >].*?</td>`)
	moments   = regexp.MustCompile(`datetime="([^"]*)"`)
	markup    = regexp.MustCompile(`<[^>]*>`)
)

// sortsBothWays follows a link, and then the one that turns the order around.
func (k *kit) sortsBothWays(t *testing.T, link string) {
	t.Helper()
	there, back := k.sorted(t, link)
	turned, _ := k.sorted(t, back)
	if len(there) == 1 && len(turned) == 1 {
		return // the only row, which may have changed meanwhile, or all are equal
	}
	slices.Reverse(turned)
	assert.Equal(t, there, turned, link)
}

// sorted is what stands in the column by which a page is sorted, without what is equal, and the link in its head.
func (k *kit) sorted(t *testing.T, link string) (column []string, back string) {
	t.Helper()
	address, _, _ := strings.Cut(link, "#")
	page := k.get(address)
	require.Equal(t, http.StatusOK, page.StatusCode, link)
	require.Equal(t, 1, strings.Count(page.Text, "aria-sort="), "%s: one column says that it is sorted", link)
	all := tablesOf.FindAllString(page.Text, -1)
	table := all[slices.IndexFunc(all, func(t string) bool { return strings.Contains(t, "aria-sort=") })]
	heads := headCells.FindAllString(table, -1)
	at := slices.IndexFunc(heads, func(head string) bool { return strings.Contains(head, "aria-sort=") })
	for _, row := range rowsOf.FindAllString(table, -1)[1:] {
		cell := cellsOf.FindAllString(row, -1)[at]
		text := strings.TrimSpace(markup.ReplaceAllString(cell, ""))
		if times := moments.FindStringSubmatch(cell); times != nil {
			text = times[1] // how long ago that is changes meanwhile
		}
		column = append(column, text)
	}
	return slices.Compact(column), targets(sortLinks, heads[at])[0]
}

// TestPartitionsSort: the one with the most jobs comes first where somebody wants that.
func TestPartitionsSort(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.keyed("mail", "north", 3)
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = driver.Close() })
		partitiontest.WriteMap(t, driver, k.namespace, partitiontest.Divided(1, 3))
		i, err := inspect.New(s.DSN(), work.Namespace(k.namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = i.Close() })
		k.handler = Handler(i, k.options)
		links := targets(sortLinks, k.get("partitions").Text)
		require.Len(t, links, 9)
		for _, link := range links {
			k.sortsBothWays(t, link)
		}
		column, _ := k.sorted(t, "partitions?sort=-partition")
		assert.Equal(t, []string{"2", "1", "0"}, column)
		column, _ = k.sorted(t, "partitions?sort=queued")
		assert.Equal(t, []string{"0", "3"}, column)
		assert.Contains(t, k.get("").Text, "<h2>Partitions</h2>")
		assert.Empty(t, targets(sortLinks, k.get("").Text), "the overview is sent as it is")
	})
}
