package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func embedded(t *testing.T) redistest.Server { return redistest.Embedded(t) }

// patience is how long a test waits for a signal; nothing depends on it while all is well.
const patience = time.Minute

// kit is an API over a namespace of its own, whose answers are compared with its description.
type kit struct {
	t         *testing.T
	server    redistest.Server
	namespace string
	inspector *inspect.Inspector
	enq       *work.Enqueuer
	handler   http.Handler
	described *description
	answered  map[string]bool // the routes that did what was asked
}

func newKit(t *testing.T, s redistest.Server) *kit {
	t.Helper()
	k := &kit{t: t, server: s, namespace: redistest.Namespace(t), answered: map[string]bool{}}
	var err error
	k.inspector, err = inspect.New(s.DSN(), work.Namespace(k.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, k.inspector.Close()) })
	enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	k.enq = enq
	k.handler = webui.Handler(k.inspector, webui.Options{
		Authorize: func(*http.Request) (webui.Role, string, error) { return webui.RoleOperator, "ann", nil },
		Logger:    slog.New(slog.DiscardHandler), Enqueuer: enq,
	})
	return k
}

// call sends a request, compares what it and its answer are with the description, and wants the status. Pairs are
// headers.
func (k *kit) call(status int, method, target, body string, pairs ...string) []byte {
	k.t.Helper()
	if k.described == nil {
		k.described = describe(k.t, k.handler)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, "/api/"+target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	w := httptest.NewRecorder()
	k.handler.ServeHTTP(w, r)
	answer := w.Result()
	text, err := io.ReadAll(answer.Body)
	require.NoError(k.t, err)
	require.Equal(k.t, status, answer.StatusCode, "%s %s: %s", method, target, text)
	k.described.check(k.t, r, body, answer, text)
	if status < 300 {
		k.answered[method+" "+r.URL.Path] = true
	}
	return text
}

func (k *kit) get(target string) []byte {
	k.t.Helper()
	return k.call(http.StatusOK, http.MethodGet, target, "")
}

func (k *kit) post(target, body string, pairs ...string) []byte {
	k.t.Helper()
	return k.call(http.StatusOK, http.MethodPost, target, body, pairs...)
}

// into decodes one field of an answer.
func into[T any](t *testing.T, text []byte, field string) (value T) {
	t.Helper()
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &object))
	require.NoError(t, json.Unmarshal(object[field], &value), "%s of %s", field, text)
	return value
}

func (k *kit) state(id string) work.State {
	k.t.Helper()
	jobs, err := k.inspector.Jobs(context.Background(), id)
	require.NoError(k.t, err)
	if jobs[0] == nil {
		return ""
	}
	return jobs[0].State
}

func (k *kit) until(what string, is func() bool) {
	k.t.Helper()
	require.Eventually(k.t, is, patience, 20*time.Millisecond, what)
}

// pool has a worker whose jobs do all that an answer can tell of.
func (k *kit) pool() {
	k.t.Helper()
	hour := func(*work.Job, error) time.Duration { return time.Hour }
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{
		Redis: k.server.DSN(), Namespace: k.namespace, Service: "shop", Logger: slog.New(slog.DiscardHandler),
	}).
		JobWithOptions("dies", work.JobOptions{Retries: -1}, func() error { return io.ErrUnexpectedEOF }).
		JobWithOptions("fails", work.JobOptions{Backoff: hour}, func(job *work.Job) error {
			job.Logger().Warn("this will fail", "attempt", job.Attempt)
			panic("oh")
		}).
		JobWithOptions("gives", work.JobOptions{Retention: time.Hour},
			func(n int) (map[string]int, error) { return map[string]int{"n": n}, nil }).
		JobWithOptions("blocks", work.JobOptions{Limit: work.Limit{Concurrent: 1}},
			func(ctx context.Context, job *work.Job) error {
				job.Checkin("half")
				if err := job.Progress(50); err != nil {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			})
	require.NoError(k.t, pool.Start(context.Background()))
	k.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var stop *work.StopError
		if err := pool.Stop(ctx); err != nil && !errors.As(err, &stop) {
			assert.NoError(k.t, err)
		}
	})
}

