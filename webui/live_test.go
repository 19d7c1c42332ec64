package webui

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// stream is one that a browser has open.
type stream struct {
	answer *http.Response
	lines  *bufio.Scanner
	close  func()
}

func (k *kit) listen(server *httptest.Server, page string) *stream {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/live?page="+page, nil)
	require.NoError(k.t, err)
	r.Header.Set("Role", "viewer")
	got, err := server.Client().Do(r)
	require.NoError(k.t, err)
	s := &stream{answer: got, lines: bufio.NewScanner(got.Body), close: func() { cancel(); _ = got.Body.Close() }}
	k.t.Cleanup(s.close)
	return s
}

// event reads until one of that name has come, and returns its data.
func (s *stream) event(t *testing.T, name string) string {
	t.Helper()
	var data []string
	for reading := false; s.lines.Scan(); {
		line := s.lines.Text()
		switch {
		case line == "event: "+name:
			reading = true
		case reading && line == "":
			return strings.Join(data, "\n")
		case reading:
			text, is := strings.CutPrefix(line, "data: ")
			assert.True(t, is, "%q is no line of data", line)
			data = append(data, text)
		}
	}
	require.Fail(t, "no event "+name, s.lines.Err())
	return ""
}

func TestPagesThatAreOpenAreLive(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, func(o *Options) { o.MaxStreams = 2 })
		server := httptest.NewServer(k.handler)
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections)
		overview := k.listen(server, "overview")
		assert.Equal(t, "text/event-stream", overview.answer.Header.Get("Content-Type"))
		assert.Contains(t, overview.answer.Header.Get("Content-Security-Policy"), "default-src 'none'")
		overview.event(t, "overview")
		k.enqueue("a", "<mail>", 1)
		k.until("the overview shows the job", func() bool {
			html := overview.event(t, "overview")
			assert.NotContains(t, html, "<form", "what is sent to all has nothing for operators")
			return strings.Contains(html, "&lt;mail&gt;")
		})
		other := k.listen(server, "jobs")
		assert.NotEmpty(t, other.event(t, "tick"))
		third := k.listen(server, "jobs")
		assert.Equal(t, http.StatusServiceUnavailable, third.answer.StatusCode)
		assert.NotEmpty(t, third.answer.Header.Get("Retry-After"))
		third.close()

		live := k.handler.(*site).pages
		reader := live.Reading()
		overview.close()
		other.close()
		select {
		case <-reader:
		case <-k.ctx().Done():
			require.Fail(t, "the reader goes on although nobody listens")
		}
		k.until("both streams are gone", func() bool { return k.handler.(*site).shared.Streams.Live.Open() == 0 })
		again := k.listen(server, "overview")
		again.event(t, "overview")
	})
}

// TestAViewerDoesNotTakeAllStreams: somebody else's page is live all the same.
func TestAViewerDoesNotTakeAllStreams(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), func(o *Options) {
		o.MaxStreams = 3
		o.Authorize = func(r *http.Request) (Role, string, error) { return RoleViewer, r.URL.Query().Get("page"), nil }
	})
	server := httptest.NewServer(k.handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	var mine []*stream
	for range 3 {
		mine = append(mine, k.listen(server, "ann"))
		require.Equal(t, http.StatusOK, mine[len(mine)-1].answer.StatusCode)
	}
	assert.Equal(t, http.StatusServiceUnavailable, k.listen(server, "ann").answer.StatusCode)
	other := k.listen(server, "bob")
	require.Equal(t, http.StatusOK, other.answer.StatusCode)
	assert.NotEmpty(t, other.event(t, "tick"))
	for mine[2].lines.Scan() { // to its end
	}
	assert.NotEmpty(t, mine[0].event(t, "tick"), "the others go on")
}

func TestWithoutStreamsPagesAreAsOfTheirLoading(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), func(o *Options) { o.MaxStreams = -1 })
	assert.NotContains(t, k.get("").Text, "data-stream")
	assert.Equal(t, http.StatusServiceUnavailable, k.get("live").StatusCode)
}

func TestAStreamSaysThatRedisIsAway(t *testing.T) {
	t.Parallel()
	redis := redistest.Dedicated(t)
	k := newKit(t, redis.Server())
	server := httptest.NewServer(k.handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	stream := k.listen(server, "overview")
	stream.event(t, "overview")
	redis.Kill()
	assert.Contains(t, stream.event(t, "trouble"), "does not answer")
	require.NoError(t, redis.Restart())
	stream.event(t, "overview")
}
