package webui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"

	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// A proxy that logs people in by OpenID Connect tells the dashboard who they are. What stands for it here knows a
// session by its cookie; a real one, as oauth2-proxy, gets it from the provider. It overwrites what others send in its
// headers.
func ExampleProxyAuth() {
	authorize, err := webui.ProxyAuth(webui.ProxyLogin{
		From:         []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, // where the proxy runs
		UserHeader:   "X-Forwarded-User",
		GroupsHeader: "X-Forwarded-Groups",
		Role: func(_ string, groups []string) webui.Role {
			if slices.Contains(groups, "ops") {
				return webui.RoleOperator
			}
			return webui.RoleViewer
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	inspector, err := inspect.New("memory://webui-proxy-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inspector.Close() }() // it was in memory
	dashboard := httptest.NewServer(webui.Handler(inspector, webui.Options{Authorize: authorize}))
	defer dashboard.Close()

	target, _ := url.Parse(dashboard.URL)
	sessions := map[string][2]string{"session-of-ann": {"ann@example.com", "dev,ops"}}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		session, _ := r.In.Cookie("session")
		r.Out.Header.Del("X-Forwarded-User")
		r.Out.Header.Del("X-Forwarded-Groups")
		if session != nil && sessions[session.Value][0] != "" {
			r.Out.Header.Set("X-Forwarded-User", sessions[session.Value][0])
			r.Out.Header.Set("X-Forwarded-Groups", sessions[session.Value][1])
		}
	}})
	defer proxy.Close()

	for _, session := range []string{"session-of-ann", "no session"} {
		r, _ := http.NewRequest(http.MethodGet, proxy.URL+"/api/counts", nil)
		r.AddCookie(&http.Cookie{Name: "session", Value: session})
		r.Header.Set("X-Forwarded-User", "the boss") // believed by nobody
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		answer.Body.Close()
		fmt.Println(session, answer.StatusCode)
	}
	// Output:
	// session-of-ann 200
	// no session 403
}
