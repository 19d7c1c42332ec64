package webui

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/api"
)

// bodies are those of actions that need one. All others have the query of the page's form alone.
var bodies = map[string]string{
	"/job-reschedule": `{"at": "2041-02-03T04:05:00Z"}`,
	"/job-args":       `{"args": [12345678901234567890, "<b>"]}`,
	"/job-send":       `{"name": "<go>", "value": {"by": "ann"}}`,
	"/jobs-act":       `{"action": "stall", "ids": ["a", "b", "gone"]}`,
	"/queue-limit":    `{"concurrent": 3, "rate": 10, "per": "1m"}`,
	"/key-limit":      `{"concurrent": 3, "rate": 10, "per": "1m"}`,
}

func TestEachActionOfAPageCanBeDoneByTheAPI(t *testing.T) {
	t.Parallel()
	for path, e := range effects() {
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newAPI(t, s)
				if e.before != nil {
					e.before(k)
				}
				target := e.target
				if strings.Contains(target, "@worker") {
					target = "id=" + url.QueryEscape(k.worker().ID)
				}
				got := k.call(http.MethodPost, strings.TrimPrefix(path, "/")+"?"+target, bodies[path])
				require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
				assertSecure(t, got)
				got.decode(t, &map[string]any{})
				k.mu.Lock()
				require.NotEmpty(t, k.audited)
				last := k.audited[len(k.audited)-1]
				k.mu.Unlock()
				assert.Equal(t, "/api"+path, last.Action)
				assert.Equal(t, "ann", last.Actor)
				assert.NotEmpty(t, last.Targets)
				assert.Contains(t, []Outcome{OutcomeDone, OutcomePartly}, last.Outcome)
				e.after(t, k)
			})
		})
	}
}

func TestTheAPIReadsWhatThePagesShow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		queued(k)
		k.schedule("later", "mail")
		periodic(k)
		require.NoError(t, k.inspector.PauseQueue(k.ctx(), "mail"))

		var counts inspect.Counts
		k.read("counts", &counts)
		assert.Equal(t, 2, counts.Queued)
		assert.Equal(t, 1, counts.Scheduled)
		var queues struct{ Queues []inspect.QueueInfo }
		k.read("queues", &queues)
		require.Len(t, queues.Queues, 1)
		var queue inspect.QueueInfo
		k.read("queue?name=mail", &queue)
		assert.Equal(t, 2, queue.Waiting)
		assert.True(t, queue.Paused)
		var job struct {
			ID    string
			State work.State
			Args  json.RawMessage
		}
		k.read("job?id=a", &job)
		assert.Equal(t, work.StateQueued, job.State)
		assert.Equal(t, "[2]", string(job.Args))
		var args struct{ Args []int }
		k.read("args?id=a", &args)
		assert.Equal(t, []int{2}, args.Args)
		var schedules struct{ Schedules []api.Schedule }
		k.read("schedules", &schedules)
		require.Len(t, schedules.Schedules, 1)
		assert.Len(t, schedules.Schedules[0].Next, 10)
		var limits struct{ Limits []struct{ Name string } }
		k.read("limits", &limits)
		require.Len(t, limits.Limits, 1)
		var history struct {
			History map[string][]inspect.HistoryPoint
			Bounds  []int64
		}
		k.read("history?name=mail&by=minute", &history)
		assert.Len(t, history.History["mail"], 61)
		assert.Len(t, history.Bounds, len(inspect.HistogramBounds()))
	})
}

func TestTheAPIReadsWhatWorkersHaveDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		dead(k)
		id := k.worker().ID
		var worker inspect.WorkerInfo
		k.read("worker?id="+url.QueryEscape(id), &worker)
		assert.True(t, worker.Alive)
		var workers struct{ Workers []inspect.WorkerInfo }
		k.read("workers", &workers)
		require.Len(t, workers.Workers, 1)
		assert.Equal(t, id, workers.Workers[0].ID)
		var groups struct{ Errors []inspect.ErrorGroup }
		k.until("the error is counted", func() bool {
			k.read("errors?name=dies", &groups)
			return len(groups.Errors) == 1
		})
		var found struct {
			Jobs   []struct{ ID string }
			Looked *int
		}
		k.read("jobs?state=dead&group="+url.QueryEscape(groups.Errors[0].Digest), &found)
		require.Len(t, found.Jobs, 1)
		assert.Equal(t, "a", found.Jobs[0].ID)
		assert.Equal(t, 1, *found.Looked)
		retried := k.call(http.MethodPost,
			"bulk?state=dead&sure=1&action=retry&group="+url.QueryEscape(groups.Errors[0].Digest), "")
		require.Equal(t, http.StatusOK, retried.StatusCode, retried.Text)
		assert.Equal(t, work.StateQueued, k.state("a"), "its queue is paused")
		var log struct{ Lines []api.LogLine }
		k.read("log?id=a", &log)
		assert.Empty(t, log.Lines)
	})
}

func TestPagesOfTheAPIFollowEachOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		var want []string
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			k.enqueue(id, "mail", "odd")
			want = append(want, id)
		}
		for _, query := range []string{"state=queued&name=mail&limit=2", "state=queued&args=odd&limit=2"} {
			var got []string
			for cursor := ""; ; {
				var page struct {
					Jobs []struct{ ID string }
					Next string
				}
				target := "jobs?" + query
				if cursor != "" {
					target += "&cursor=" + url.QueryEscape(cursor)
				}
				k.read(target, &page)
				for _, job := range page.Jobs {
					got = append(got, job.ID)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			slices.Sort(got)
			assert.Equal(t, want, got, query)
		}
	})
}

func TestWhatTheAPIRefusesItExplains(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	k.schedule("later", "mail")
	k.enqueue("a", "mail")
	periodic(k)
	for name, row := range map[string]struct {
		method, target, body string
		status               int
		says                 string
	}{
		"no such route":           {"GET", "nothing", "", 404, "no such page"},
		"another method":          {"DELETE", "job?id=a", "", 405, "GET requests only"},
		"a job without id":        {"GET", "job", "", 400, "?id="},
		"a job that is not":       {"GET", "job?id=nope", "", 404, "no such job"},
		"a log of none":           {"GET", "log?id=nope", "", 404, "no such job"},
		"too many lines":          {"GET", "log?id=a&lines=1001", "", 400, "use 1 to 1000"},
		"a queue that is not":     {"GET", "queue?name=nope", "", 404, "no such queue"},
		"a worker that is not":    {"GET", "worker?id=nope", "", 404, "no such worker"},
		"a state that is not":     {"GET", "jobs?state=odd", "", 400, "no list"},
		"a cursor that is not":    {"GET", "jobs?state=dead&cursor=xxx", "", 400, "cursor"},
		"a page that is too long": {"GET", "jobs?limit=501", "", 400, "use 1 to 500"},
		"a key that is not":       {"GET", "jobs?nmae=mail", "", 400, "?nmae= is not known"},
		"a time that is not":      {"GET", "history?since=noon", "", 400, "is no time"},
		"history by the week":     {"GET", "history?by=week", "", 400, "by minute or by day"},
		"no body":                 {"POST", "job-reschedule?id=later", "", 400, "the body is empty"},
		"no time":                 {"POST", "job-reschedule?id=later", "{}", 400, `lacks "at"`},
		"a time of letters":       {"POST", "job-reschedule?id=later", `{"at":"noon"}`, 400, "noon"},
		"a field that is not":     {"POST", "job-args?id=later", `{"arg":[]}`, 400, `unknown field "arg"`},
		"no args":                 {"POST", "job-args?id=later", `{}`, 400, `lacks "args"`},
		"args of no array":        {"POST", "job-args?id=later", `{"args":7}`, 400, "a JSON number does not fit"},
		"more than one body":      {"POST", "job-args?id=later", `{"args":[]} {}`, 400, "something follows"},
		"an action too late":      {"POST", "job-retry?id=later", "", 409, "only one that is retrying or dead"},
		"an action that is not":   {"POST", "jobs-act", `{"action":"x","ids":["a"]}`, 400, "no action"},
		"nobody named":            {"POST", "jobs-act", `{"action":"delete"}`, 400, `lacks "ids"`},
		"all with no state":       {"POST", "bulk?action=delete&sure=1", "", 400, "choose a state"},
		"all with an empty name": {"POST", "bulk?action=delete&state=scheduled&name=&sure=1", "", 400,
			"?name= is empty"},
		"all with a bad escape": {"POST", "bulk?action=delete&state=scheduled&sure=1&name=100%", "", 400,
			"cannot be read"},
		"all with two tags": {"POST", "bulk?action=delete&state=scheduled&sure=1&tag=a&tag=b", "", 400,
			"is there 2 times"},
		"all with a misspelt key": {"POST", "bulk?action=delete&state=scheduled&sure=1&nmae=x", "", 400,
			"?nmae= is not known"},
		"cancel all":                {"POST", "bulk?state=queued&action=cancel", "", 400, "jobs-act"},
		"all with the wrong action": {"POST", "bulk?state=dead&action=run", "", 400, "only jobs that are"},
		"a limit that cannot be":    {"POST", "queue-limit?name=mail&force=true", `{"rate":1}`, 400, "Per is 0s"},
		"a duration of numbers": {"POST", "queue-limit?name=mail&force=true", `{"rate":1,"per":60}`, 400,
			`60 is no duration: write "30s"`},
		"whose errors": {"POST", "errors-clear", "", 400, "whose"},
		"a schedule that is there": {"POST", "schedules", `{"spec":"@every 1h","name":"report","id":"s"}`, 409,
			"schedule"},
		"a spec that is not": {"POST", "schedules", `{"spec":"noon","name":"report"}`, 400, "noon"},
		"missed in words": {"POST", "schedules", `{"spec":"@every 1h","name":"report","missed":"all"}`, 400,
			"is none of"},
		"an overlap that is not": {"POST", "schedules", `{"spec":"@every 1h","name":"report","overlap":"x"}`, 400,
			"is none of"},
		"a weight of nothing": {"POST", "schedules", `{"spec":"@every 1h","name":"report","key":"a","weight":0}`, 400,
			"use 1 to 100"},
		"a weight of no key": {"POST", "schedules", `{"spec":"@every 1h","name":"report","weight":2}`, 400,
			"given without Key"},
		"a key that is too long": {"POST", "schedules",
			`{"spec":"@every 1h","name":"report","key":"` + strings.Repeat("k", 201) + `"}`, 400, "use at most 200"},
		"a schedule that is not": {"POST", "schedule-run?id=nope", "", 404, "schedule"},
	} {
		t.Run(name, func(t *testing.T) {
			k.call(row.method, row.target, row.body).problem(t, row.status, row.says)
		})
	}
	assert.Equal(t, work.StateScheduled, k.state("later"), "nothing was done")
}

