package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

var built struct {
	once sync.Once
	dir  string
	err  error
}

// workProgram is the path of the program, built with the first test that needs it.
func workProgram(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "work-program-"); built.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(built.dir, "work"), ".")
		cmd.Dir = "../cmd/work"
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, built.err)
	return filepath.Join(built.dir, "work")
}

// forgetProgram removes it after all tests.
func forgetProgram() {
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // it is in a directory for what may go
	}
}

// served has the program serve a dashboard of a Redis, and ends it with the test.
func served(t *testing.T, dsn string, args ...string) *site {
	t.Helper()
	cmd := exec.Command(workProgram(t), append([]string{"--redis", dsn, "--json", "ui", "--listen", "127.0.0.1:0"},
		args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		assert.NoError(t, cmd.Wait())
	})
	var said struct{ Address string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &said))
	return &site{t: t, url: strings.TrimSuffix(said.Address, "/"), login: "none"}
}

// open opens a page of a site that has no prefix.
func (p *tab) open(path string) {
	p.t.Helper()
	p.leads(chromedp.Navigate(p.home + path))
}

// store is a namespace of a Redis, with one job of a name that waits.
func store(t *testing.T, dsn, name string) (namespace string, i *inspect.Inspector) {
	t.Helper()
	namespace = redistest.Namespace(t)
	enq, err := work.NewEnqueuer(dsn, work.Namespace(namespace))
	require.NoError(t, err)
	defer enq.Close() //lint:ignore errcheck nothing is on its way
	_, err = enq.With(work.ID("a")).Enqueue(t.Context(), name)
	require.NoError(t, err)
	i, err = inspect.New(dsn, work.Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, i.Close()) })
	return namespace, i
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// people is a file with ann, who may act, and bob, who may look.
func people(t *testing.T) string {
	t.Helper()
	lines := ""
	for name, role := range map[string]string{"ann": "operator", "bob": "viewer"} {
		cmd := exec.Command(workProgram(t), "ui", "user", name, "--role", role)
		cmd.Stdin = strings.NewReader("password of " + name + "\n")
		line, err := cmd.Output()
		require.NoError(t, err)
		lines += string(line)
	}
	return file(t, lines)
}

// openFor opens a tab for one of them.
func (b *browser) openFor(t *testing.T, s *site, name string) *tab {
	t.Helper()
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(name, "password of "+name)
	return b.openAs(t, s, r.Header.Get("Authorization"))
}

// buttons is how many there are that do something.
const buttons = `() => document.querySelectorAll("form[method=post] button").length`

// TestPeopleOfAFileSeeWhatTheirRoleAllows: who may look has no button on any page, and who may act has.
func TestPeopleOfAFileSeeWhatTheirRoleAllows(t *testing.T) {
	t.Parallel()
	b, redis := newBrowser(t), redistest.Real(t)
	namespace, i := store(t, redis.DSN(), "mail")
	s := served(t, redis.DSN(), "--namespace", namespace, "--users", people(t))
	bob := b.openFor(t, s, "bob")
	bob.as(look{1440, "light"})
	for _, page := range []string{"/", "/queues", "/queue?name=mail", "/jobs?state=queued&name=mail", "/job?id=a",
		"/errors", "/workers", "/schedules", "/alerts", "/redis", "/keys?name=mail"} {
		bob.open(page)
		assert.Zero(t, ask[int](bob, buttons), page)
		assert.Equal(t, "bob · reading only", ask[string](bob, `() => document.querySelector(".who p").innerText`))
	}
	bob.open("/queue?name=mail")
	assert.Empty(t, bob.examine("viewer"))
	ann := b.openFor(t, s, "ann")
	ann.as(look{1440, "light"})
	ann.open("/queue?name=mail")
	assert.Equal(t, "ann · operator", ask[string](ann, `() => document.querySelector(".who p").innerText`))
	ann.submit("queue-pause?name=mail&back="+"queue%3Fname%3Dmail", "Pause")
	names, _, err := i.Paused(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"mail"}, names)
	assert.Empty(t, ann.examine("operator"))
	bob.open("/audit")
	assert.Equal(t, "ann", ask[string](bob, `() => document.querySelector("td.name a").innerText`))
	assert.Empty(t, bob.take())
}

