package webui

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// hostile are ids and names that people may choose, and that mean something to HTML, URLs or paths.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'; DROP TABLE jobs; --`, `../../etc/passwd`, `/`,
	`..`, `.`, `a/b`, `%00`, `%2F..%2f`,
	`a&b=c;d`, `a+b c`, ` space `, `?id=x#y`, `javascript:alert(1)`, `{{.}}`, "`${x}`", `日本語 🙂`, "\u2028\u202e", `\x00`,
	strings.Repeat(`<`, 200),
}

func TestWhateverItIsCalledAJobIsShownAndCanBeActedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, word := range hostile {
			t.Run(url.PathEscape(format.Shorten(word, 40)), func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				k.enqueue(word, word, word, strings.Repeat("<b>&", 25_000))
				list := k.get(format.Link("jobs", "state", "queued", "name", word))
				assertHarmless(t, list)
				assert.Less(t, len(list.Text), 40_000, "long args are cut")
				id := "job?id=" + url.QueryEscape(word)
				require.Contains(t, targets(hrefs, list.Text), id, "the list leads to the job")
				require.Contains(t, targets(hrefs, list.Text), "queue?name="+url.QueryEscape(word))
				page := k.get(id)
				require.Equal(t, http.StatusOK, page.StatusCode)
				assertHarmless(t, page)
				assertHarmless(t, k.get("queue?name="+url.QueryEscape(word)))
				assertHarmless(t, k.get("queues"))
				_, err := k.enq.With(work.Key(format.Shorten(word, 60))).Enqueue(k.ctx(), word)
				require.NoError(t, err)
				assertHarmless(t, k.get("keys?name="+url.QueryEscape(word)))
				assertHarmless(t, k.get(""))
				stall := form(t, page, "job-stall")
				location := k.post(stall).Header.Get("Location")
				assertHarmless(t, k.get(location))
				require.Equal(t, work.StateStalled, k.state(word))
				k.post("jobs-act", "action", "resume", "id", checkbox(t, k.get("jobs?state=stalled")))
				require.Equal(t, work.StateQueued, k.state(word))
				k.post(form(t, k.get("queue?name="+url.QueryEscape(word)), "queue-pause"))
				names, _ := k.paused()
				assert.Equal(t, []string{word}, names)
				all := k.get(format.Link("jobs", "state", "queued", "name", word, "all", "1"))
				assertHarmless(t, all)
				dry := k.post(form(t, all, "bulk"))
				assertHarmless(t, dry)
				assert.Contains(t, dry.Text, "1 of 1 job matches.")
				assert.Contains(t, k.get(format.Link("jobs", "id", word)).Text, "1 found on this page")
				id = word[:min(len(word), 100)] + "!"
				k.end(id, word, word)
				over := k.get(format.Link("jobs", "state", "cancelled", "name", word))
				assertHarmless(t, over)
				require.Contains(t, targets(hrefs, over.Text), "job?id="+url.QueryEscape(id))
				assertHarmless(t, k.get("job?id="+url.QueryEscape(id)))
			})
		}
	})
}

// assertHarmless wants nothing on the page that a browser takes for more than text.
func assertHarmless(t *testing.T, got answer) {
	t.Helper()
	assertSecure(t, got)
	assertRelative(t, got.Text)
	assert.NotContains(t, got.Text, "alert(1)</script>")
	assert.NotContains(t, got.Text, "<img")
	assert.NotContains(t, got.Text, "<b>&")
	assert.NotContains(t, got.Text, "ZgotmplZ", "a template has put a value where none can stand")
}

// form is where the first form of a page leads that goes to that route.
func form(t *testing.T, page answer, route string) string {
	t.Helper()
	for _, target := range targets(actions, page.Text) {
		if strings.HasPrefix(target, route+"?") {
			return target
		}
	}
	require.Fail(t, "no such form", route)
	return ""
}

// checkbox is the value of the first box of a page, as a browser would send it.
func checkbox(t *testing.T, page answer) string {
	t.Helper()
	values := targets(boxes, page.Text)
	require.NotEmpty(t, values)
	return values[0]
}

