package webui

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/pages"
)

const testToken = "a token of tests only"

func tokenKit(t *testing.T, role Role) *kit {
	t.Helper()
	auth, err := TokenAuth(testToken, role)
	require.NoError(t, err)
	return newKit(t, redistest.Embedded(t), func(o *Options) { o.Authorize = auth })
}

// askedBy is a request as one who is not logged in sends it, or with what a header has.
func askedBy(method, target string, header ...string) *http.Request {
	r := request(method, target, "", nil)
	r.RemoteAddr, r.Host = "127.0.0.1:5000", "localhost:7788" // as it is for everybody behind a bare proxy
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// Whatever is asked for, nobody comes in without a login, from wherever the request seems to come.
func TestNobodyComesInByWhereTheySeemToBe(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]*kit{
		"no authorizer": newKit(t, redistest.Embedded(t), func(o *Options) { o.Authorize = nil }),
		"a token":       tokenKit(t, RoleOperator),
	} {
		t.Run(name, func(t *testing.T) {
			for _, route := range Routes() {
				if strings.HasPrefix(route.Path, "/assets/") {
					continue
				}
				got := k.do(askedBy(route.Method, route.Path+"?name=mail&id=a", "Content-Type", "application/json"))
				assert.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, got.StatusCode, route.Path)
				assertSecure(t, got)
			}
			_, all, err := k.inspector.Paused(k.ctx())
			require.NoError(t, err)
			assert.False(t, all)
		})
	}
}

func TestARefusalNamesTheRemedy(t *testing.T) {
	t.Parallel()
	bare := newKit(t, redistest.Embedded(t), func(o *Options) { o.Authorize = nil })
	for _, target := range []string{"/", "/api/counts"} {
		got := bare.do(askedBy(http.MethodGet, target))
		assert.Equal(t, http.StatusForbidden, got.StatusCode)
		assert.Contains(t, got.Text, "webui.TokenAuth")
	}
	k := tokenKit(t, RoleOperator)
	got := k.do(askedBy(http.MethodGet, "/queues"))
	assert.Equal(t, http.StatusUnauthorized, got.StatusCode)
	assert.Contains(t, got.Text, `<input type="password" name="token"`)
	assert.Equal(t, http.StatusOK, k.do(askedBy(http.MethodGet, "/"+pages.AssetURL("style.css"))).StatusCode)
	got = k.do(askedBy(http.MethodGet, "/api/counts"))
	assert.Contains(t, got.Text, "Authorization: Bearer")
	assert.Equal(t, `Bearer realm="work"`, got.Header.Get("WWW-Authenticate"))
}

func TestATokenBecomesACookie(t *testing.T) {
	t.Parallel()
	k := tokenKit(t, RoleOperator)
	token := url.QueryEscape(testToken)
	for target, want := range map[string]string{
		"/?token=" + token: "./",
		"/jobs?state=dead&token=" + token + "&name=a": "./jobs?name=a&state=dead",
		"/queues?token=" + token:                      "./queues",
	} {
		got := k.do(askedBy(http.MethodGet, target))
		assert.Equal(t, http.StatusSeeOther, got.StatusCode)
		assert.Equal(t, want, got.Header.Get("Location"))
		require.Len(t, got.Cookies(), 1)
		cookie := got.Cookies()[0]
		assert.True(t, cookie.HttpOnly)
		assert.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
		assert.Empty(t, cookie.Domain)
		assert.Empty(t, cookie.Path)
		assert.NotContains(t, got.Header.Get("Set-Cookie"), testToken)
		assertSecure(t, got)
		assert.Equal(t, http.StatusOK,
			k.do(askedBy(http.MethodGet, "/queues", "Cookie", cookie.Name+"="+cookie.Value)).StatusCode)
		assert.Equal(t, http.StatusUnauthorized,
			k.do(askedBy(http.MethodGet, "/queues", "Cookie", cookie.Name+"="+testToken)).StatusCode)
		assert.Equal(t, http.StatusUnauthorized,
			k.do(askedBy(http.MethodGet, "/queues", "Cookie", cookie.Name+"="+cookie.Value[1:])).StatusCode)
	}
	for name, r := range map[string]*http.Request{
		"a wrong one":  askedBy(http.MethodGet, "/?token="+token[1:]),
		"an empty one": askedBy(http.MethodGet, "/?token="),
		"in a form":    askedBy(http.MethodPost, "/queues-pause?token="+token),
		"as basic":     askedBy(http.MethodGet, "/", "Authorization", "Basic "+testToken),
		"no bearer":    askedBy(http.MethodGet, "/", "Authorization", testToken),
		"wrong bearer": askedBy(http.MethodGet, "/", "Authorization", "Bearer "+testToken+"x"),
	} {
		t.Run(name, func(t *testing.T) {
			got := k.do(r)
			assert.Equal(t, http.StatusUnauthorized, got.StatusCode)
			assert.Empty(t, got.Cookies())
		})
	}
}

