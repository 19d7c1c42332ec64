package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/dashboard"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/internal/redistest"
)

// served is a `work ui` that runs within the test.
type servedUI struct {
	t         *testing.T
	address   string
	token     string // that was printed
	namespace string // or places
	stop      context.CancelCauseFunc
	status    chan int
}

func serve(t *testing.T, args ...string) *servedUI {
	t.Helper()
	redis := redistest.Embedded(t)
	ctx, stop := context.WithCancelCause(t.Context())
	read, write := io.Pipe()
	s := &servedUI{t: t, stop: stop, status: make(chan int, 1)}
	a := &cli.App{In: strings.NewReader(""), Out: write, Err: io.Discard, Hurry: context.Background()}
	go func() {
		defer write.Close() //lint:ignore errcheck the end of a pipe within the program
		s.status <- run(ctx, a, append([]string{"--redis", redis.DSN(), "--json", "ui", "--listen", "127.0.0.1:0"},
			args...))
	}()
	var said struct{ Address, Namespace, Token string }
	line, err := bufio.NewReader(read).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &said))
	s.namespace = said.Namespace
	s.address, s.token = said.Address, said.Token
	t.Cleanup(s.end)
	return s
}

// end is Ctrl-C.
func (s *servedUI) end() {
	s.stop(interrupt.Err)
	select {
	case status := <-s.status:
		assert.Equal(s.t, exit.OK, status)
		s.status <- status
	case <-time.After(time.Minute):
		require.Fail(s.t, "it does not end")
	}
}

// ask sends a request and returns its status and text.
func (s *servedUI) ask(method, path, user, password string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.address+path, nil)
	require.NoError(s.t, err)
	switch {
	case user != "":
		r.SetBasicAuth(user, password)
	case s.token != "":
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	return s.send(r)
}

func (s *servedUI) send(r *http.Request) (int, string) {
	s.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer answer.Body.Close() //lint:ignore errcheck it was read
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	http.DefaultClient.CloseIdleConnections()
	return answer.StatusCode, string(text)
}

// What comes from this machine may be what a proxy passes on, for anybody: only the token lets in.
func TestUILetsInWhoHasTheToken(t *testing.T) {
	t.Parallel()
	const given = "WORK_UI_TOKEN of a test"
	for name, args := range map[string][]string{
		"a new one": nil,
		"given":     {"--token", given},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, args...)
			if token := s.token; args == nil {
				assert.GreaterOrEqual(t, len(token), 26)
				assert.NotEqual(t, serve(t).token, token, "each start has its own")
			} else {
				assert.Empty(t, token, "who gave it knows it")
				s.token = given
			}
			for token, want := range map[string]int{s.token: http.StatusOK, "": http.StatusUnauthorized, s.token +
				"x": http.StatusUnauthorized} {
				who := &servedUI{t: t, address: s.address, token: token}
				for method, path := range map[string]string{http.MethodGet: "queues", http.MethodPost: "queues-pause"} {
					status, _ := who.ask(method, path, "", "")
					assert.Equal(t, want, status, method+" with "+token)
				}
			}
		})
	}
}

func TestUITrustsThisMachineOnlyWhenToldTo(t *testing.T) {
	t.Parallel()
	s := serve(t, "--insecure-loopback")
	require.Empty(t, s.token)
	status, text := s.ask(http.MethodGet, "queues", "", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "loopback")
}

// The address that a person opens has the token in it, and leads to a page whose address does not.
func TestUIPrintsTheAddressThatLetsIn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, sayAddress(&cli.App{Out: &out}, []string{"shop"}, "http://127.0.0.1:7788/", "ABC"))
	assert.Equal(t, "The dashboard of namespace shop is at http://127.0.0.1:7788/?token=ABC until Ctrl-C.\n",
		out.String())
	s := serve(t)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	defer client.CloseIdleConnections()
	answer, err := client.Get(dashboard.WithToken(s.address, s.token))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	assert.Equal(t, s.address, answer.Request.URL.String())
}

func TestUIServesTheAPI(t *testing.T) {
	t.Parallel()
	s := serve(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address+"api/jobs?force=true",
		strings.NewReader(`{"name": "mail", "args": ["ann"]}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusCreated, answer.StatusCode)
	status, text := s.ask(http.MethodGet, "api/counts", "", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, `"queued":1`)
}

func TestUIAsksForTheLogin(t *testing.T) {
	t.Parallel()
	s := serve(t, "--user", "ann", "--password", "correct horse")
	status, _ := s.ask(http.MethodGet, "", "", "")
	assert.Equal(t, http.StatusUnauthorized, status)
	status, _ = s.ask(http.MethodGet, "", "ann", "wrong")
	assert.Equal(t, http.StatusUnauthorized, status)
	status, text := s.ask(http.MethodGet, "", "ann", "correct horse")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "operator")
}

func TestUIReadOnlyChangesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, "--read-only")
	status, text := s.ask(http.MethodPost, "queues-pause", "", "")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, text, "for reading only")
}

// A stream would go on for ten minutes: Ctrl-C ends it with the program.
func TestUIEndsWithItsStreams(t *testing.T) {
	t.Parallel()
	s := serve(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"live?page=overview", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close() //lint:ignore errcheck it ends with the program
	stream := bufio.NewReader(answer.Body)
	line, err := stream.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "retry: 5000\n", line)
	s.end()
	_, err = io.Copy(io.Discard, stream)
	assert.NoError(t, err, "the answer has its end")
}

func TestUIRefusesToStandOpen(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		args []string
		says string
	}{
		"all addresses": {[]string{"--listen", "0.0.0.0:0"},
			"open to other machines: give --token, or --user and --password, or --users"},
		"no host":           {[]string{"--listen", ":0"}, "open to other machines"},
		"a name":            {[]string{"--listen", "example.com:0"}, "open to other machines"},
		"all of IPv6":       {[]string{"--listen", "[::]:0"}, "open to other machines"},
		"no port":           {[]string{"--listen", "127.0.0.1"}, "give host and port"},
		"a user alone":      {[]string{"--user", "ann"}, "go together"},
		"a password alone":  {[]string{"--password", "x", "--listen", ":0"}, "go together"},
		"a user with colon": {[]string{"--user", "a:b", "--password", "x"}, "without a colon"},
		"trust in others":   {[]string{"--insecure-loopback", "--listen", ":0"}, "open to other machines"},
		"a short token":     {[]string{"--token", "letmein"}, "can be guessed"},
		"two ways in": {[]string{"--token", "a token of tests only", "--user", "ann", "--password", "x"},
			"more than one way"},
		"trust and a token": {[]string{"--token", "a token of tests only", "--insecure-loopback"},
			"more than one way"},
		"nobody is told":     {[]string{"--quiet"}, "--token"},
		"an argument":        {[]string{"x"}, "takes no argument"},
		"a port that is not": {[]string{"--listen", "127.0.0.1:x"}, "cannot be served"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(append([]string{"--redis", redistest.Embedded(t).DSN(), "ui"}, row.args...)...)
			assert.NotEqual(t, exit.OK, got.status)
			assert.Empty(t, got.out)
			assert.Contains(t, got.err, row.says)
		})
	}
}

func TestUINeedsARedisThatAnswers(t *testing.T) {
	t.Parallel()
	got := call("--redis", "redis://127.0.0.1:1/0", "ui", "--listen", "127.0.0.1:0")
	assert.Equal(t, exit.Failure, got.status)
	assert.Equal(t, exit.Usage, call("ui").status)
}
