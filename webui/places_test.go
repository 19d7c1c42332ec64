package webui

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// A place may have another Redis and another namespace. Here they are both.
func TestSeveralPlacesAreOneDashboard(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		shop, billing := newKit(t, s), newKit(t, redistest.Embedded(t))
		shop.schedule("of-shop", "mail")
		billing.schedule("of-billing", "invoice")
		handler, err := Places(Place{"shop", shop.inspector, shop.options},
			Place{"billing", billing.inspector, billing.options})
		require.NoError(t, err)
		k := &kit{t: t, handler: handler}
		page := k.get("shop/jobs?state=scheduled")
		assert.Equal(t, http.StatusOK, page.StatusCode)
		assert.Contains(t, page.Text, "of-shop")
		assert.NotContains(t, page.Text, "of-billing")
		assert.Contains(t, page.Text, `href="../billing/jobs"`)
		assert.Contains(t, k.get("billing/jobs?state=scheduled").Text, "of-billing")
		assert.Contains(t, k.get("billing/api/counts").Text, `"scheduled":1`)

		got := k.do(request(http.MethodPost, "/billing/job-stall?id=of-billing", "operator", nil))
		assert.Equal(t, http.StatusSeeOther, got.StatusCode)
		assert.Len(t, billing.kept(), 1)
		assert.Empty(t, shop.kept())

		assert.Equal(t, "./shop/", k.get("").Header.Get("Location"))
		assert.Equal(t, "./shop/jobs?state=dead", k.get("jobs?state=dead").Header.Get("Location"))
		for _, none := range []string{"nowhere/", "shopping", "api/counts/x", "job-stall?id=of-shop"} {
			got := k.get(none)
			assert.Equal(t, http.StatusNotFound, got.StatusCode, none)
			assertSecure(t, got)
		}
	})
}

// TestAPlaceWhoseRedisIsAwaySaysSo: in words, where and since when; the others are as they were.
func TestAPlaceWhoseRedisIsAwaySaysSo(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse"
	redis := redistest.Dedicated(t, "--requirepass", secret)
	shop := newKit(t, redistest.Embedded(t))
	dsn := strings.Replace(redis.Server().DSN(), "redis://", "redis://:"+secret+"@", 1)
	away, err := inspect.New(dsn, work.Namespace("billing"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, away.Close()) })
	handler, err := Places(Place{"shop", shop.inspector, shop.options}, Place{"billing", away, shop.options})
	require.NoError(t, err)
	k := &kit{t: t, handler: handler}
	redis.Kill()
	for _, page := range []string{"", "queues", "jobs?state=dead", "workers"} {
		got := k.get("billing/" + page)
		assert.Equal(t, http.StatusBadGateway, got.StatusCode, page)
		assertSecure(t, got)
		assertRelative(t, strings.ReplaceAll(got.Text, `href="../`, `href="`))
		text := tags.ReplaceAllString(got.Text, "")
		assert.Regexp(t, `The Redis of place billing at `+regexp.QuoteMeta(redis.Server().Addr())+
			` has not answered this dashboard since [0-9:.]+ UTC`, text, page)
		assert.Contains(t, text, "asks again every 5 seconds")
		assert.Contains(t, got.Text, `<noscript><meta http-equiv="refresh" content="5"></noscript>`)
		page, _, _ := strings.Cut(page, "?")
		assert.Contains(t, got.Text, `href="../shop/`+page+`"`)
		assert.NotContains(t, got.Text, secret)
	}
	got := k.post("billing/queue-pause?name=mail&force=true&back=queues")
	assert.Equal(t, http.StatusBadGateway, got.StatusCode)
	assert.Contains(t, got.Text, `may have been done or not: <a href="queues">look</a>`)
	assert.NotContains(t, got.Text, "http-equiv", "nothing is done twice")
	assert.Equal(t, http.StatusOK, k.get("shop/queues").StatusCode)

	require.NoError(t, redis.Restart())
	k.until("the place is back", func() bool { return k.get("billing/queues").StatusCode == http.StatusOK })
}

var tags = regexp.MustCompile(`<[^>]*>`)

// A token that is brought to the root opens all places, also behind a prefix.
func TestATokenOpensAllPlaces(t *testing.T) {
	t.Parallel()
	const secret = "a token of tests only"
	authorize, err := TokenAuth(secret, RoleViewer)
	require.NoError(t, err)
	k := newKit(t, redistest.Embedded(t), func(o *Options) { o.Authorize = authorize })
	handler, err := Places(Place{"shop", k.inspector, k.options}, Place{"billing", k.inspector, k.options})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", handler))
	server := httptest.NewServer(mux)
	defer server.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := server.Client()
	client.Jar = jar
	for _, row := range []struct {
		path, ends string
		status     int
	}{
		{"/ops/billing/queues", "/ops/billing/queues", http.StatusUnauthorized},
		{"/ops/?token=a+token+of+tests+only", "/ops/shop/", http.StatusOK},
		{"/ops/billing/queues", "/ops/billing/queues", http.StatusOK},
		{"/ops", "/ops/shop/", http.StatusOK},
	} {
		got, err := client.Get(server.URL + row.path)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		assert.Equal(t, row.status, got.StatusCode, row.path)
		assert.Equal(t, row.ends, got.Request.URL.Path)
		assert.Empty(t, got.Request.URL.RawQuery)
	}
}

func TestPlacesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	for name, row := range map[string]struct {
		names []string
		says  string
	}{
		"none":      {nil, "needs one at least"},
		"twice":     {[]string{"a", "a"}, "two places"},
		"a slash":   {[]string{"a/b"}, "cannot be in an address"},
		"no name":   {[]string{""}, "cannot be in an address"},
		"dots only": {[]string{".."}, "cannot be in an address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []Place
			for _, name := range row.names {
				all = append(all, Place{name, k.inspector, k.options})
			}
			_, err := Places(all...)
			assert.ErrorContains(t, err, row.says)
		})
	}
}
