package browsertest

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/webui"
)

// visits are the pages of each route that are looked at, by the name of their pictures. The stream and the assets are
// asked for by the pages.
var visits = map[string]map[string]string{
	"/":       {"overview": ""},
	"/queues": {"queues": "", "queues-sorted": "sort=-waiting"},
	"/queue":  {"queue": "name=import", "queue-unserved": "name=archive"},
	"/jobs": {"jobs-queued": "state=queued&name=archive", "jobs-running": "state=running",
		"jobs-scheduled": "state=scheduled", "jobs-retrying": "state=retrying", "jobs-stalled": "state=stalled",
		"jobs-dead": "state=dead&newest=1", "jobs-search": "id=archive-a",
		"jobs-succeeded": "state=succeeded&name=mail", "jobs-over": "ended=1&name=mail",
		"jobs-expired": "state=expired", "jobs-none": "tag=nothing", "jobs-found": "text=a&state=queued",
		"jobs-all": "text=archive&all=1"},
	"/job": {"job-dead": "id=charge-7", "job-retrying": "id=import-b", "job-running": "id=crawl-1",
		"job-done": "id=mail-kept", "job-queued": "id=archive-c0", "job-scheduled": "id=newsletter",
		"job-of-flow": "id=order-7/pick", "job-member": "id=order-7/ship"},
	"/flows": {"flows": "", "flows-dead": "state=dead", "flows-none": "state=unsealed"},
	"/flow": {"flow": "id=order-7", "flow-dead": "id=order-6", "flow-large": "id=catalogue",
		"flow-batch": "id=newsletters", "flow-members": "id=order-7&state=left"},
	"/keys":       {"keyed": "", "keys": "name=report", "keys-none": "name=mail"},
	"/new-job":    {"new-job": "name=mail"},
	"/errors":     {"errors": "", "errors-of-one": "name=import"},
	"/workers":    {"workers": ""},
	"/schedules":  {"schedules": ""},
	"/history":    {"history": "", "history-of-one": "name=mail", "history-days": "span=quarter"},
	"/redis":      {"redis": ""},
	"/nodes":      {"nodes": ""},
	"/partitions": {"partitions": ""},
	"/alerts":     {"alerts": ""},
	"/audit":      {"audit": "", "audit-none": "actor=nobody"},
}

func TestEveryPageIsSoundInEveryLook(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	s.shop()
	s.flows()
	p := b.open(t, s)
	for _, route := range webui.Routes() {
		for name, query := range visits[route.Path] {
			t.Run(name, func(t *testing.T) {
				p.on(t).visit(route.Path + "?" + query)
				assert.EqualValues(t, http.StatusOK, p.status)
				assert.Empty(t, p.examine(name))
			})
		}
	}
	t.Run("args", func(t *testing.T) {
		p.on(t).visit("/args?id=archive-c0")
		assert.Equal(t, `[{"keep":"7 years","order":88002}]`, ask[string](p, `() => document.body.innerText`))
		assert.Empty(t, p.take())
	})
	assert.Empty(t, s.unvisited(http.MethodGet), "every page needs a visit")
}

func TestAFailureIsAPageToo(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	p := b.open(t, s)
	for name, target := range map[string]string{"failure-no-page": "/nothing", "failure-bad-query": "/jobs?state=" +
		url.QueryEscape(hostile), "failure-no-job": "/job?id=none"} {
		t.Run(name, func(t *testing.T) {
			p.on(t).visit(target)
			assert.GreaterOrEqual(t, p.status, int64(http.StatusBadRequest))
			problems := p.examine(name)
			require.Len(t, problems, 1, "the browser says of itself that it was no success: %v", problems)
			assert.Contains(t, problems[0], "the server responded with a status of")
		})
	}
}