func TestLongArgsAreShortenedAndCanBeHad(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		// none of them so large that it is set apart
		long := slices.Repeat([]any{strings.Repeat("0123456789", 100)}, 98)
		k.enqueue("a", "mail", long...)
		want, err := json.Marshal(long)
		require.NoError(t, err)
		page := k.get("job?id=a")
		assert.Less(t, len(page.Text), 30_000)
		assert.Contains(t, page.Text, `in all: <a href="args?id=a">`)
		got := k.get("args?id=a")
		assert.Equal(t, string(want), got.Text)
		assert.Equal(t, "text/plain; charset=utf-8", got.Header.Get("Content-Type"))
		assertSecure(t, got)

		k.enqueue("b", "mail", strings.Repeat("x", 100_000), "small")
		page = k.get("job?id=b")
		assert.Contains(t, page.Text, "1 of them is too large for the record")
		assert.Len(t, k.get("args?id=b").Text, 100_000+len(`["","small"]`))
		assert.NotContains(t, page.Text, "required>[", "what is not shown must not be overwritten by chance")
	})
}

func TestRedactedArgsAreNowhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, func(o *Options) {
			o.Redact = func(name string, args json.RawMessage) json.RawMessage {
				switch name {
				case "card":
					copy(args, "[666666666]") // what it does to its copy harms nobody
					return json.RawMessage(`["card number"]`)
				case "breaks":
					panic("a type that is not expected")
				}
				return args
			}
		})
		k.enqueue("a", "card", "4111-1111")
		k.enqueue("b", "breaks", "4111-1111")
		k.enqueue("c", "mail", "open")
		require.NoError(t, k.inspector.AddSchedule(k.ctx(), "@every 24h", "card", work.PeriodicOptions{ID: "s"},
			"4111-1111"))
		for _, page := range []string{"jobs?state=queued&name=card", "job?id=a", "args?id=a", "queue?name=card",
			"schedules", "job?id=b", "args?id=b", "jobs", "jobs?name=card"} {
			got := k.get(page)
			assert.Equal(t, http.StatusOK, got.StatusCode, page)
			assert.NotContains(t, got.Text, "4111", page)
		}
		assert.Contains(t, k.get("job?id=a").Text, "card number")
		assert.Contains(t, k.get("job?id=c").Text, "open")
		assert.Equal(t, http.StatusForbidden, k.get("jobs?state=queued&args=4111").StatusCode,
			"what is found would tell them")
		assert.Equal(t, http.StatusForbidden, k.post("bulk?state=queued&args=4111&action=stall").StatusCode)
		job, err := k.inspector.Job(k.ctx(), "a")
		require.NoError(t, err)
		assert.JSONEq(t, `["4111-1111"]`, string(job.Args))
	})
}

// Escaping is html/template's, so nothing may go round it.
func TestNothingGoesRoundTheEscaping(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, way := range []string{"template.HTML", "template.JS", "template.URL", "template.CSS", "template.Srcset",
			`"text/template"`} {
			assert.NotContains(t, string(source), way, file)
		}
	}
}

func TestFailuresOfRedisAreTold(t *testing.T) {
	t.Parallel()
	dead := redistest.Dedicated(t)
	k := newKit(t, dead.Server())
	dead.Kill()
	for _, page := range []string{"", "queues", "jobs", "redis"} {
		got := k.get(page)
		assert.Contains(t, []int{http.StatusBadGateway, http.StatusGatewayTimeout}, got.StatusCode, page)
		assertSecure(t, got)
	}
	assert.Equal(t, http.StatusBadGateway, k.post("queue-pause?name=mail").StatusCode)
	entries := k.entries()
	require.Len(t, entries, 1)
	assert.Equal(t, OutcomeFailed, entries[0].Outcome)
}

func TestStatusesFitErrors(t *testing.T) {
	t.Parallel()
	assert.Equal(t, http.StatusBadGateway, visit.StatusOf(errors.New("x")))
	assert.Equal(t, http.StatusNotFound, visit.StatusOf(inspect.ErrNoQueue))
	assert.Equal(t, http.StatusNotFound, visit.StatusOf(&work.ObjectError{Err: &objects.VanishedError{}}))
	assert.Equal(t, http.StatusRequestEntityTooLarge, visit.StatusOf(&http.MaxBytesError{}))
	assert.False(t, slices.ContainsFunc(Routes(), func(r Route) bool { return r.What == "" || r.Role == RoleNone }))
}
