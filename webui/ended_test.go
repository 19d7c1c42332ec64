package webui

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// end stores a job that is kept for an hour, and cancels it.
func (k *kit) end(id, name string, args ...any) {
	k.t.Helper()
	_, err := k.enq.With(work.ID(id), work.Retention(time.Hour)).Enqueue(k.ctx(), name, args...)
	require.NoError(k.t, err)
	results, err := k.inspector.Cancel(k.ctx(), id)
	require.NoError(k.t, err)
	require.NoError(k.t, results[0].Err())
}

// listed are the ids of the jobs that a page lists, in order.
func listed(page answer) (ids []string) {
	for _, target := range targets(hrefs, page.Text) {
		if id, found := strings.CutPrefix(target, "job?id="); found {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestJobsThatHaveEndedAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for n := range 52 {
			k.end(fmt.Sprintf("m%02d", n), "mail", n)
		}
		k.end("x", "other", "an arg")
		queue := k.get("queue?name=mail")
		assert.Regexp(t, `cancelled</span> <b>52</b>`, queue.Text)
		require.Contains(t, targets(hrefs, queue.Text), "jobs?name=mail&state=cancelled")
		first := k.get("jobs?name=mail&state=cancelled")
		assert.Contains(t, first.Text, "52 in all, newest first.")
		ids := listed(first)
		require.Len(t, ids, 50)
		next := regexp.MustCompile(`<a href="([^"]*)" rel="next">`).FindStringSubmatch(first.Text)
		require.Len(t, next, 2)
		ids = append(ids, listed(k.get(targets(regexp.MustCompile(`(.*)`), next[1])[0]))...)
		require.Len(t, ids, 52)
		times := make([]time.Time, len(ids))
		for n, id := range ids {
			times[n] = k.job(id).EndedAt
			assert.False(t, n > 0 && times[n].After(times[n-1]), "%s ended after the one before it", id)
		}
		last := listed(k.get("jobs?name=mail&state=cancelled&newest=0"))
		assert.Equal(t, times[51], k.job(last[0]).EndedAt, "the first to end comes first")
		assert.Equal(t, []string{"x"}, listed(k.get("jobs?state=cancelled&args=an+arg")))
		assert.ElementsMatch(t, []string{"x"}, listed(k.get("jobs?ended=1&name=other")))
		assert.Empty(t, listed(k.get("jobs?name=other")), "what has ended is searched where that is asked for")
		assert.Contains(t, first.Text, "Enqueue again")
		assert.NotContains(t, first.Text, "Act on all that match", "only to those that are ticked")
		viewer := k.do(request(http.MethodGet, "/jobs?name=mail&state=cancelled", "viewer", nil))
		assert.Equal(t, listed(first), listed(viewer))
		assert.NotContains(t, viewer.Text, "Act on")
	})
}

func TestTheAPITellsOfJobsThatHaveEnded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		k.end("a", "mail", "ann")
		k.end("b", "mail", "bob")
		pool := k.pool()
		k.enqueue("c", "fails")
		k.until("it has failed", func() bool { return k.state("c") == work.StateRetrying })
		require.NoError(t, pool.Drain(k.ctx()))
		var list struct {
			Jobs []struct {
				ID, Name, State string
				Args            []string
				Attempts        []struct {
					Number  int
					Outcome string
					Error   string
				}
			}
			Total int
		}
		k.read("jobs?state=cancelled&name=mail&limit=1", &list)
		require.Len(t, list.Jobs, 1)
		assert.Equal(t, 2, list.Total)
		k.read("jobs?state=cancelled&name=mail&args=ann", &list)
		require.Len(t, list.Jobs, 1)
		assert.Equal(t, "a", list.Jobs[0].ID)
		assert.Equal(t, []string{"ann"}, list.Jobs[0].Args)
		k.read("jobs?ended=1&tag=none", &list)
		assert.Empty(t, list.Jobs)
		k.read("jobs?ended=1", &list)
		assert.Len(t, list.Jobs, 3)
		k.read("jobs?state=retrying", &list)
		require.Len(t, list.Jobs[0].Attempts, 1)
		assert.Equal(t, "failed", list.Jobs[0].Attempts[0].Outcome)
		k.call(http.MethodPost, "bulk?ended=1&action=delete", "").problem(t, http.StatusBadRequest, "ended")
		k.call(http.MethodPost, "bulk?state=cancelled&name=mail&action=delete&sure=1", "").
			problem(t, http.StatusBadRequest, "state")
		assert.NotNil(t, k.job("a"))
	})
}