func TestATokenHasARole(t *testing.T) {
	t.Parallel()
	for role, want := range map[Role]int{RoleViewer: http.StatusForbidden, RoleOperator: http.StatusSeeOther} {
		k := tokenKit(t, role)
		for _, scheme := range []string{"bearer ", "BEARER ", "Bearer "} {
			got := k.do(askedBy(http.MethodGet, "/api/counts", "Authorization", scheme+testToken))
			assert.Equal(t, http.StatusOK, got.StatusCode, scheme)
		}
		bearer := "Bearer " + testToken
		assert.Equal(t, want, k.do(askedBy(http.MethodPost, "/queues-pause", "Authorization", bearer)).StatusCode)
		foreign := askedBy(http.MethodPost, "/queues-pause", "Authorization", bearer, "Sec-Fetch-Site", "cross-site")
		assert.Equal(t, http.StatusForbidden, k.do(foreign).StatusCode,
			"a login does not stand in for the check of where a form comes from")
	}
}

func TestTokensThatCannotBeAreErrors(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		token string
		role  Role
	}{
		"none":        {"", RoleViewer},
		"a short one": {"fifteen letters", RoleOperator},
		"no role":     {testToken, RoleNone},
		"an odd role": {testToken, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := TokenAuth(row.token, row.role)
			assert.Error(t, err)
		})
	}
}

// A proxy that rewrites the host and tells nothing of whom it serves, as a bare proxy_pass does: all come from this
// machine, by its name.
func TestBehindABareProxyALoginIsNeeded(t *testing.T) {
	t.Parallel()
	k := tokenKit(t, RoleOperator)
	mux := http.NewServeMux()
	mux.Handle("/jobs/", http.StripPrefix("/jobs", k.handler))
	behind := httptest.NewServer(mux)
	t.Cleanup(behind.Close)
	target, err := url.Parse(behind.URL)
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target) // which rewrites the host too, and sends no forwarded headers
	}})
	t.Cleanup(proxy.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar, Transport: proxy.Client().Transport}
	pause := func() int {
		got, err := client.Post(proxy.URL+"/jobs/queues-pause", "application/x-www-form-urlencoded", nil)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		return got.StatusCode
	}
	assert.Equal(t, http.StatusUnauthorized, pause())
	got, err := client.Get(proxy.URL + "/jobs/queues?token=" + url.QueryEscape(testToken))
	require.NoError(t, err)
	require.NoError(t, got.Body.Close())
	assert.Equal(t, http.StatusOK, got.StatusCode)
	assert.Equal(t, "/jobs/queues", got.Request.URL.RequestURI(), "the token is no longer in the address")
	assert.Equal(t, http.StatusOK, pause())
	_, all, err := k.inspector.Paused(k.ctx())
	require.NoError(t, err)
	assert.True(t, all)
}