// A run over all routes: each answer is compared with its description, whatever it is.
func TestEachAnswerIsAsItIsDescribed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.readNothing()
		k.enqueue()
		k.controlJobs()
		k.controlQueues()
		k.flows()
		k.schedules()
		k.post("doctor", "")
		k.post("doctor?mend=1", "", "Accept", "application/x-ndjson")
		k.pool()
		k.workersAndErrors()
		k.many()
		k.refusals()
		for _, route := range webui.Routes() {
			if strings.HasPrefix(route.Path, "/api/") {
				assert.True(t, k.answered[route.Method+" "+route.Path], "%s %s was not called, or did nothing",
					route.Method, route.Path)
			}
		}
	})
}

// readNothing reads where nothing is: lists are there and empty.
func (k *kit) readNothing() {
	for _, target := range []string{"openapi.json", "counts", "queues", "jobs", "jobs?state=dead",
		"jobs?state=cancelled&name=mail", "jobs?ended=1", "jobs?tag=x", "search?tag=x", "names", "names?part=m&limit=1",
		"causes", "errors", "workers", "stopped-workers", "audit?limit=5", "alerts", "schedules", "keys?name=mail",
		"flows", "flows?state=releasing", "history", "history?name=a&name=b&by=day", "limits", "server"} {
		k.get(target)
	}
}

func (k *kit) enqueue() {
	all := `{"name": "mail", "args": ["ann", 7, null], "source": 7, "retries": 2, "timeout": "1m", "retention": "1h", "retry_for": "24h",
		"expire_in": "2h", "deadline": "2041-02-03T04:05:06Z", "meta": {"a": "b"}, "tags": ["eu"], "completion": "ended",
		"unique": {"key": "k", "until": "started", "on_conflict": ["replace_args"]}, "id": "all"}`
	k.call(http.StatusCreated, http.MethodPost, "jobs?force=true", all)
	k.call(http.StatusOK, http.MethodPost, "jobs?force=true", `{"name": "mail", "id": "all", "front": true}`)
	k.call(http.StatusCreated, http.MethodPost, "jobs?force=true", `{"name": "mail", "id": "later", "in": "1h"}`)
	k.call(http.StatusCreated, http.MethodPost, "jobs?force=true",
		`{"name": "mail", "id": "at", "at": "2040-02-03T04:05:06Z", "expire_at": "2041-02-03T04:05:06Z"}`)
	k.call(http.StatusCreated, http.MethodPost, "jobs?force=true",
		`{"name": "mail", "id": "keyed", "key": "customer-7", "weight": 3}`)
	for range 2 {
		k.call(http.StatusCreated, http.MethodPost, "jobs?force=true", `{"name": "mail"}`, "Idempotency-Key", "k")
	}
	k.call(http.StatusConflict, http.MethodPost, "jobs?force=true", `{"name": "other"}`, "Idempotency-Key", "k")
	k.call(http.StatusConflict, http.MethodPost, "jobs?force=true",
		`{"name": "mail", "unique": {"key": "k", "until": "started", "on_conflict": ["refuse"]}}`)
	for _, target := range []string{"job?id=all", "job?id=keyed", "job?id=later", "args?id=all", "log?id=all",
		"jobs?state=queued&name=mail&limit=1", "jobs?state=scheduled&newest=1",
		"jobs?tag=eu&source=7&meta=a%3Db&args=ann&id=al&older=1ms&limit=1", "queue?name=mail", "queues",
		"keys?name=mail&limit=1"} {
		k.get(target)
	}
}

func (k *kit) controlJobs() {
	k.post("job-front?id=all", "")
	k.post("job-stall?id=all", "")
	k.get("jobs?state=stalled")
	k.post("job-resume?id=all", "")
	k.post("job-reschedule?id=at", `{"at": "2040-03-03T04:05:06Z"}`)
	k.post("job-args?id=at", `{"args": [1]}`)
	k.post("job-send?id=at", `{"name": "approval", "value": {"by": "ann"}}`)
	k.get("steps?id=at")
	k.post("job-forget-steps?id=at", "")
	k.post("job-run?id=later", "")
	k.post("job-cancel?id=later", "")
	k.get("job?id=later")
	k.post("job-delete?id=at", "")
	k.call(http.StatusCreated, http.MethodPost, "jobs?force=true",
		`{"name": "mail", "id": "over", "in": "1h", "retention": "1h"}`)
	k.post("job-cancel?id=over", "")
	for range 2 {
		k.post("job-again?id=over", "")
	}
	k.get("job?id=over")
	k.post("jobs-act", `{"action": "stall", "ids": ["all", "gone"]}`)
}

