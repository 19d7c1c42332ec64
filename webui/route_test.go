package webui

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/pages"
)

// samples are queries under which the pages show something; "-" is for those that have tests of their own.
var samples = map[string]string{
	"/": "", "/queues": "", "/queue": "name=mail", "/keys": "name=mail",
	"/jobs": "state=queued&name=mail", "/job": "id=a", "/args": "id=a",
	"/flows": "", "/flow": "id=f",
	"/errors": "", "/workers": "", "/schedules": "", "/history": "", "/redis": "", "/nodes": "",
	"/partitions": "", "/alerts": "", "/audit": "",
	"/new-job": "", "/finding": "-", "/job-log": "-",
	"/live": "-", "/assets/{file}": "-",
}

func TestEveryPageAnswersAViewer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue("a", "mail", "x")
		k.ordered("f")
		for _, route := range Routes() {
			if route.Acts() || strings.HasPrefix(route.Path, "/api/") {
				continue
			}
			query, known := samples[route.Path]
			require.True(t, known, "%s needs a sample", route.Path)
			if query == "-" {
				continue
			}
			t.Run(strings.TrimPrefix(route.Path, "/")+" page", func(t *testing.T) {
				got := k.do(request(http.MethodGet, route.Path+"?"+query, "viewer", nil))
				assert.Equal(t, http.StatusOK, got.StatusCode)
				assertSecure(t, got)
				assert.NotContains(t, got.Text, `method="post"`, "a viewer has no buttons")
				assertRelative(t, got.Text)
			})
		}
	})
}

var inline = regexp.MustCompile(`(?i)<script[^>]*>[^<]|<style|\sstyle="|\son[a-z]+="|="javascript:`)

func assertSecure(t *testing.T, got answer) {
	t.Helper()
	policy := got.Header.Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'")
	assert.Contains(t, policy, "frame-ancestors 'none'")
	assert.Contains(t, policy, "form-action 'self'")
	assert.NotContains(t, policy, "unsafe")
	assert.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
	assert.Equal(t, "same-origin", got.Header.Get("Referrer-Policy"))
	assert.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	assert.Empty(t, inline.FindString(strings.ReplaceAll(got.Text, `value="javascript:`, "")), "a value is no address")
}

// assertRelative wants every link one step below the prefix, wherever that is.
func assertRelative(t *testing.T, page string) {
	t.Helper()
	for _, target := range targets(hrefs, page) {
		u, err := url.Parse(target)
		require.NoError(t, err)
		assert.False(t, u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "/"), "%q leaves the prefix", target)
		assert.False(t, strings.HasPrefix(path.Clean("x/"+u.Path), ".."), "%q leaves the prefix", target)
	}
}

func TestNobodyDoesWhatTheirRoleDoesNotAllow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, closed := newKit(t, s), newKit(t, s, func(o *Options) { o.ReadOnly = true })
		closed.handler = Handler(k.inspector, Options{Authorize: byHeader, ReadOnly: true, Audit: closed.audit,
			Logger: slog.New(slog.DiscardHandler)})
		k.schedule("a", "mail")
		for _, route := range Routes() {
			target := "/" + strings.TrimPrefix(route.Path, "/") +
				"?id=a&name=mail&all=1&state=scheduled&action=delete&sure=1"
			form := url.Values{"id": {"a"}, "action": {"delete"}, "at": {"2000-01-01T00:00"}, "args": {"[]"}}
			attempts := map[string]struct {
				kit     *kit
				request *http.Request
			}{"nobody": {k, request(route.Method, target, "", form)}}
			if route.Acts() {
				attempts["a viewer"] = struct {
					kit     *kit
					request *http.Request
				}{k, request(route.Method, target, "viewer", form)}
				foreign := request(route.Method, target, "operator", form)
				foreign.Header.Set("Sec-Fetch-Site", "cross-site")
				attempts["another site"] = struct {
					kit     *kit
					request *http.Request
				}{k, foreign}
				old := request(route.Method, target, "operator", form)
				old.Header.Del("Sec-Fetch-Site")
				old.Header.Set("Origin", "https://evil.example")
				attempts["another site, by an old browser"] = struct {
					kit     *kit
					request *http.Request
				}{k, old}
				attempts["an operator of what is read-only"] = struct {
					kit     *kit
					request *http.Request
				}{closed, request(route.Method, target, "operator", form)}
			}
			for who, attempt := range attempts {
				t.Run(route.Method+" "+strings.TrimPrefix(route.Path, "/")+" by "+who, func(t *testing.T) {
					// a stream that is opened by mistake ends
					got := attempt.kit.do(attempt.request.WithContext(attempt.kit.ctx()))
					assert.Equal(t, http.StatusForbidden, got.StatusCode)
					assertSecure(t, got)
					audited := attempt.kit.entries()
					if who == "nobody" {
						assert.Empty(t, audited)
						return
					}
					require.Len(t, audited, 1)
					assert.Equal(t, OutcomeRefused, audited[0].Outcome)
					assert.Equal(t, route.Path, audited[0].Action)
				})
			}
		}
		assert.Equal(t, work.StateScheduled, k.state("a"), "nothing was done")
		_, all, err := k.inspector.Paused(k.ctx())
		require.NoError(t, err)
		assert.False(t, all)
	})
}

func TestActionsArePostsAlone(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.schedule("a", "mail")
	for _, route := range Routes() {
		if !route.Acts() || strings.HasPrefix(route.Path, "/api/") {
			continue
		}
		got := k.get(strings.TrimPrefix(route.Path, "/") + "?id=a")
		assert.Equal(t, http.StatusMethodNotAllowed, got.StatusCode, route.Path)
		assert.Equal(t, "POST", got.Header.Get("Allow"))
		assertSecure(t, got)
	}
	assert.Equal(t, work.StateScheduled, k.state("a"))
}

