package browsertest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui"
)

const (
	user     = "ann"
	password = "correct horse"
)

var login = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))

// breaks are dashboards whose protection was taken away, and what is to be said of each.
var breaks = map[string]struct {
	harm func(http.Handler) http.Handler
	want string
}{
	"no policy":         {withoutPolicy, "policy: "},
	"a name as it is":   {unescaped, "foreign markup: "},
	"no check of sites": {fromAnywhere, "another site: "},
	"everybody let in":  {withoutLogin, "nobody: "},
}

// TestWhatIsBrokenIsSeen shows that the checks can fail: a dashboard as it is passes all of them, and each break is
// found.
func TestWhatIsBrokenIsSeen(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	t.Run("as it is", func(t *testing.T) { assert.Empty(t, lookInto(t, b, nil)) })
	for name, broken := range breaks {
		t.Run(name, func(t *testing.T) {
			problems := lookInto(t, b, broken.harm)
			assert.Contains(t, strings.Join(problems, "\n"), broken.want)
		})
	}
}

// inspect looks for holes in a dashboard with a job whose name means harm: it looks at its pages, lets another site
// act, and comes without a login.
func lookInto(t *testing.T, b *browser, harm func(http.Handler) http.Handler) (problems []string) {
	t.Helper()
	authorize, err := webui.BasicAuth(webui.Login{User: user, Password: password, Role: webui.RoleOperator})
	require.NoError(t, err)
	s := newSite(t, siteOptions{authorize: authorize, login: login, harm: harm})
	s.enqueue("a", hostile, hostile)
	p := b.open(t, s)
	for _, target := range []string{"/", "/queues", "/jobs?state=queued", "/job?id=a"} {
		p.visit(target)
		problems = append(problems, p.take()...)
		problems = append(problems, ask[[]string](p, audit, 10_000)...)
		if ask[bool](p, `() => document.intruded === true`) {
			problems = append(problems, "intrusion: a name of a job ran as a script")
		}
		problems = append(problems, ask[[]string](p, intruder, elsewhere)...)
		p.take()
	}
	problems = append(problems, fromAnotherSite(t, b, s)...)
	return append(problems, withNoLogin(t, b, s)...)
}

// fromAnotherSite lets somebody who is logged in come to a page of another site that sends forms to the dashboard.
func fromAnotherSite(t *testing.T, b *browser, s *site) (problems []string) {
	t.Helper()
	target := s.url + prefix + "/job-stall?id=a"
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="%s"><button>win</button></form>`, html.EscapeString(target))
	}))
	t.Cleanup(trap.Close)
	p := b.open(t, s)
	p.home = ""
	for _, address := range []string{trap.URL, strings.Replace(trap.URL, "127.0.0.1", "localhost", 1)} {
		p.leads(chromedp.Navigate(address))
		p.press("button")
		if p.status != http.StatusForbidden {
			problems = append(problems, fmt.Sprintf("another site: its form is answered by %d", p.status))
		}
	}
	if state := s.state("a"); state != work.StateQueued {
		problems = append(problems, "another site: the job is now "+string(state))
		require.NoError(t, s.inspector.Resume(s.ctx(), "a"))
	}
	return problems
}

// withNoLogin asks for every page, and for an action, without a login.
func withNoLogin(t *testing.T, b *browser, s *site) (problems []string) {
	t.Helper()
	p := b.openAs(t, s, "")
	for _, route := range webui.Routes() {
		target := s.url + prefix + strings.ReplaceAll(route.Path, "{file}", "app.js") + "?id=a"
		answer, err := http.NewRequestWithContext(s.ctx(), route.Method, target, nil)
		require.NoError(t, err)
		got, err := http.DefaultClient.Do(answer)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		if got.StatusCode != http.StatusUnauthorized {
			problems = append(problems, fmt.Sprintf("nobody: %s %s is answered by %d", route.Method, route.Path,
				got.StatusCode))
		}
	}
	if err := p.tries("/job?id=a"); err == nil || !strings.Contains(err.Error(), "ERR_INVALID_AUTH_CREDENTIALS") {
		problems = append(problems, "nobody: a browser without a login sees a job")
	}
	return problems
}

// withoutPolicy is a dashboard that sends no policy.
func withoutPolicy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&rewriting{ResponseWriter: w,
			header: func(header http.Header) { header.Del("Content-Security-Policy") }}, r)
	})
}

// unescaped is a dashboard that forgets to escape the name of a job.
func unescaped(h http.Handler) http.Handler {
	escaped := []byte(html.EscapeString(hostile))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&rewriting{ResponseWriter: w,
			body: func(text []byte) []byte { return bytes.ReplaceAll(text, escaped, []byte(hostile)) }}, r)
	})
}

// fromAnywhere is a dashboard that takes every request for one from its own pages.
func fromAnywhere(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		h.ServeHTTP(w, r)
	})
}

// withoutLogin is a dashboard that lets everybody in.
func withoutLogin(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.SetBasicAuth(user, password)
		h.ServeHTTP(w, r)
	})
}

// rewriting changes an answer on its way.
type rewriting struct {
	http.ResponseWriter
	header func(http.Header)
	body   func([]byte) []byte
}

func (r *rewriting) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *rewriting) WriteHeader(status int) {
	if r.header != nil {
		r.header(r.Header())
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *rewriting) Write(text []byte) (int, error) {
	if r.body == nil {
		return r.ResponseWriter.Write(text)
	}
	_, err := r.ResponseWriter.Write(r.body(text))
	return len(text), err
}
