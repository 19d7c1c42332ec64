package browsertest

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui"
)

// site is a dashboard over a namespace of its own, mounted below a prefix as programs do.
type site struct {
	t         *testing.T
	server    redistest.Server
	dsn       string
	namespace string
	inspector *inspect.Inspector
	enq       *work.Enqueuer
	url       string
	login     string // the Authorization header that lets one in; "" where a token does

	mu    sync.Mutex
	asked map[string]bool // routes that were asked for
}

// prefix is where the dashboard is.
const prefix = "/ops/jobs"

// token lets one in.
const token = "a-token-of-tests-only"

// siteOptions change a site.
type siteOptions struct {
	server    redistest.Server // default the real one
	authorize webui.Authorizer // default by token
	login     string
	harm      func(http.Handler) http.Handler // breaks what protects it
}

func newSite(t *testing.T, opts siteOptions) *site {
	t.Helper()
	if opts.server == (redistest.Server{}) {
		opts.server = redistest.Real(t)
	}
	if opts.authorize == nil {
		var err error
		opts.authorize, err = webui.TokenAuth(token, webui.RoleOperator)
		require.NoError(t, err)
	}
	s := &site{t: t, server: opts.server, dsn: opts.server.DSN(), namespace: redistest.Namespace(t), login: opts.login,
		asked: map[string]bool{}}
	var err error
	s.inspector, err = inspect.New(s.dsn, work.Namespace(s.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.inspector.Close()) })
	s.enq, err = work.NewEnqueuer(s.dsn, work.Namespace(s.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.enq.Close()) })
	dashboard := webui.Handler(s.inspector,
		webui.Options{Title: "shop", Authorize: opts.authorize, Logger: slog.New(slog.DiscardHandler), Enqueuer: s.enq})
	if opts.harm != nil {
		dashboard = opts.harm(dashboard)
	}
	mux := http.NewServeMux()
	mux.Handle(prefix+"/", http.StripPrefix(prefix, s.noting(dashboard)))
	// browsers look there for what is plain text
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// noting keeps which routes are asked for, and answered.
func (s *site) noting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[routeOf(r)] = true
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

// routeOf is the route of a request as its table writes it.
func routeOf(r *http.Request) string {
	path := r.URL.Path
	if strings.HasPrefix(path, "/assets/") {
		path = "/assets/{file}"
	}
	return r.Method + " " + path
}

// visited are the routes that somebody has asked for.
func (s *site) visited() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.asked))
}

// unvisited are the routes of a method that nobody has asked for. Those of the API are no pages: its own tests compare
// them with its description.
func (s *site) unvisited(method string) (left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, route := range webui.Routes() {
		if name := route.Method + " " + route.Path; route.Method == method && !strings.HasPrefix(route.Path, "/api/") &&
			!s.asked[name] {
			left = append(left, name)
		}
	}
	return left
}

func (s *site) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.t.Cleanup(cancel)
	return ctx
}

func (s *site) enqueue(id, name string, args ...any) {
	s.t.Helper()
	_, err := s.enq.With(work.ID(id)).Enqueue(s.ctx(), name, args...)
	require.NoError(s.t, err)
}

func (s *site) schedule(id, name string) {
	s.t.Helper()
	_, err := s.enq.With(work.ID(id)).EnqueueIn(s.ctx(), name, time.Hour)
	require.NoError(s.t, err)
}

// job is what Redis has of a job, nil where it has nothing.
func (s *site) job(id string) *inspect.JobInfo {
	s.t.Helper()
	jobs, err := s.inspector.Jobs(s.ctx(), id)
	require.NoError(s.t, err)
	return jobs[0]
}

// state is that of a job, "" where there is none.
func (s *site) state(id string) work.State {
	s.t.Helper()
	if job := s.job(id); job != nil {
		return job.State
	}
	return ""
}

// until waits for what a worker brings about.
func (s *site) until(what string, is func() bool) {
	s.t.Helper()
	require.Eventually(s.t, is, patience, 20*time.Millisecond, what)
}

// pool starts workers that end with the test: "charge" dies at once, "import" is tried again in an hour, "crawl" goes
// on until it is stopped, "mail" is done.
func (s *site) pool() {
	s.t.Helper()
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{Redis: s.dsn, Namespace: s.namespace, Service: "shop",
		Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("charge", work.JobOptions{Retries: -1},
			func(card string) error { panic("the bank of card " + card + " hangs up") }).
		JobWithOptions("import", work.JobOptions{Backoff: inAnHour},
			func(file string) error { return errors.New("line 17 of " + file + " has 3 columns instead of 4") }).
		Job("crawl", crawl).
		Job("refund", refund).
		Job("mail", mail)
	require.NoError(s.t, pool.Start(context.Background())) // with a deadline it would stop then
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var stop *work.StopError
		if err := pool.Stop(ctx); err != nil {
			assert.ErrorAs(s.t, err, &stop)
		}
	})
}

// refund waits until somebody says that it may go on, and returns who.
func refund(ctx context.Context) (string, error) {
	approval, err := work.Receive[struct{ By string }](ctx, "approval")
	return approval.By, err
}

func inAnHour(*work.Job, error) time.Duration { return time.Hour }