// TestTheMenuAndItsKeysLeadThroughThePages goes by hand: by links, by keys, and by the forms that look for jobs.
func TestTheMenuAndItsKeysLeadThroughThePages(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	s.enqueue("a", "mail", "ann")
	p := b.open(t, s)
	p.as(look{1440, "light"})
	p.visit("/")
	for _, route := range webui.Routes() {
		if route.Menu == "" {
			continue
		}
		t.Run(route.Menu, func(t *testing.T) {
			p.on(t).press(`nav a[data-key="` + route.Key + `"]`)
			assert.Equal(t, prefix+route.Path, p.path())
			assert.Equal(t, route.Menu, ask[string](p, whereAmI))
			p.visit("/job?id=a")
			p.leads(chromedp.KeyEvent(route.Key))
			assert.Equal(t, prefix+route.Path, p.path())
			assert.Empty(t, p.take())
		})
	}
	t.Run("find a job", func(t *testing.T) {
		p.on(t).visit("/")
		p.run(chromedp.SendKeys(`.find input`, "a"))
		p.press(`.find button`)
		assert.Equal(t, prefix+"/jobs", p.path())
		assert.Equal(t, "job?id=a", ask[string](p, `() => document.querySelector("td.id a").getAttribute("href")`))
	})
	t.Run("search", func(t *testing.T) {
		p.on(t).visit("/jobs")
		p.run(chromedp.Click(`.search .more summary`), chromedp.SendKeys(`.search input[name=args]`, "ann"))
		p.press(`.search button`)
		assert.Contains(t, ask[string](p, `() => document.querySelector(".summary").innerText`), "1 found on this page")
	})
	t.Run("themes", func(t *testing.T) {
		p.on(t).visit("/")
		for _, want := range []string{"light", "dark", "auto"} {
			p.run(chromedp.Click(`#theme`))
			assert.Equal(t, want, ask[string](p, `() => document.documentElement.dataset.theme`))
		}
		assert.Empty(t, p.take())
	})
}

// whereAmI is what the menu says of the page, and the button that opens it.
const whereAmI = `() => {
	const here = [...document.querySelectorAll("#pages [aria-current=page]")].map((a) => a.innerText).join();
	const button = document.getElementById("menu").getAttribute("aria-label");
	return button === "Menu, " + here ? here : here + " and " + button;
}`

// TestTheMenuIsAButtonOnAPhone opens it there, without any script of the page, and leaves by it. On a desk it stands.
func TestTheMenuIsAButtonOnAPhone(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	p := b.open(t, s)
	seen := func() bool { return ask[bool](p, `() => document.getElementById("pages").checkVisibility()`) }
	p.as(look{375, "light"})
	p.visit("/queues")
	assert.False(t, seen())
	p.run(chromedp.Click(`#menu`))
	assert.True(t, seen())
	assert.Equal(t, []string{"All", "Work", "Watch", "Fleet"}, ask[[]string](p,
		`() => [...document.querySelectorAll("#pages [role=group]")].map((g) => g.getAttribute("aria-label"))`))
	for _, theme := range []string{"light", "dark"} {
		l := look{375, theme}
		p.as(l)
		assert.Empty(t, ask[[]string](p, audit, l.Width), theme)
		p.picture("menu-" + l.String())
	}
	p.run(chromedp.KeyEvent(kb.Escape))
	assert.False(t, seen())
	p.run(chromedp.Click(`#menu`))
	p.press(`#pages a[data-key="p"]`)
	assert.Equal(t, prefix+"/partitions", p.path())
	assert.False(t, seen())
	p.as(look{1440, "light"})
	assert.True(t, seen())
	assert.False(t, ask[bool](p, `() => document.getElementById("menu").checkVisibility()`))
	assert.Empty(t, p.take())
}

// TestAnOpenOverviewFollows sees a job come without any reload.
func TestAnOpenOverviewFollows(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	p := b.open(t, s)
	p.visit("/")
	s.enqueue("a", "mail", "ann")
	s.enqueue("b", "mail", "bob")
	queued := func() bool { return ask[string](p, `() => document.querySelector(".figures b").innerText`) == "2" }
	s.until("the figure follows", queued)
	p.visit("/queue?name=mail")
	s.enqueue("c", "mail", "cyd")
	s.until("a page that asks for itself follows",
		func() bool { return ask[string](p, `() => document.querySelector(".figures b").innerText`) == "3" })
	assert.Empty(t, p.take())
}
