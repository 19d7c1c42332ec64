package webui

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// diary starts a worker whose job "diary" writes what it is told to, until there is no more.
func (k *kit) diary() chan string {
	k.t.Helper()
	said := make(chan string)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: k.server.DSN(), Namespace: k.namespace,
		Logger: slog.New(slog.DiscardHandler)}).
		Job("diary", func(ctx context.Context, job *work.Job) error {
			for text := range said {
				job.Logger().WarnContext(ctx, text, "n", 1)
			}
			return nil
		})
	require.NoError(k.t, pool.Start(context.Background()))
	k.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testPatience)
		defer cancel()
		assert.NoError(k.t, pool.Stop(ctx))
	})
	return said
}

// follow opens the stream of a log.
func (k *kit) follow(server *httptest.Server, query string, header ...string) *stream {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/job-log?"+query, nil)
	require.NoError(k.t, err)
	r.Header.Set("Role", "viewer")
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	got, err := server.Client().Do(r)
	require.NoError(k.t, err)
	s := &stream{answer: got, lines: bufio.NewScanner(got.Body), close: func() { cancel(); _ = got.Body.Close() }}
	k.t.Cleanup(s.close)
	return s
}

func TestTheLogOfAJobIsSentAsItIsWritten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, func(o *Options) { o.MaxStreams = 2 })
		server := httptest.NewServer(k.handler)
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections)
		said := k.diary()
		k.enqueue("a", "diary")
		said <- "first <b>"
		k.until("the page has it", func() bool { return k.job("a").HasLog })
		log := k.follow(server, "id=a")
		assert.Equal(t, "text/event-stream", log.answer.Header.Get("Content-Type"))
		assert.Contains(t, log.answer.Header.Get("Content-Security-Policy"), "default-src 'none'")
		assert.Contains(t, log.event(t, "lines"), "first &lt;b&gt;")
		said <- "second"
		second := log.event(t, "lines")
		assert.Contains(t, second, "second")
		assert.NotContains(t, second, "first", "each line comes once")

		rest := k.follow(server, "id=a&after=1")
		assert.NotContains(t, rest.event(t, "lines"), "first")
		third := k.follow(server, "id=a")
		assert.Equal(t, http.StatusServiceUnavailable, third.answer.StatusCode)
		assert.NotEmpty(t, third.answer.Header.Get("Retry-After"))
		rest.close()
		live := &k.handler.(*site).shared.Streams
		k.until("a place is free", func() bool { return live.Logs.Open() == 1 })
		again := k.follow(server, "id=a", "Last-Event-ID", "2")
		said <- "third"
		assert.NotContains(t, again.event(t, "lines"), "second", "a browser goes on where it was")
		close(said)
		assert.Equal(t, "the job has ended", again.event(t, "over"))
		assert.Equal(t, "the job has ended", log.event(t, "over"))
		k.until("nobody follows any more", func() bool { return live.Logs.Open() == 0 })
	})
}

func TestALogOfNoJobIsNotFollowed(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	assert.Equal(t, http.StatusNotFound, k.get("job-log?id=none").StatusCode)
	assert.Equal(t, http.StatusBadRequest, k.get("job-log").StatusCode)
	k.enqueue("a", "diary")
	assert.Contains(t, k.get("job?id=a").Text, `data-log="job-log?id=a"`)
	still := newKit(t, redistest.Embedded(t), func(o *Options) { o.MaxStreams = -1 })
	still.enqueue("a", "diary")
	assert.NotContains(t, still.get("job?id=a").Text, "data-log=")
	assert.Equal(t, http.StatusServiceUnavailable, still.get("job-log?id=a").StatusCode)
}

// TestAJobListsThoseThatItEnqueued: of attempts that are over.
func TestAJobListsThoseThatItEnqueued(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace,
			Logger: slog.New(slog.DiscardHandler), EnqueueNames: []string{"ship"}}).
			Job("order", func(ctx context.Context) error {
				enq := work.EnqueuerFromContext(ctx)
				_, err := enq.With(work.ID("<child>")).EnqueueIn(ctx, "ship", time.Hour)
				return err
			})
		_, err := k.enq.With(work.ID("a"), work.Retention(time.Hour)).Enqueue(k.ctx(), "order")
		require.NoError(t, err)
		assert.NotContains(t, k.get("job?id=a").Text, "Jobs that it enqueued")
		require.NoError(t, pool.Start(k.ctx()))
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		page := k.get("job?id=a").Text
		assert.Contains(t, page, "Jobs that it enqueued")
		assert.Contains(t, targets(hrefs, page), "job?id=%3Cchild%3E")
		assert.Contains(t, page, `<span class="state scheduled">scheduled</span>`)
		require.NoError(t, k.inspector.Delete(k.ctx(), "<child>"))
		assert.Contains(t, k.get("job?id=a").Text, "nothing is kept")
		var job struct{ Children []string }
		k.read("job?id=a", &job)
		assert.Equal(t, []string{"<child>"}, job.Children)
	})
}

// TestAMemberShowsWhatIsNextToItInItsFlow, also while it is stored.
func TestAMemberShowsWhatIsNextToItInItsFlow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.ordered("f")
		page := k.get("job?id=f/charge").Text
		assert.Contains(t, page, "Which members wait for it")
		assert.Contains(t, targets(hrefs, page), "job?id=f%2Fship")
	})
}
