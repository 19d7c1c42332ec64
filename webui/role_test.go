package webui

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestInsecureLoopbackLetsInThisMachineAlone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		remote, host, header string
		want                 Role
	}{
		"by address":                    {"127.0.0.1:5000", "127.0.0.1:8080", "", RoleOperator},
		"by name":                       {"127.0.0.1:5000", "localhost:8080", "", RoleOperator},
		"IPv6":                          {"[::1]:5000", "[::1]:8080", "", RoleOperator},
		"without a port":                {"[::1]:5000", "[::1]", "", RoleOperator},
		"another machine":               {"192.0.2.7:5000", "localhost", "", RoleNone},
		"a name that points here":       {"127.0.0.1:5000", "evil.example:8080", "", RoleNone},
		"a name that begins like here":  {"127.0.0.1:5000", "localhost.evil.example", "", RoleNone},
		"passed on by a proxy":          {"127.0.0.1:5000", "localhost", "X-Forwarded-For", RoleNone},
		"passed on as the standard has": {"127.0.0.1:5000", "localhost", "Forwarded", RoleNone},
		"no address":                    {"@", "localhost", "", RoleNone},
		"no host":                       {"127.0.0.1:5000", "", "", RoleNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr, r.Host = row.remote, row.host
			if row.header != "" {
				r.Header.Set(row.header, "for=127.0.0.1")
			}
			role, _, err := InsecureLoopback(r)
			assert.Equal(t, row.want, role)
			assert.Equal(t, row.want == RoleNone, err != nil)
		})
	}
}

func TestInsecureLoopbackRefusesOthers(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), func(o *Options) { o.Authorize = InsecureLoopback })
	got := k.get("") // from 192.0.2.1, as httptest has it
	assert.Equal(t, http.StatusForbidden, got.StatusCode)
	assert.Contains(t, got.Text, "Only this machine")
	r := request(http.MethodGet, "/", "", nil)
	r.RemoteAddr, r.Host = "127.0.0.1:99", "localhost"
	assert.Equal(t, http.StatusOK, k.do(r).StatusCode)
}

func TestBasicAuthKnowsItsLogins(t *testing.T) {
	t.Parallel()
	auth, err := BasicAuth(Login{"ann", "secret", RoleOperator}, Login{"bob", "pass:word", RoleViewer})
	require.NoError(t, err)
	k := newKit(t, redistest.Embedded(t), func(o *Options) { o.Authorize = auth })
	for name, row := range map[string]struct {
		user, password string
		get, post      int
	}{
		"an operator":      {"ann", "secret", 200, 303},
		"a viewer":         {"bob", "pass:word", 200, 403},
		"a wrong password": {"ann", "Secret", 401, 401},
		"another's":        {"bob", "secret", 401, 401},
		"no such user":     {"eve", "secret", 401, 401},
		"nothing":          {"", "", 401, 401},
	} {
		t.Run(name, func(t *testing.T) {
			for method, want := range map[string]int{"GET": row.get, "POST": row.post} {
				target := map[string]string{"GET": "/queues", "POST": "/queue-pause?name=mail&force=true"}[method]
				r := request(method, target, "", nil)
				if row.user != "" {
					r.SetBasicAuth(row.user, row.password)
				}
				got := k.do(r)
				assert.Equal(t, want, got.StatusCode)
				assert.Equal(t, want == 401, got.Header.Get("WWW-Authenticate") != "")
				assertSecure(t, got)
			}
		})
	}
	names, _ := k.paused()
	assert.Equal(t, []string{"mail"}, names, "the operator did it")
}

func TestLoginsThatCannotBeAreErrors(t *testing.T) {
	t.Parallel()
	for name, logins := range map[string][]Login{
		"none":        nil,
		"no user":     {{"", "x", RoleViewer}},
		"a colon":     {{"a:b", "x", RoleViewer}},
		"no password": {{"ann", "", RoleViewer}},
		"no role":     {{"ann", "x", RoleNone}},
		"an odd role": {{"ann", "x", 7}},
		"one twice":   {{"ann", "x", RoleViewer}, {"ann", "y", RoleOperator}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := BasicAuth(logins...)
			assert.Error(t, err)
		})
	}
}

func TestAnAuthorizerThatFailsLetsNobodyIn(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), func(o *Options) {
		o.Authorize = func(*http.Request) (Role, string, error) {
			return RoleOperator, "ann", errors.New("secret of the directory")
		}
	})
	got := k.get("")
	assert.Equal(t, http.StatusInternalServerError, got.StatusCode)
	assert.NotContains(t, got.Text, "directory")
}