func TestWhatCannotBeIsRefusedWithAPage(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.schedule("later", "mail")
	for name, row := range map[string]struct {
		method, target string
		status         int
		says           string
	}{
		"no such page":              {"GET", "nothing", 404, "no such page"},
		"a page below a page":       {"GET", "jobs/x", 404, "no such page"},
		"a path that is not clean":  {"GET", "jobs//..", 404, "no such page"},
		"an asset that is not":      {"GET", "assets/..%2Fapp.js", 404, "no such page"},
		"a job without id":          {"GET", "job", 400, "?id="},
		"a job that is not":         {"GET", "job?id=nope", 404, "no such job"},
		"args of none":              {"GET", "args?id=nope", 404, "no such job"},
		"an id that cannot be":      {"GET", "job?id=" + strings.Repeat("x", 300), 400, "at most 200"},
		"a queue that is not":       {"GET", "queue?name=nope", 404, "no such queue"},
		"a state that is not":       {"GET", "jobs?state=odd", 400, "no list"},
		"a state without a list":    {"GET", "jobs?state=lost", 400, "no list"},
		"a source of letters":       {"GET", "jobs?source=x", 400, "not a number"},
		"an age of letters":         {"GET", "jobs?older=x", 400, "no duration"},
		"a negative age":            {"GET", "jobs?older=-1s", 400, "no duration"},
		"metadata without a value":  {"GET", "jobs?meta=x", 400, "key=value"},
		"a cursor that is not":      {"GET", "jobs?state=dead&cursor=xxx", 400, "cursor"},
		"a span that is not":        {"GET", "history?span=x", 400, "span"},
		"another method":            {"DELETE", "job?id=a", 405, "GET requests only"},
		"an action that is not":     {"POST", "bulk?state=dead&action=x", 400, "no action"},
		"cancel all":                {"POST", "bulk?state=queued&action=cancel", 400, "tick those"},
		"all of no state":           {"POST", "bulk?action=delete&ended=1", 400, "Choose a state"},
		"all with the wrong action": {"POST", "bulk?state=dead&action=run", 400, "only jobs that are"},
		"a job without an enqueuer": {"POST", "enqueue", 501, "no Enqueuer"},
		"a schedule with no spec":   {"POST", "schedule-add?force=true", 400, "name"},
		"nothing ticked":            {"POST", "jobs-act?action=delete", 400, "no action"},
		"no time":                   {"POST", "job-reschedule?id=later", 400, "is not a time"},
		"no args":                   {"POST", "job-args?id=later", 400, "JSON array"},
		"a message without a name":  {"POST", "job-send?id=later", 400, "has no name"},
		"a worker that is not":      {"POST", "worker-ping?id=nope", 404, "no such worker"},
		"a schedule that is not":    {"POST", "schedule-run?id=nope", 404, "schedule"},
		"whose errors":              {"POST", "errors-clear", 400, "whose"},
	} {
		t.Run(name, func(t *testing.T) {
			got := k.do(request(row.method, "/"+row.target, "operator", nil))
			assert.Equal(t, row.status, got.StatusCode)
			assert.Contains(t, got.Text, row.says)
			assert.Contains(t, got.Text, "<main")
			assertSecure(t, got)
		})
	}
}

func TestItServesAnyPrefix(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.schedule("a", "mail")
	mux := http.NewServeMux()
	mux.Handle("/admin/work/", http.StripPrefix("/admin/work", k.handler))
	mux.Handle("/bare", http.StripPrefix("/bare", k.handler))
	k.handler = mux
	assert.Contains(t, k.get("admin/work/").Text, "Overview")
	got := k.post("admin/work/job-stall?id=a")
	require.Equal(t, http.StatusSeeOther, got.StatusCode)
	base, err := url.Parse("http://example.com/admin/work/job-stall?id=a")
	require.NoError(t, err)
	there, err := base.Parse(got.Header.Get("Location"))
	require.NoError(t, err)
	assert.Equal(t, "/admin/work/job", there.Path)
	assert.Contains(t, k.get(strings.TrimPrefix(there.RequestURI(), "/")).Text, "was put aside")
	got = k.get("bare")
	assert.Equal(t, http.StatusTemporaryRedirect, got.StatusCode)
	assert.Equal(t, "./bare/", got.Header.Get("Location"))
}

func TestAPageThatPanicsSaysSo(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t),
		func(o *Options) { o.Authorize = func(*http.Request) (Role, string, error) { panic("oh") } })
	got := k.get("")
	assert.Equal(t, http.StatusInternalServerError, got.StatusCode)
	assertSecure(t, got)
}

func TestAssetsAreKeptForAsLongAsTheyAreTheSame(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	for _, name := range []string{"style.css", "app.js", "icon.svg"} {
		got := k.get(pages.AssetURL(name))
		assert.Equal(t, http.StatusOK, got.StatusCode)
		assert.NotEmpty(t, got.Text, name)
		assert.Contains(t, got.Header.Get("Cache-Control"), "immutable")
		assert.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
		assert.NotContains(t, k.get("assets/"+name).Header.Get("Cache-Control"), "immutable")
	}
	r := request(http.MethodGet, "/assets/style.css", "viewer", nil)
	r.Header.Set("If-None-Match", k.get("assets/style.css").Header.Get("ETag"))
	w := httptest.NewRecorder()
	k.handler.ServeHTTP(w, r)
	assert.Equal(t, http.StatusNotModified, w.Code)
}
