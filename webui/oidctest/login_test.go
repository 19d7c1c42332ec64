package oidctest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	ann = &mockoidc.MockUser{Subject: "u-1", Email: "ann@example.com", EmailVerified: true, Groups: []string{"dev", "ops"}}
	bob = &mockoidc.MockUser{Subject: "u-2", Email: "bob@example.com", EmailVerified: true, Groups: []string{"dev"}}
	eve = &mockoidc.MockUser{Subject: "u-3", Email: "eve@example.com", EmailVerified: true}
)

// person is somebody's browser.
type person struct {
	t       *testing.T
	address string
	client  *http.Client
	headers http.Header // that they try to smuggle in
}

// login lets somebody in whom the provider knows as the user.
func (s *setup) login(user *mockoidc.MockUser) *person {
	s.t.Helper()
	p := s.nobody()
	s.provider.QueueUser(user)
	status, page := p.get("/")
	if user == eve {
		require.Equal(s.t, http.StatusForbidden, status, page)
		return p
	}
	require.Equal(s.t, http.StatusOK, status, page)
	return p
}

// nobody has not logged in yet.
func (s *setup) nobody() *person {
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	return &person{t: s.t, address: s.proxy, client: &http.Client{Jar: jar}, headers: http.Header{}}
}

func (p *person) ask(method, path string) (status int, page string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.address+path, nil)
	require.NoError(p.t, err)
	for name, values := range p.headers {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	return answer.StatusCode, string(text)
}

func (p *person) get(path string) (status int, page string) { return p.ask(http.MethodGet, path) }

func TestGroupsOfTheProviderAreRoles(t *testing.T) {
	s := newSetup(t)
	s.enqueue("mail")
	_, page := s.login(ann).get("/queues")
	assert.Contains(t, page, `<span title="who you are here">ann@example.com</span>`)
	assert.Contains(t, page, ">operator</span>")
	_, page = s.login(bob).get("/queues")
	assert.Contains(t, page, `<span title="who you are here">bob@example.com</span>`)
	assert.Contains(t, page, ">reading only</span>")
	status, page := s.login(eve).get("/queues")
	assert.Equal(t, http.StatusForbidden, status)
	assert.NotContains(t, page, "mail", "who is in no group that may look sees nothing")
}

func TestWhoMayActDoesAndTheAuditSaysWho(t *testing.T) {
	s := newSetup(t)
	s.enqueue("mail")
	status, _ := s.login(bob).ask(http.MethodPost, "/queue-pause?name=mail")
	assert.Equal(t, http.StatusForbidden, status)
	assert.False(t, s.paused("mail"))
	status, _ = s.login(ann).ask(http.MethodPost, "/queue-pause?name=mail")
	assert.Equal(t, http.StatusOK, status, "it leads back to a page")
	assert.True(t, s.paused("mail"))
	assert.Equal(t, []string{"ann@example.com done", "bob@example.com refused"}, s.audited())
}

func TestWhoHasNotLoggedInSeesTheProvider(t *testing.T) {
	s := newSetup(t)
	p := s.nobody()
	var passed []string
	p.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		passed = append(passed, r.URL.Host+r.URL.Path)
		return http.ErrUseLastResponse
	}
	status, _ := p.get("/queues")
	assert.Equal(t, http.StatusFound, status)
	issuer, err := url.Parse(s.provider.AuthorizationEndpoint())
	require.NoError(t, err)
	assert.Equal(t, []string{issuer.Host + issuer.Path}, passed)

	s.provider.QueueError(&mockoidc.ServerError{Code: http.StatusForbidden, Error: "access_denied"})
	p = s.nobody()
	status, page := p.get("/queues")
	assert.Equal(t, http.StatusForbidden, status)
	assert.NotContains(t, page, "mail")
}

// What people send under the names of the proxy's headers does not come through, with a login and without.
func TestHeadersThatPeopleSendAreNotBelieved(t *testing.T) {
	s := newSetup(t)
	smuggled := func() http.Header {
		return http.Header{"X-Forwarded-User": {"root"}, "X-Forwarded-Email": {"root@example.com"},
			"X-Forwarded-Groups": {"ops"}, "X-Forwarded-Preferred-Username": {"root"}}
	}
	p := s.login(bob)
	p.headers = smuggled()
	_, page := p.get("/queues")
	assert.Contains(t, page, `<span title="who you are here">bob@example.com</span>`)
	assert.Contains(t, page, ">reading only</span>")

	p = s.login(eve)
	p.headers = smuggled()
	status, _ := p.get("/queues")
	assert.Equal(t, http.StatusForbidden, status, "also of who has no groups, so that the proxy sets no such header")

	p = s.nobody()
	p.headers = smuggled()
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	status, _ = p.get("/queues")
	assert.Equal(t, http.StatusFound, status)
}

// From another address than the proxy's nobody comes in, whatever they say.
func TestWhoGoesAroundTheProxyIsRefused(t *testing.T) {
	s := newSetup(t)
	p := s.nobody()
	p.address = s.dashboard
	p.headers = http.Header{"X-Forwarded-Email": {"ann@example.com"}, "X-Forwarded-Groups": {"ops"}}
	p.client.Transport = &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{
		IP: net.IPv4(127, 0, 0, 5)}}).DialContext}
	status, page := p.get("/queues")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, page, "only the proxy")
}

// A page that is open is told what is new while the answer goes on.
func TestStreamsComeThroughTheProxy(t *testing.T) {
	s := newSetup(t)
	p := s.login(bob)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.proxy+"/live?page=overview", nil)
	require.NoError(t, err)
	answer, err := p.client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: overview") {
			return
		}
	}
	t.Fatalf("the stream ends without an overview: %v", lines.Err())
}
