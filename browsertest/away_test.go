package browsertest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui"
)

// TestAPlaceWhoseRedisIsAwayComesBackByItself: a page that is open says that it is old, one that is opened says why it
// shows nothing, and both show what there is once Redis is back.
func TestAPlaceWhoseRedisIsAwayComesBackByItself(t *testing.T) {
	t.Parallel()
	h := &swapped{}
	b, s := newBrowser(t), newSite(t, siteOptions{harm: func(of http.Handler) http.Handler {
		h.Handler = of
		return h
	}})
	redis := redistest.Dedicated(t)
	billing, err := inspect.New(redis.DSN(), work.Namespace("billing"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, billing.Close()) })
	authorize, err := webui.TokenAuth(token, webui.RoleOperator)
	require.NoError(t, err)
	options := webui.Options{Authorize: authorize, Logger: slog.New(slog.DiscardHandler)}
	h.Handler, err = webui.Places(webui.Place{Name: "shop", Inspector: s.inspector, Options: options},
		webui.Place{Name: "billing", Inspector: billing, Options: options})
	require.NoError(t, err)
	open, opened := b.open(t, s), b.open(t, s)
	open.visit("/billing/queues")
	live := func() string { return ask[string](open, `() => document.getElementById("live-state").innerText`) }
	s.until("the page is live", func() bool { return live() == "live" })

	redis.Kill()
	s.until("the open page is old", func() bool { return live() == "Redis does not answer: what is shown is old" })
	opened.visit("/billing/workers")
	assert.EqualValues(t, http.StatusBadGateway, opened.status)
	assert.Contains(t, ask[string](opened, `() => document.getElementById("away").innerText`),
		"The Redis of place billing at "+redis.Addr()+" has not answered this dashboard since ")
	problems := slices.DeleteFunc(opened.examine("redis-away"), func(problem string) bool {
		return strings.Contains(problem, "the server responded with a status of 502")
	})
	assert.Empty(t, problems)
	assert.Equal(t, prefix+"/shop/workers", ask[string](opened, `() => document.querySelector(".places a").pathname`))

	opened.leads(func(context.Context, *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Void{}, redis.Restart()
	})
	assert.EqualValues(t, http.StatusOK, opened.status, "the page comes by itself")
	assert.Equal(t, "Workers", ask[string](opened, `() => document.querySelector("h1").innerText`))
	s.until("the open page is live", func() bool { return live() == "live" })
}
