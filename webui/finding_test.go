package webui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/find"
	"github.com/265d0351/work/webui/internal/visit"
)

// crowdOf enqueues so many jobs; of each hundred the last one has the tag "rare".
func (k *kit) crowdOf(many int) {
	k.t.Helper()
	entries := make([]work.Entry, many)
	for n := range entries {
		entries[n] = work.Entry{Name: "mail", Args: []any{n},
			Options: []work.EnqueueOption{work.ID(fmt.Sprint("j", n))}}
		if n%100 == 99 {
			entries[n].Options = append(entries[n].Options, work.Tags("rare"))
		}
	}
	_, err := k.enq.EnqueueMany(k.ctx(), entries)
	require.NoError(k.t, err)
}

// found is what the events of a stream have told.
type found struct {
	Rows, Text, Next string
	Percent          int
	ids              []string
}

// find reads a stream to its end.
func (k *kit) find(query string, header ...string) (sum found) {
	k.t.Helper()
	r := request(http.MethodGet, "/finding?"+query, "operator", nil)
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	got := k.do(r)
	require.Equal(k.t, http.StatusOK, got.StatusCode, got.Text)
	assertSecure(k.t, got)
	for event := range strings.SplitSeq(got.Text, "\n\n") {
		_, data, is := strings.Cut(event, "data: ")
		if !is {
			continue
		}
		require.NoError(k.t, json.Unmarshal([]byte(data), &sum), data)
		sum.ids = append(sum.ids, targets(boxes, sum.Rows)...)
		sum.Rows = ""
	}
	return sum
}

func TestASearchGoesOnToItsEndByItself(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowdOf(5_000)
		page := k.get("jobs?state=queued&tag=rare")
		assert.Contains(t, page.Text, "20 found on this page; looked through 2,000 of about 5,000 records",
			"without a script")
		assert.Contains(t, page.Text, `data-find="finding?state=queued&amp;tag=rare"`)
		got := k.find("state=queued&tag=rare")
		assert.Len(t, got.ids, 50)
		assert.Equal(t, 100, got.Percent)
		assert.Equal(t, "all 5,000 records were looked through", got.Text)
		assert.Empty(t, got.Next)

		many := k.find("state=queued&error=&id=j")
		assert.Len(t, many.ids, find.Most, "enough for a page")
		assert.Contains(t, many.Text, "looked through 500 of about 5,000 records: these are enough for a page")
		next, err := url.Parse(many.Next)
		require.NoError(t, err)
		rest := k.find(next.RawQuery)
		assert.Len(t, rest.ids, find.Most)
		assert.NotEqual(t, many.ids[0], rest.ids[0])
		same := k.find("state=queued&id=j", "Last-Event-ID", next.Query().Get("cursor"))
		assert.Equal(t, rest.ids, same.ids, "as a browser asks that has lost the connection")
		assert.Zero(t, k.handler.(*site).shared.Searches.Watched())
	})
}

func TestASearchThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), func(o *Options) { o.MaxStreams = 1 })
	for query, status := range map[string]int{
		"state=none": http.StatusBadRequest, "tag=x&cursor=x": http.StatusBadRequest,
		"tag=x&since=yesterday":                               http.StatusBadRequest,
		"tag=x&since=2026-01-02T00:00&until=2026-01-01T00:00": http.StatusBadRequest,
	} {
		assert.Equal(t, status, k.get("finding?"+query).StatusCode, query)
	}
	shared := k.handler.(*site).shared
	leave, err := shared.Streams.Searches.Enter(&visit.Visit{Site: shared, W: httptest.NewRecorder(),
		R: request(http.MethodGet, "/finding", "viewer", nil), Actor: "ann"}, "")
	require.NoError(t, err)
	defer leave()
	got := k.get("finding?tag=x")
	assert.Equal(t, http.StatusServiceUnavailable, got.StatusCode)
	assert.NotEmpty(t, got.Header.Get("Retry-After"))
}

func TestTheAPISearchesByLines(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		k.crowdOf(3_000)
		got := k.call(http.MethodGet, "search?state=queued&tag=rare", "")
		assert.Equal(t, "application/x-ndjson", got.Header.Get("Content-Type"))
		jobs, last := 0, map[string]json.RawMessage{}
		for line := range strings.Lines(got.Text) {
			last = map[string]json.RawMessage{}
			require.NoError(t, json.Unmarshal([]byte(line), &last))
			var some []json.RawMessage
			if last["jobs"] != nil {
				require.NoError(t, json.Unmarshal(last["jobs"], &some))
			}
			jobs += len(some)
		}
		assert.Equal(t, 30, jobs)
		var outcome struct {
			Found, Through int
			Next           string
		}
		require.NoError(t, json.Unmarshal(last["outcome"], &outcome))
		assert.Equal(t, 30, outcome.Found)
		assert.Equal(t, 3_000, outcome.Through)
		assert.Empty(t, outcome.Next)
	})
}

func TestTheAPIKnowsTheNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		for _, name := range []string{"mail", "Mailing", "report"} {
			k.enqueue("of "+name, name)
		}
		var got struct {
			Names []string
			More  bool
		}
		k.call(http.MethodGet, "names?part=mail", "").decode(t, &got)
		assert.Equal(t, []string{"Mailing", "mail"}, got.Names)
		assert.False(t, got.More)
		k.call(http.MethodGet, "names?limit=1", "").decode(t, &got)
		assert.Equal(t, []string{"Mailing"}, got.Names)
		assert.True(t, got.More)
	})
}