// TestPlacesOfSeveralRedisAreOneDashboard goes from one to the other, and stays where the other is away.
func TestPlacesOfSeveralRedisAreOneDashboard(t *testing.T) {
	t.Parallel()
	b, redis, other := newBrowser(t), redistest.Real(t), redistest.Dedicated(t)
	shop, ofShop := store(t, redis.DSN(), "mail")
	billing, ofBilling := store(t, other.Server().DSN(), "invoice")
	s := served(t, redis.DSN(), "--token", token, "--places",
		file(t, fmt.Sprintf("shop %s\nbilling %s %s\n", shop, billing, other.Server().DSN())))
	p := b.openAs(t, s, "")
	p.as(look{1440, "light"})
	p.open("/?token=" + token)
	assert.Equal(t, "/shop/", p.path())
	p.open("/shop/queues")
	queue := `() => document.querySelector("tbody td.name a").innerText`
	assert.Equal(t, "mail", ask[string](p, queue))
	p.run(chromedp.Click(`.places summary`))
	p.picture("places-open")
	p.press(`.places a:not([aria-current])`)
	assert.Equal(t, "/billing/queues", p.path(), "the same page of the other one")
	assert.Equal(t, "invoice", ask[string](p, queue))
	assert.Empty(t, p.examine("places"))
	p.as(look{1440, "light"})
	p.submit("queues-pause?back=queues", "Pause all queues")
	for i, want := range map[*inspect.Inspector]bool{ofShop: false, ofBilling: true} {
		_, all, err := i.Paused(context.Background())
		require.NoError(t, err)
		assert.Equal(t, want, all)
	}
	other.Kill()
	p.open("/billing/queues")
	assert.GreaterOrEqual(t, p.status, int64(http.StatusInternalServerError))
	for _, l := range looks {
		p.as(l)
		assert.Empty(t, ask[[]string](p, audit, l.Width))
		p.picture("place-away-" + l.String())
	}
	p.take() // the browser says of itself that it was no success
	p.as(look{1440, "light"})
	p.run(chromedp.Click(`.places summary`))
	p.press(`.places a:not([aria-current])`)
	assert.Equal(t, "mail", ask[string](p, queue), "the other one is as it was")
	assert.Empty(t, p.take())
	require.NoError(t, other.Restart())
}

// TestRolesHoldInEveryNamespace: two of them are places of one dashboard with users. What is done in one is done, and
// written down, there alone.
func TestRolesHoldInEveryNamespace(t *testing.T) {
	t.Parallel()
	b, redis := newBrowser(t), redistest.Real(t)
	shop, ofShop := store(t, redis.DSN(), "mail")
	billing, ofBilling := store(t, redis.DSN(), "mail")
	s := served(t, redis.DSN(), "--users", people(t), "--places",
		file(t, fmt.Sprintf("shop %s\nbilling %s\n", shop, billing)))
	bob := b.openFor(t, s, "bob")
	bob.as(look{1440, "light"})
	for _, page := range []string{"/shop/queue?name=mail", "/billing/queue?name=mail", "/billing/jobs?state=queued"} {
		bob.open(page)
		assert.EqualValues(t, http.StatusOK, bob.status, page)
		assert.Zero(t, ask[int](bob, buttons), page)
	}
	assert.Equal(t, http.StatusForbidden, ask[int](bob,
		`async () => (await fetch("/billing/queue-pause?name=mail", { method: "POST" })).status`))
	require.Len(t, bob.take(), 1, "the browser says of itself that it was no success")
	ann := b.openFor(t, s, "ann")
	ann.as(look{1440, "light"})
	ann.open("/billing/queue?name=mail")
	ann.submit("queue-pause?name=mail&back="+"queue%3Fname%3Dmail", "Pause")
	for place, want := range map[string]struct {
		of     *inspect.Inspector
		paused []string
		who    string
	}{
		"shop":    {of: ofShop},
		"billing": {ofBilling, []string{"mail"}, "ann,bob"},
	} {
		names, _, err := want.of.Paused(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want.paused, names, place)
		bob.open("/" + place + "/audit")
		assert.Equal(t, want.who, ask[string](bob,
			`() => [...document.querySelectorAll("td[data-label=Who] a")].map((a) => a.innerText).join()`), place)
	}
	assert.Empty(t, ann.take())
	assert.Empty(t, bob.take())
}
