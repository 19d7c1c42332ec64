package people

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// cheap is a line whose password takes little time.
func cheap(t *testing.T, name, role, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), minCost)
	require.NoError(t, err)
	return name + ":" + role + ":" + string(hash)
}

// gate is one with a file and a clock of the test.
type gate struct {
	*Gate
	t    *testing.T
	path string
	at   time.Time
	log  strings.Builder
}

func newGate(t *testing.T, lines ...string) *gate {
	t.Helper()
	g := &gate{t: t, path: filepath.Join(t.TempDir(), "users"), at: time.Now()}
	g.write(lines...)
	var err error
	g.Gate, err = Open(g.path, slog.New(slog.NewTextHandler(&g.log, nil)))
	require.NoError(t, err)
	g.now, g.looked = func() time.Time { return g.at }, g.at
	return g
}

// write changes the file, at another time than before.
func (g *gate) write(lines ...string) {
	g.t.Helper()
	require.NoError(g.t, os.WriteFile(g.path, []byte("# who may come\n\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	g.at = g.at.Add(2 * lookEvery)
	require.NoError(g.t, os.Chtimes(g.path, g.at, g.at))
}

// ask is what becomes of a request, from the address.
func (g *gate) ask(name, password, from string) string {
	g.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = from + ":1234"
	if name != "" {
		r.SetBasicAuth(name, password)
	}
	role, actor, err := g.Authorize(r)
	var login *webui.LoginError
	switch {
	case errors.As(err, &login) && login.Wait > 0:
		return "wait " + login.Wait.String()
	case errors.As(err, &login):
		assert.Contains(g.t, login.Challenge, "Basic")
		return "asked"
	case err != nil:
		return err.Error()
	}
	return role.String() + " " + actor
}

func TestWhoIsInTheFileComesIn(t *testing.T) {
	t.Parallel()
	g := newGate(t, cheap(t, "ann", "operator", "correct horse"), cheap(t, "bob", "viewer", "battery staple"),
		"cyd:viewer:")
	assert.Equal(t, "asked", g.ask("", "", "a"))
	assert.Equal(t, "operator ann", g.ask("ann", "correct horse", "a"))
	assert.Equal(t, "viewer bob", g.ask("bob", "battery staple", "a"))
	assert.Equal(t, "asked", g.ask("ann", "battery staple", "b"), "the password of another")
	assert.Equal(t, "asked", g.ask("cyd", "nobody", "b"), "who comes by a proxy has no password, nor that of the decoy")
	assert.Equal(t, "asked", g.ask("eve", "nobody", "b"))
	assert.Equal(t, webui.RoleViewer, g.Role("cyd", nil))
	assert.Equal(t, webui.RoleNone, g.Role("eve", nil))
}

// Bcrypt takes a quarter of a second: that is paid once, and again when the file has another hash.
func TestAPasswordIsComparedOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t, cheap(t, "ann", "operator", "correct horse"))
	require.Equal(t, "operator ann", g.ask("ann", "correct horse", "a"))
	for range comparing {
		g.turn <- struct{}{} // whoever compares now waits
	}
	assert.Equal(t, "operator ann", g.ask("ann", "correct horse", "a"))
	for range comparing {
		<-g.turn
	}
	g.write(cheap(t, "ann", "viewer", "another one"))
	assert.Equal(t, "asked", g.ask("ann", "correct horse", "a"))
	assert.Equal(t, "viewer ann", g.ask("ann", "another one", "a"))
	g.write(cheap(t, "bob", "viewer", "battery staple"))
	assert.Equal(t, "asked", g.ask("ann", "another one", "a"), "who was taken out is out")
}

func TestAFileThatBreaksKeepsWhoWasThere(t *testing.T) {
	t.Parallel()
	g := newGate(t, cheap(t, "ann", "operator", "correct horse"))
	g.write("nonsense")
	assert.Equal(t, "operator ann", g.ask("ann", "correct horse", "a"))
	assert.Contains(t, g.log.String(), "line 3: it is not as name:viewer:hash")
	require.NoError(t, os.Remove(g.path))
	g.at = g.at.Add(2 * lookEvery)
	assert.Equal(t, "operator ann", g.ask("ann", "correct horse", "a"))
}

// Time stands still while passwords are compared, however long that takes.
func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, cheap(t, "ann", "operator", "correct horse"))
		require.Equal(t, "operator ann", g.ask("ann", "correct horse", "office"))
		for range 5 {
			require.Equal(t, "asked", g.ask("ann", "guess", "a"))
		}
		assert.Equal(t, "wait 12s", g.ask("ann", "guess", "a"))
		assert.Equal(t, "wait 12s", g.ask("ann", "correct horse", "a"), "what is right does not show")
		assert.Equal(t, "operator ann", g.ask("ann", "correct horse", "office"), "who is in stays in")
		assert.Equal(t, "asked", g.ask("ann", "guess", "b"), "another address has tries of its own")
		time.Sleep(12 * time.Second)
		assert.Equal(t, "asked", g.ask("ann", "guess", "a"))
		assert.Equal(t, "wait 12s", g.ask("ann", "guess", "a"))
	})
}

func TestALineIsReadAsItWasMade(t *testing.T) {
	t.Parallel()
	line, err := Line("ann", "viewer", "correct horse")
	require.NoError(t, err)
	name, one, cost, err := parseLine(line)
	require.NoError(t, err)
	assert.Equal(t, []any{"ann", webui.RoleViewer, newCost}, []any{name, one.role, cost})
	for name, row := range map[string][4]string{
		"colon":          {"a:b", "viewer", "correct horse", "without a colon"},
		"comment":        {"#a", "viewer", "correct horse", "without a colon"},
		"no name":        {"", "viewer", "correct horse", "without a colon"},
		"blanks":         {" a", "viewer", "correct horse", "without a colon"},
		"role":           {"ann", "king", "correct horse", "give viewer or operator"},
		"short":          {"ann", "viewer", "short", "can be guessed"},
		"more than read": {"ann", "viewer", strings.Repeat("x", 73), "at most 72 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Line(row[0], row[1], row[2])
			assert.ErrorContains(t, err, row[3])
		})
	}
}

func TestAFileThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	sound := cheap(t, "ann", "operator", "correct horse")
	for name, row := range map[string][2]string{
		"empty":     {"", "nobody is in it"},
		"no role":   {"ann:" + sound, "line 1: it is not as"},
		"no hash":   {"ann:viewer:plain", "none of bcrypt"},
		"too cheap": {"ann:viewer:" + strings.Replace(strings.SplitN(sound, ":", 3)[2], "$10$", "$04$", 1), "cost 4"},
		"too dear":  {"ann:viewer:" + strings.Replace(strings.SplitN(sound, ":", 3)[2], "$10$", "$20$", 1), "cost 20"},
		"twice":     {sound + "\n" + sound, "line 2: user \"ann\" is there twice"},
		"huge":      {strings.Repeat("#", maxFile+1), "no file of users"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "users")
			require.NoError(t, os.WriteFile(path, []byte(row[0]), 0o600))
			_, err := Open(path, slog.Default())
			assert.ErrorContains(t, err, row[1])
		})
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), slog.Default())
	assert.ErrorIs(t, err, os.ErrNotExist)
}