func crawl(ctx context.Context, job *work.Job, host string) error {
	job.Logger().Info("robots.txt read", "host", host, "rules", 12)
	job.Logger().Warn("a page is slow", "path", "/catalogue", "took", "4.2s")
	if err := job.Progress(map[string]int{"pages": 1250, "of": 4000}); err != nil {
		return err
	}
	job.Checkin("1,250 pages of 4,000")
	<-ctx.Done()
	return ctx.Err()
}

func mail(to string, _ string) (map[string]string, error) { return map[string]string{"sent": to}, nil }

// shop fills the site with jobs of every state, as a shop might have them.
func (s *site) shop() {
	s.t.Helper()
	s.pool()
	ctx := s.ctx()
	for i, who := range []string{"ann", "bob", "cyd"} {
		s.enqueue("mail-"+who, "mail", who+"@example.com", "welcome")
		s.enqueue([]string{"import-a", "import-b", "import-c"}[i], "import",
			[]string{"prices.csv", "stock.csv", "names.csv"}[i])
	}
	_, err := s.enq.With(work.ID("mail-kept"), work.Retention(time.Hour), work.Tags("vip", "spring"),
		work.Meta("tenant", "north"), work.Meta("request", "r-2207")).
		Enqueue(ctx, "mail", "dan@example.com", "receipt 2207")
	require.NoError(s.t, err)
	s.enqueue("charge-7", "charge", "4111")
	s.enqueue("charge-8", "charge", "5500")
	s.enqueue("crawl-1", "crawl", "example.com")
	s.schedule("newsletter", "mail")
	s.schedule("report-may", "report")
	for i := range 60 {
		s.enqueue("archive-"+string(rune('a'+i%26))+string(rune('0'+i/26)), "archive",
			map[string]any{"order": 88000 + i, "keep": "7 years"})
	}
	require.NoError(s.t, s.inspector.Stall(ctx, "archive-b0"))
	for i, key := range []string{"north", "south", "a customer whose name is very long indeed"} {
		for range 3 - i {
			_, err := s.enq.With(work.Key(key), work.Weight(1+i)).Enqueue(ctx, "report", i)
			require.NoError(s.t, err)
		}
	}
	require.NoError(s.t, s.inspector.StopKey(ctx, "report", "north"))
	s.enqueue("thumb-1", "thumbnail", "cat.jpg", 640)
	require.NoError(s.t, s.inspector.PauseQueue(ctx, "thumbnail"))
	require.NoError(s.t, s.inspector.SetLimit(ctx, "import", work.Limit{Concurrent: 2, Rate: 30, Per: time.Minute}))
	require.NoError(s.t, s.inspector.AddSchedule(ctx, "0 6 * * 1-5", "report",
		work.PeriodicOptions{ID: "weekday report", TZ: "Europe/Berlin"}, "orders"))
	require.NoError(s.t, s.inspector.AddSchedule(ctx, "@every 15m", "import", work.PeriodicOptions{ID: "prices"},
		"prices.csv"))
	require.NoError(s.t, s.inspector.PauseSchedule(ctx, "prices"))
	require.NoError(s.t, s.inspector.SilenceAlert(ctx, "redis-no-log", 7*24*time.Hour, "ann"))
	s.audited()
	s.until("the jobs that run are done", func() bool {
		return s.state("import-c") == work.StateRetrying && s.state("charge-7") == work.StateDead &&
			s.state("charge-8") == work.StateDead &&
			s.state("mail-kept") == work.StateSucceeded && s.job("crawl-1").Checkin != nil &&
			s.state("import-a") == work.StateRetrying
	})
	s.until("the heartbeat has told what was done", func() bool {
		groups, err := s.inspector.Errors(s.ctx(), "")
		return err == nil && len(groups) >= 2 &&
			slices.ContainsFunc(groups, func(g inspect.ErrorGroup) bool { return g.Name == "charge" })
	})
}

// audited has people have done things, and been refused some.
func (s *site) audited() {
	s.t.Helper()
	for _, e := range []inspect.AuditEntry{
		{Actor: "ann", Remote: "192.0.2.7:50312", Action: "/queue-pause", Targets: []string{"thumbnail"},
			Outcome: "done",
			Detail:  `Queue "thumbnail" is paused: what runs goes on.`},
		{Actor: "bob@example.com", Remote: "[2001:db8::9]:4711", Action: "/job-delete", Outcome: "refused",
			Detail: "this needs the role of an operator: nothing was done"},
		{Actor: "ann", Remote: "192.0.2.7:50312", Action: "/api/jobs-act",
			Targets: []string{"charge-7", "charge-8", hostile},
			LeftOut: 480, Outcome: "partly", Detail: "500 of 502 were retried."},
		{Remote: "192.0.2.7:50312", Action: "/bulk", Targets: []string{"dead jobs of charge"}, Outcome: "failed",
			Detail: "Redis does not answer: dial tcp 192.0.2.1:6379: connection refused"},
	} {
		require.NoError(s.t, s.inspector.NoteAudit(s.ctx(), e))
	}
}

// worker is the only one.
func (s *site) worker() inspect.WorkerInfo {
	s.t.Helper()
	workers, err := s.inspector.Workers(s.ctx())
	require.NoError(s.t, err)
	require.Len(s.t, workers, 1)
	return workers[0]
}
