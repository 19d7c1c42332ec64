package webui

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/tries"
)

// guess asks for a page with a password.
func (k *kit) guess(user, password string) answer {
	k.t.Helper()
	r := request(http.MethodGet, "/queues", "", nil)
	r.SetBasicAuth(user, password)
	return k.do(r)
}

// TestAPasswordCannotBeGuessed: after a few tries nothing is compared, and log and audit tell of them within bounds.
func TestAPasswordCannotBeGuessed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		still := time.Now() // so that no try comes back while the test runs
		auth := passwordAuth(func(user string) Account {
			return Account{RoleOperator, "", func(_ *http.Request, password string) bool {
				return password == map[string]string{"ann": "secret", "bob": "other"}[user]
			}}
		}, func() time.Time { return still })
		log := &lines{}
		k := newKit(t, s, func(o *Options) {
			o.Authorize, o.Logger = auth, slog.New(slog.NewTextHandler(log, nil))
		})
		const guesses = 787
		refused := map[int]int{}
		for range guesses {
			refused[k.guess("ann", "guess").StatusCode]++
		}
		assert.Equal(t, map[int]int{http.StatusUnauthorized: tries.AtOnce, http.StatusTooManyRequests: guesses -
			tries.AtOnce}, refused)
		got := k.guess("ann", "secret")
		assert.Equal(t, http.StatusTooManyRequests, got.StatusCode, "what is right does not show")
		assert.NotEmpty(t, got.Header.Get("Retry-After"))
		assert.Equal(t, http.StatusOK, k.guess("bob", "other").StatusCode)

		told := strings.Count(log.text.String(), `msg="dashboard: a login failed"`)
		assert.GreaterOrEqual(t, told, tries.AtOnce)
		assert.LessOrEqual(t, told, loggedAtOnce+int(testPatience/loggedEvery))
		assert.Contains(t, log.text.String(), "user=ann")
		assert.Contains(t, log.text.String(), "remote=192.0.2.1:1234")
		assert.NotContains(t, log.text.String(), "guess")
		assert.Len(t, k.entries(), auditedAtOnce)
		page, err := k.inspector.Audit(k.ctx(), inspect.AuditOptions{Action: "/login"})
		require.NoError(t, err)
		require.Len(t, page.Entries, auditedAtOnce)
		assert.Equal(t, []string{"ann"}, page.Entries[0].Targets)
		assert.Equal(t, "refused", page.Entries[0].Outcome)
		assert.Empty(t, page.Entries[0].Actor, "nobody knows who it was")
	})
}

// TestBasicAuthBoundsGuesses: time stands still while nothing waits.
func TestBasicAuthBoundsGuesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		auth, err := BasicAuth(Login{"ann", "secret", RoleOperator})
		require.NoError(t, err)
		for n := range 787 {
			r := request(http.MethodGet, "/", "", nil)
			r.SetBasicAuth("ann", "guess")
			_, _, err := auth(r)
			var login *LoginError
			require.ErrorAs(t, err, &login)
			assert.Equal(t, "ann", login.Tried)
			assert.Equal(t, n >= tries.AtOnce, login.Wait > 0, n)
		}
	})
}

func TestAWrongTokenIsTold(t *testing.T) {
	t.Parallel()
	auth, err := TokenAuth("a token of tests only", RoleOperator)
	require.NoError(t, err)
	k := newKit(t, redistest.Embedded(t), func(o *Options) { o.Authorize = auth })
	k.get("queues")
	assert.Empty(t, k.entries(), "who has none tries none")
	k.get("queues?token=another")
	bearer := request(http.MethodGet, "/queues", "", nil)
	bearer.Header.Set("Authorization", "Bearer another")
	k.do(bearer)
	entries := k.entries()
	require.Len(t, entries, 2)
	for _, entry := range entries {
		assert.Equal(t, []string{"token"}, entry.Targets)
		assert.Equal(t, "/login", entry.Action)
	}
}

// TestWhatIsLeftOutIsCounted: the next line says how many there were.
func TestWhatIsLeftOutIsCounted(t *testing.T) {
	t.Parallel()
	at := time.Now()
	f := newFailedLogins(func() time.Time { return at })
	for range loggedAtOnce {
		_, may := f.take(&f.lines)
		require.True(t, may)
	}
	for range 3 {
		_, may := f.take(&f.lines)
		require.False(t, may)
	}
	at = at.Add(loggedEvery)
	more, may := f.take(&f.lines)
	assert.True(t, may)
	assert.Equal(t, 3, more)
}
