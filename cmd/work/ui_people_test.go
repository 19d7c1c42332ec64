package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// userLine has the program print a line of the file of users.
func userLine(t *testing.T, password string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	a := &cli.App{In: strings.NewReader(password + "\n"), Out: &out, Err: &bytes.Buffer{}}
	status := run(t.Context(), a, append([]string{"ui", "user"}, args...))
	return out.String(), status
}

func fileWith(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestUISeveralUsersHaveRoles(t *testing.T) {
	t.Parallel()
	ann, status := userLine(t, "correct horse", "ann", "--role", "operator")
	require.Equal(t, exit.OK, status)
	require.True(t, strings.HasPrefix(ann, "ann:operator:$2a$12$"), ann)
	bob, _ := userLine(t, "battery staple", "bob")
	s := serve(t, "--users", fileWith(t, ann+bob))
	for who, want := range map[[2]string]int{
		{"ann", "correct horse"}: http.StatusOK, {"bob", "battery staple"}: http.StatusForbidden,
		{"bob", "correct horse"}: http.StatusUnauthorized, {"", ""}: http.StatusUnauthorized,
	} {
		status, _ := s.ask(http.MethodPost, "queues-pause", who[0], who[1])
		assert.Equal(t, want, status, who[0])
	}
	_, text := s.ask(http.MethodGet, "audit", "bob", "battery staple")
	assert.Contains(t, text, `href="audit?actor=ann"`)
	assert.Contains(t, text, `href="audit?actor=bob"`, "what was refused is there too")

	_, status = userLine(t, "short", "ann")
	assert.Equal(t, exit.Usage, status)
}

func TestUITheProxySaysWhoItIs(t *testing.T) {
	t.Parallel()
	ask := func(s *servedUI, user, groups string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"queues", nil)
		require.NoError(t, err)
		if user != "" {
			r.Header.Set("X-Forwarded-User", user)
		}
		r.Header.Set("X-Forwarded-Groups", groups)
		return s.send(r)
	}
	s := serve(t, "--proxy-from", "127.0.0.1", "--proxy-operators", "ops")
	status, text := ask(s, "ann", "dev,ops")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "operator")
	_, text = ask(s, "bob", "dev")
	assert.Contains(t, text, "reading only")
	status, _ = ask(s, "", "ops")
	assert.Equal(t, http.StatusForbidden, status)

	s = serve(t, "--proxy-from", "127.0.0.0/8", "--users", fileWith(t, "ann:operator:\n"))
	_, text = ask(s, "ann", "")
	assert.Contains(t, text, "operator")
	status, _ = ask(s, "bob", "ops")
	assert.Equal(t, http.StatusForbidden, status, "who is not in the file has no role")

	s = serve(t, "--proxy-from", "10.0.0.1")
	status, _ = ask(s, "ann", "ops")
	assert.Equal(t, http.StatusForbidden, status)
}

// A second Redis, and a second namespace of the first.
func TestUISeveralPlaces(t *testing.T) {
	t.Parallel()
	other := redistest.Embedded(t)
	s := serve(t, "--places", fileWith(t, fmt.Sprintf("# name namespace\nshop shop\nbilling billing %s\n",
		other.DSN())))
	assert.Equal(t, "shop,billing", s.namespace)
	status, text := s.ask(http.MethodGet, "shop/queues", "", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, `href="../billing/queues"`)
	status, _ = s.ask(http.MethodPost, "billing/queues-pause", "", "")
	require.Equal(t, http.StatusOK, status, "it leads on to a page")
	_, text = s.ask(http.MethodGet, "billing/audit", "", "")
	assert.Contains(t, text, "queues-pause</code>")
	_, text = s.ask(http.MethodGet, "shop/audit", "", "")
	assert.NotContains(t, text, "queues-pause</code>")
}

func TestUIRefusesPeopleAndPlacesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		args []string
		says string
	}{
		"no file":    {[]string{"--users", "/nowhere"}, "--users:"},
		"no user":    {[]string{"--users", fileWith(t, "")}, "nobody is in it"},
		"no address": {[]string{"--proxy-from", "proxy"}, "give an address"},
		"two roles": {[]string{"--proxy-from", "::1", "--proxy-operators", "x", "--users",
			fileWith(t, "a:viewer:")}, "give one of them"},
		"two ways": {[]string{"--users", fileWith(t, "a:viewer:"), "--token", "a token of tests only"},
			"more than one way"},
		"no place":        {[]string{"--places", fileWith(t, "# none\n")}, "0 places"},
		"half a place":    {[]string{"--places", fileWith(t, "shop\n")}, "line 1: give a name"},
		"a place's name":  {[]string{"--places", fileWith(t, "a/b shop\n")}, "cannot be in an address"},
		"in memory":       {[]string{"--places", fileWith(t, "a shop memory://\n")}, "ends with this program"},
		"no places' file": {[]string{"--places", "/nowhere"}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			a := &cli.App{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &said}
			args := append([]string{"--redis", "redis://127.0.0.1:1", "ui", "--listen", "127.0.0.1:0"}, row.args...)
			assert.Equal(t, exit.Usage, run(t.Context(), a, args))
			assert.Contains(t, said.String(), row.says)
		})
	}
}

func TestWhatPeopleDidIsListed(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	none := s.call("audit", "--namespace", "other")
	assert.Equal(t, said{exit.OK, "", "work audit: nothing of that kind was done\n"}, none)
	noted(t, s.Server.DSN(), 7)
	lines := strings.Split(s.call("audit", "--limit", "3").out, "\n")
	require.Len(t, lines, 5, "a title, three and the end")
	assert.Equal(t, "WHEN (UTC) WHO FROM ACTION OUTCOME TO WHAT CAME OF IT",
		strings.Join(strings.Fields(lines[0]), " "))
	assert.Regexp(t, `ann +192\.0\.2\.1:5 +/job-retry +done +mail-\d +It is queued\.`, lines[1])
	assert.Equal(t, 7, strings.Count(s.call("audit", "--json", "--limit", "0").out, `"action":"/job-retry"`))
	assert.Equal(t, 1, strings.Count(s.call("audit", "--json", "--target", "mail-3").out, "\n"))
	assert.Equal(t, exit.Usage, s.call("audit", "--cursor", "nonsense").status)
}

// noted has somebody do so many things.
func noted(t *testing.T, dsn string, n int) {
	t.Helper()
	i, err := inspect.New(dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, i.Close()) }()
	for n := range n {
		require.NoError(t, i.NoteAudit(t.Context(), inspect.AuditEntry{Actor: "ann", Remote: "192.0.2.1:5",
			Action: "/job-retry", Targets: []string{fmt.Sprint("mail-", n)}, Outcome: "done", Detail: "It is queued."}))
	}
}