func (k *kit) controlQueues() {
	k.post("queue-pause?name=mail&force=true", "")
	k.get("limits")
	k.post("queue-resume?name=mail", "")
	k.post("queues-pause", "")
	k.get("job?id=all")
	k.post("queues-resume", "")
	k.post("queue-limit?name=mail&force=true", `{"concurrent": 3, "rate": 10, "per": "1m", "burst": 2}`)
	k.get("queue?name=mail")
	k.get("limits")
	k.post("queue-unlimit?name=mail", "")
	k.post("key-limit?name=mail&key=customer-7&force=true", `{"concurrent": 3, "rate": 10, "per": "1m", "burst": 2}`)
	k.get("keys?name=mail")
	k.post("key-stop?name=mail&key=customer-7&force=true", "")
	k.get("keys?name=mail")
	k.post("key-unlimit?name=mail&key=customer-7", "")
	k.post("queue-purge?name=mail", "")
	k.post("queue-purge?name=mail", "", "Accept", "application/x-ndjson")
	k.call(http.StatusCreated, http.MethodPost, "jobs?force=true", `{"name": "gone", "in": "1h"}`)
	k.post("queue-destroy?name=gone", "")
	k.post("queue-destroy?name=gone&sure=1", "", "Accept", "application/x-ndjson")
	k.call(http.StatusCreated, http.MethodPost, "jobs?force=true", `{"name": "gone", "in": "1h"}`)
	k.post("queue-destroy?name=gone&sure=1", "")
}

// flows runs nothing: a member that is cancelled has ended too.
func (k *kit) flows() {
	for _, id := range []string{"order-7", "order-8"} {
		f := flow.New(id).OnDone("mail").OnDeath("mail")
		f.Job("tell").After(f.Job("ship").After(f.Job("charge"), f.Job("pick"))).Even(flow.Dead)
		_, err := flow.Enqueue(context.Background(), k.enq, f)
		require.NoError(k.t, err)
	}
	for _, target := range []string{"flows?limit=1", "flows?state=running", "flow?id=order-7", "flow-graph?id=order-7",
		"flow-members?id=order-7&limit=2", "flow-members?id=order-7&state=left&name=tell",
		"flow-member?id=order-7&member=ship", "job?id=order-7%2Fpick"} {
		k.get(target)
	}
	k.post("flow-pause?id=order-7", "")
	k.get("flow?id=order-7")
	k.post("flow-resume?id=order-7", "")
	k.post("job-cancel?id=order-8%2Fcharge", "")
	k.post("job-cancel?id=order-8%2Fpick", "")
	k.get("flow-graph?id=order-8")
	k.post("flow-cancel?id=order-7", "")
	k.get("flow?id=order-7")
	k.post("flow-retry?id=order-7", "")
	k.call(http.StatusBadRequest, http.MethodPost, "flow-delete?id=order-7", "")
	k.post("flow-cancel?id=order-7", "")
	k.post("flow-delete?id=order-7", "")
	k.call(http.StatusNotFound, http.MethodGet, "flow?id=order-7", "")
	k.call(http.StatusNotFound, http.MethodGet, "flow-member?id=order-8&member=nobody", "")
	k.call(http.StatusBadRequest, http.MethodGet, "flow-members?id=order-8&state=odd", "")
}

func (k *kit) schedules() {
	k.post("schedules", `{"spec": "@every 1h", "name": "mail", "args": [1], "id": "s", "tz": "Europe/Berlin", "jitter": "1m", "missed": "3", "overlap": "skip"}`)
	k.call(http.StatusConflict, http.MethodPost, "schedules", `{"spec": "@every 1h", "name": "mail", "id": "s"}`)
	k.post("schedule-run?id=s", "")
	k.get("schedules")
	k.post("schedule-pause?id=s", "")
	k.get("schedules")
	k.post("schedule-resume?id=s", "")
	k.post("schedule-remove?id=s", "")
}

