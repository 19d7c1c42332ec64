package webui

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func byGroup(_ string, groups []string) Role {
	if slices.Contains(groups, "ops") {
		return RoleOperator
	}
	return RoleViewer
}

// Whoever is not the proxy may say what they like.
func TestOnlyTheProxySaysWhoItIs(t *testing.T) {
	t.Parallel()
	authorize, err := ProxyAuth(ProxyLogin{From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"),
		netip.MustParsePrefix("fd00::5/128")}, UserHeader: "X-User", GroupsHeader: "X-Groups", Role: byGroup})
	require.NoError(t, err)
	log := &lines{}
	k := newKit(t, redistest.Embedded(t), func(o *Options) {
		o.Authorize, o.Logger = authorize, slog.New(slog.NewTextHandler(log, nil))
	})
	for name, row := range map[string]struct {
		from    string
		headers [][2]string
		status  int
		says    string
	}{
		"an operator": {"10.1.2.3:99", [][2]string{{"X-User", "ann"}, {"X-Groups", "dev, ops"}}, 200,
			"operator"},
		"a viewer": {"10.1.2.3:99", [][2]string{{"X-User", "bob"}, {"X-Groups", "dev"}}, 200, "reading only"},
		"groups twice, one smuggled": {"10.1.2.3:99", [][2]string{{"X-User", "ann"}, {"X-Groups", "a"},
			{"X-Groups", "ops"}}, 400, "X-Groups came twice"},
		"a login twice": {"10.1.2.3:99", [][2]string{{"X-User", "ann"}, {"Authorization", "Basic YTpi"},
			{"Authorization", "Basic YTpj"}}, 400, "Authorization came twice"},
		"by IPv6": {"[fd00::5]:99", [][2]string{{"X-User", "bob"}}, 200, "reading only"},
		"mapped":  {"[::ffff:10.1.9.9]:99", [][2]string{{"X-User", "bob"}}, 200, "reading only"},
		"another machine": {"10.2.0.1:99", [][2]string{{"X-User", "ann"}, {"X-Groups", "ops"}}, 403,
			"Only the proxy"},
		"this machine": {"127.0.0.1:99", [][2]string{{"X-User", "ann"}}, 403, "Only the proxy"},
		"no address":   {"@", [][2]string{{"X-User", "ann"}}, 403, "Only the proxy"},
		"nobody":       {"10.1.2.3:99", nil, 403, "has not said who"},
		"blank":        {"10.1.2.3:99", [][2]string{{"X-User", " "}}, 403, "has not said who"},
		"two, one smuggled": {"10.1.2.3:99", [][2]string{{"X-User", "ann"}, {"X-User", "eve"}}, 400,
			"X-User came twice"},
		"groups and no name": {"10.1.2.3:99", [][2]string{{"X-Groups", "ops"}}, 403, "has not said who"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(http.MethodGet, "/queues", "", nil)
			r.RemoteAddr = row.from
			for _, h := range row.headers {
				r.Header.Add(h[0], h[1])
			}
			got := k.do(r)
			assert.Equal(t, row.status, got.StatusCode)
			assert.Contains(t, got.Text, row.says)
			assert.Equal(t, row.status == 403, strings.Contains(log.text.String(), "not let in"))
			log.text.Reset()
		})
	}
}

func TestAProxyThatAnybodyCouldBeIsRefused(t *testing.T) {
	t.Parallel()
	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for name, row := range map[string]struct {
		login ProxyLogin
		says  string
	}{
		"no address":      {ProxyLogin{UserHeader: "X"}, "lets anybody say"},
		"no header":       {ProxyLogin{From: here}, "give UserHeader"},
		"no real address": {ProxyLogin{From: []netip.Prefix{{}}, UserHeader: "X"}, "cannot be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ProxyAuth(row.login)
			assert.ErrorContains(t, err, row.says)
		})
	}
}

func TestTriesThatComeTooOftenAreToldToWait(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), func(o *Options) {
		o.Authorize = func(*http.Request) (Role, string, error) {
			return RoleNone, "", &LoginError{Challenge: "Basic", Wait: 1500 * 1e6}
		}
	})
	got := k.get("queues")
	assert.Equal(t, http.StatusTooManyRequests, got.StatusCode)
	assert.Equal(t, "2", got.Header.Get("Retry-After"))
	assert.Empty(t, got.Header.Get("WWW-Authenticate"), "a browser would ask again at once")
}
