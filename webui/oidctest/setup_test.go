package oidctest

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// program is oauth2-proxy, built once.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "oidctest")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "oauth2-proxy")
	build := exec.Command("go", "build", "-o", program, "github.com/oauth2-proxy/oauth2-proxy/v7")
	if said, err := build.CombinedOutput(); err != nil {
		panic("oauth2-proxy cannot be built: " + string(said))
	}
	return m.Run()
}

// setup is a provider, a proxy that sends people there, and a dashboard behind the proxy.
type setup struct {
	t                *testing.T
	provider         *mockoidc.MockOIDC
	proxy, dashboard string // addresses
	inspector        *inspect.Inspector
	enqueuer         *work.Enqueuer
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{t: t}
	var err error
	s.provider, err = mockoidc.Run()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.provider.Shutdown()) })
	redis := "memory://oidc-" + rand.Text()
	s.inspector, err = inspect.New(redis)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.inspector.Close()) })
	s.enqueuer, err = work.NewEnqueuer(redis)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.enqueuer.Close()) })
	authorize, err := webui.ProxyAuth(webui.ProxyLogin{From: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		UserHeader: "X-Forwarded-Email", GroupsHeader: "X-Forwarded-Groups", Role: role})
	require.NoError(t, err)
	server := httptest.NewServer(webui.Handler(s.inspector,
		webui.Options{Authorize: authorize, Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	s.dashboard = server.URL
	s.startProxy()
	return s
}

// role is what somebody may do, by the groups that the provider knows.
func role(_ string, groups []string) webui.Role {
	switch {
	case slices.Contains(groups, "ops"):
		return webui.RoleOperator
	case slices.Contains(groups, "dev"):
		return webui.RoleViewer
	}
	return webui.RoleNone
}

// startProxy starts oauth2-proxy, which inherits the socket that it listens on: nobody else can take its port.
func (s *setup) startProxy() {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	file, err := listener.(*net.TCPListener).File()
	require.NoError(s.t, err)
	s.proxy = "http://" + listener.Addr().String()
	known := s.provider.Config()
	// a socket is inherited as systemd does it: the process must be the one that LISTEN_PID names
	proxy := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, program, "--provider", "oidc", "--oidc-issuer-url", s.provider.Issuer(),
		"--client-id", known.ClientID, "--client-secret", known.ClientSecret, "--code-challenge-method", "S256",
		"--scope", "openid email profile groups", "--email-domain", "*", "--skip-provider-button",
		"--redirect-url", s.proxy+"/oauth2/callback", "--cookie-secret", rand.Text()+"abcdef", "--cookie-secure=false",
		"--upstream", s.dashboard+"/", "--pass-user-headers", "--http-address", "fd:3")
	proxy.Env, proxy.ExtraFiles = append(os.Environ(), "LISTEN_FDS=1"), []*os.File{file}
	var said bytes.Buffer
	proxy.Stdout, proxy.Stderr = &said, &said
	require.NoError(s.t, proxy.Start())
	require.NoError(s.t, file.Close())
	require.NoError(s.t, listener.Close()) // from now on the socket is the proxy's, and ends with it
	s.t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
		if s.t.Failed() {
			s.t.Log(said.String())
		}
	})
	answer, err := http.Get(s.proxy + "/ping") // the socket listens already: it waits until the program does
	require.NoError(s.t, err)
	require.NoError(s.t, answer.Body.Close())
	require.Equal(s.t, http.StatusOK, answer.StatusCode)
}

func (s *setup) enqueue(name string) {
	s.t.Helper()
	_, err := s.enqueuer.Enqueue(s.t.Context(), name)
	require.NoError(s.t, err)
}

func (s *setup) paused(name string) bool {
	s.t.Helper()
	queue, err := s.inspector.Queue(s.t.Context(), name)
	require.NoError(s.t, err)
	return queue.Paused
}

// audited is who did what came to what, the newest first.
func (s *setup) audited() (all []string) {
	s.t.Helper()
	page, err := s.inspector.Audit(s.t.Context(), inspect.AuditOptions{})
	require.NoError(s.t, err)
	for _, entry := range page.Entries {
		all = append(all, entry.Actor+" "+entry.Outcome)
	}
	return all
}
