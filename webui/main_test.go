package webui

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// testPatience is how long a test waits for a signal; nothing depends on it while all is well.
const testPatience = 2 * time.Minute

// kit is a dashboard over a namespace of its own. The role of a request is in its header Role.
type kit struct {
	t         *testing.T
	server    redistest.Server
	namespace string
	inspector *inspect.Inspector
	enq       *work.Enqueuer
	handler   http.Handler
	options   Options

	mu      sync.Mutex
	audited []AuditEntry
}

func newKit(t *testing.T, s redistest.Server, change ...func(*Options)) *kit {
	t.Helper()
	k := &kit{t: t, server: s, namespace: redistest.Namespace(t)}
	var err error
	k.inspector, err = inspect.New(s.DSN(), work.Namespace(k.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, k.inspector.Close()) })
	k.enq, err = work.NewEnqueuer(s.DSN(), work.Namespace(k.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, k.enq.Close()) })
	opts := Options{Authorize: byHeader, Audit: k.audit, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&opts)
	}
	k.options = opts
	k.handler = Handler(k.inspector, opts)
	return k
}

func byHeader(r *http.Request) (Role, string, error) {
	roles := map[string]Role{"viewer": RoleViewer, "operator": RoleOperator}
	return roles[r.Header.Get("Role")], "ann", nil
}

func (k *kit) audit(entry AuditEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.audited = append(k.audited, entry)
}

// entries returns what was audited since the last call.
func (k *kit) entries() []AuditEntry {
	k.mu.Lock()
	defer k.mu.Unlock()
	entries := k.audited
	k.audited = nil
	return entries
}

func (k *kit) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	k.t.Cleanup(cancel)
	return ctx
}

// answer is what came back, with its body.
type answer struct {
	*http.Response
	Text string
}

func (k *kit) do(r *http.Request) answer {
	k.t.Helper()
	w := httptest.NewRecorder()
	k.handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	require.NoError(k.t, err)
	return answer{w.Result(), string(body)}
}

func request(method, target, role string, form url.Values) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Header.Set("Role", role)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

// get reads a page as an operator.
func (k *kit) get(target string) answer {
	k.t.Helper()
	return k.do(request(http.MethodGet, "/"+target, "operator", nil))
}

// post acts as an operator. Pairs are the fields of the form.
func (k *kit) post(target string, pairs ...string) answer {
	k.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return k.do(request(http.MethodPost, "/"+target, "operator", form))
}

func (k *kit) enqueue(id, name string, args ...any) {
	k.t.Helper()
	_, err := k.enq.With(work.ID(id)).Enqueue(k.ctx(), name, args...)
	require.NoError(k.t, err)
}

func (k *kit) schedule(id, name string) {
	k.t.Helper()
	_, err := k.enq.With(work.ID(id)).EnqueueIn(k.ctx(), name, time.Hour)
	require.NoError(k.t, err)
}

// job is what is known of one, nil where there is none.
func (k *kit) job(id string) *inspect.JobInfo {
	k.t.Helper()
	jobs, err := k.inspector.Jobs(k.ctx(), id)
	require.NoError(k.t, err)
	return jobs[0]
}

// state is that of a job, "" where there is none.
func (k *kit) state(id string) work.State {
	k.t.Helper()
	if job := k.job(id); job != nil {
		return job.State
	}
	return ""
}

// pool starts one that ends with the test. Its jobs fail: "dies" at once for good, "fails" with a retry in an hour.
func (k *kit) pool() *work.WorkerPool {
	k.t.Helper()
	hour := func(*work.Job, error) time.Duration { return time.Hour }
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{Redis: k.server.DSN(), Namespace: k.namespace,
		Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("dies", work.JobOptions{Retries: -1}, func() error { return io.ErrUnexpectedEOF }).
		JobWithOptions("fails", work.JobOptions{Backoff: hour}, func() error { return io.ErrUnexpectedEOF }).
		Job("blocks", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	require.NoError(k.t, pool.Start(k.ctx()))
	k.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testPatience)
		defer cancel()
		var stop *work.StopError
		if err := pool.Stop(ctx); err != nil {
			assert.ErrorAs(k.t, err, &stop)
		}
	})
	return pool
}

// until waits for a condition that a worker brings about.
func (k *kit) until(what string, is func() bool) {
	k.t.Helper()
	require.Eventually(k.t, is, testPatience, 20*time.Millisecond, what)
}

var (
	hrefs   = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	actions = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	boxes   = regexp.MustCompile(`<input type="checkbox" name="id" value="([^"]*)"`)
)

// targets are what a pattern finds on a page, as a browser would ask for it.
func targets(pattern *regexp.Regexp, page string) []string {
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(page, -1) {
		found = append(found, html.UnescapeString(match[1]))
	}
	return found
}
