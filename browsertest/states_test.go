package browsertest

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/webui"
)

// menuPages are the paths of the pages that the menu leads to, by names for their pictures.
func menuPages() map[string]string {
	all := map[string]string{}
	for _, route := range webui.Routes() {
		if route.Menu != "" {
			all[strings.ToLower(route.Menu)] = route.Path
		}
	}
	return all
}

// TestPagesAreSoundWhereNothingIsYet: in a namespace that nobody has used.
func TestPagesAreSoundWhereNothingIsYet(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	p := b.open(t, s)
	for name, path := range menuPages() {
		t.Run(name, func(t *testing.T) {
			p.on(t).visit(path)
			assert.EqualValues(t, http.StatusOK, p.status)
			assert.Empty(t, p.examine("empty-"+name))
		})
	}
}

// swapped serves whatever it was given last.
type swapped struct{ http.Handler }

// TestPagesAreSoundWhileAPartitionIsAway: they show the rest, and say what is missing.
func TestPagesAreSoundWhileAPartitionIsAway(t *testing.T) {
	t.Parallel()
	h := &swapped{}
	b, s := newBrowser(t), newSite(t, siteOptions{harm: func(of http.Handler) http.Handler {
		h.Handler = of
		return h
	}})
	s.enqueue("a", "mail", "ann")
	driver, err := redisconn.Open(s.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = driver.Close() })
	partitiontest.WriteMap(t, driver, s.namespace, partitiontest.Divided(1, 3))
	outages := partitiontest.NewOutages(driver, s.namespace)
	i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: outages}), work.Namespace(s.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = i.Close() })
	authorize, err := webui.TokenAuth(token, webui.RoleOperator)
	require.NoError(t, err)
	h.Handler = webui.Handler(i, webui.Options{Title: "shop", Authorize: authorize,
		Logger: slog.New(slog.DiscardHandler)})
	outages.Set(1, partitiontest.Down)
	p := b.open(t, s)
	for name, path := range menuPages() {
		switch name {
		case "overview", "queues", "jobs", "workers", "partitions", "nodes", "errors":
		default:
			continue
		}
		t.Run(name, func(t *testing.T) {
			p.on(t).visit(path)
			assert.EqualValues(t, http.StatusOK, p.status)
			assert.Contains(t, ask[string](p, `() => document.querySelector("main .notice.wrong").innerText`),
				"2 of 3 partitions")
			assert.Empty(t, p.examine("away-"+name))
		})
	}
}