func TestACommandSaysThatItIsJSON(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	k.schedule("a", "mail")
	for _, route := range Routes() {
		if !route.Acts() || !strings.HasPrefix(route.Path, "/api/") {
			continue
		}
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded",
			"multipart/form-data; boundary=x", "application/jsonp"} {
			r := httptest.NewRequest(http.MethodPost,
				route.Path+"?id=a&name=mail&all=1&state=scheduled&action=delete&sure=1", strings.NewReader("{}"))
			r.Header.Set("Role", "operator")
			if kind != "" {
				r.Header.Set("Content-Type", kind)
			}
			k.do(r).problem(t, http.StatusUnsupportedMediaType, "Content-Type: application/json")
		}
		entries := k.entries()
		assert.Len(t, entries, 5, "%s is audited", route.Path)
	}
	assert.Equal(t, work.StateScheduled, k.state("a"), "nothing was done")
	got := k.call(http.MethodPost, "job-stall?id=a", "", "Content-Type", "x")
	assert.Equal(t, http.StatusOK, got.StatusCode, "the first of two headers counts: %s", got.Text)
}

func TestABodyHasALimit(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	k.schedule("a", "mail")
	large := `{"name":"mail","args":["` + strings.Repeat("x", maxBody) + `"]}`
	k.call(http.MethodPost, "jobs", large).problem(t, http.StatusRequestEntityTooLarge, "too large")
	k.call(http.MethodPost, "job-args?id=a", strings.Replace(large, `"name":"mail",`, "", 1)).problem(t,
		http.StatusRequestEntityTooLarge, "more than")
}

func TestErrorsOfTheAPIAreNoPages(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	r := httptest.NewRequest(http.MethodGet, "/api/counts", nil)
	k.do(r).problem(t, http.StatusForbidden, "role of a viewer")
	auth, err := BasicAuth(Login{"ann", "secret", RoleOperator})
	require.NoError(t, err)
	k.handler = Handler(k.inspector, Options{Authorize: auth})
	got := k.do(r)
	got.problem(t, http.StatusUnauthorized, "log in")
	assert.NotEmpty(t, got.Header.Get("WWW-Authenticate"))
	k.handler = Handler(k.inspector, Options{Authorize: func(*http.Request) (Role, string, error) { panic("oh") }})
	k.do(r).problem(t, http.StatusInternalServerError, "the log")
}

func TestTheAPIShowsArgsAsTheyMayBeSeen(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t), func(o *Options) {
		o.Redact = func(string, json.RawMessage) json.RawMessage { return json.RawMessage(`hidden`) } // no JSON, too
	})
	k.enqueue("a", "mail", "secret")
	k.schedule("b", "mail")
	require.NoError(t, k.inspector.AddSchedule(k.ctx(), "@every 1h", "mail", work.PeriodicOptions{}, "secret"))
	for _, target := range []string{"job?id=a", "args?id=a", "jobs?state=queued&name=mail", "jobs?tag=x", "jobs?id=a",
		"schedules"} {
		got := k.call(http.MethodGet, target, "")
		require.Equal(t, http.StatusOK, got.StatusCode)
		assert.NotContains(t, got.Text, "secret", target)
		if target != "jobs?tag=x" {
			assert.Contains(t, got.Text, `"hidden"`, target)
		}
	}
	k.call(http.MethodGet, "jobs?state=queued&args=sec", "").problem(t, http.StatusForbidden, "cannot search by them")
	k.call(http.MethodPost, "bulk?state=queued&args=sec&action=delete", "").problem(t, http.StatusForbidden,
		"cannot search by them")
}

func TestHostileNamesComeThroughTheAPI(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		for _, text := range []string{`<script>alert(1)</script>`, `"quoted'`, "../x", "a/b", "100%", "a b+c&d=e",
			"ü…"} {
			query := url.Values{"id": {text}}.Encode()
			k.enqueue(text, text, text)
			var job struct {
				ID, Name string
				Args     []string
			}
			k.read("job?"+query, &job)
			assert.Equal(t, text, job.ID)
			assert.Equal(t, text, job.Name)
			assert.Equal(t, []string{text}, job.Args)
			assert.Equal(t, http.StatusOK, k.call(http.MethodPost, "job-stall?"+query, "").StatusCode)
			assert.Equal(t, work.StateStalled, k.state(text))
		}
	})
}