func (k *kit) workersAndErrors() {
	for _, job := range []string{`{"name": "dies", "id": "dead"}`, `{"name": "fails", "id": "fails"}`,
		`{"name": "gives", "id": "gives", "args": [7]}`,
		`{"name": "blocks", "id": "blocks"}`, `{"name": "blocks", "id": "behind"}`} {
		k.call(http.StatusCreated, http.MethodPost, "jobs?force=true", job)
	}
	k.until("they have ended, and one runs", func() bool {
		return k.state("dead") == work.StateDead && k.state("fails") == work.StateRetrying &&
			k.state("gives") == work.StateSucceeded &&
			k.state("blocks") == work.StateRunning
	})
	k.until("it has checked in", func() bool { return strings.Contains(string(k.get("job?id=blocks")), "half") })
	var groups []inspect.ErrorGroup
	k.until("errors are counted", func() bool {
		groups = into[[]inspect.ErrorGroup](k.t, k.get("errors"), "errors")
		k.get("causes?limit=10")
		return len(groups) == 2
	})
	k.until("the log was sent",
		func() bool { return strings.Contains(string(k.get("log?id=fails&lines=10")), "this will fail") })
	for _, target := range []string{"job?id=dead", "job?id=fails", "job?id=gives", "job?id=behind", "jobs?state=dead",
		"jobs?state=running", "jobs?state=retrying",
		"jobs?error=oh", "jobs?group=" + groups[0].Digest, "errors?name=dies&limit=1", "history?by=minute", "queues",
		"queue?name=blocks", "counts", "limits"} {
		k.get(target)
	}
	worker := url.QueryEscape(into[[]inspect.WorkerInfo](k.t, k.get("workers"), "workers")[0].ID)
	k.get("worker?id=" + worker)
	k.post("worker-ping?id="+worker, "")
	k.post("worker-pause?id="+worker, "")
	k.get("workers")
	k.post("worker-resume?id="+worker, "")
	k.post("job-retry?id=fails&fresh=1", "")
	k.post("job-delete?id=behind", "")
	k.post("job-cancel?id=blocks", "")
	k.post("alert-silence?rule=no-workers&for=1h", "")
	k.post("alert-hear?rule=no-workers", "")
	k.post("errors-clear?name=dies", "")
	k.post("errors-clear?all=1", "")
	k.post("worker-quiet?id="+worker, "")
	k.post("worker-stop?now=1&id="+worker, "")
	k.until("it is listed as stopped", func() bool {
		return strings.Contains(string(k.get("stopped-workers?limit=10")), `"stopped by an operator"`)
	})
}

func (k *kit) many() {
	for i := range 3 {
		k.call(http.StatusCreated, http.MethodPost, "jobs?force=true", fmt.Sprintf(`{"name": "heap", "args": [%d]}`, i))
	}
	k.get("search?name=heap")
	k.post("bulk?state=queued&name=heap&action=delete", "")
	k.post("bulk?text=heap&action=delete", "")
	k.post("bulk?state=queued&name=heap&action=stall&sure=1&limit=1", "")
	k.post("bulk?state=queued&name=heap&action=delete&sure=1", "", "Accept", "application/x-ndjson")
}

// refusals are problems, whatever is wrong.
func (k *kit) refusals() {
	k.call(http.StatusNotFound, http.MethodGet, "job?id=gone", "")
	k.call(http.StatusBadRequest, http.MethodGet, "job", "")
	k.call(http.StatusConflict, http.MethodPost, "job-run?id=dead", "")
	k.call(http.StatusBadRequest, http.MethodPost, "bulk?action=delete", "")
	k.call(http.StatusBadRequest, http.MethodPost, "jobs?force=true", `{"nmae": "mail"}`)
	k.call(http.StatusUnsupportedMediaType, http.MethodPost, "queues-pause", "", "Content-Type", "text/plain")
}
