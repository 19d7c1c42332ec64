package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

func TestListsAreGoneThroughByKeys(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	for _, id := range []string{"a", "b", "c"} {
		s.enqueue(id, "mail")
	}
	p := b.open(t, s)
	p.visit("/jobs?state=queued&name=mail")
	at := `() => document.activeElement.innerText`
	for _, step := range []struct{ key, want string }{{"j", "a"}, {"j", "b"}, {"k", "a"}, {"j", "b"}, {"j", "c"}} {
		p.run(chromedp.KeyEvent(step.key))
		assert.Equal(t, step.want, ask[string](p, at))
	}
	p.run(chromedp.KeyEvent("k"), chromedp.KeyEvent("x"))
	assert.Equal(t, []string{"b"},
		ask[[]string](p, `() => [...document.querySelectorAll("td.tick input:checked")].map((box) => box.value)`))
	p.run(chromedp.KeyEvent("j"))
	p.leads(chromedp.KeyEvent(kb.Enter))
	assert.Equal(t, prefix+"/job", p.path())
	assert.Contains(t, ask[string](p, `() => location.search`), "id=c")

	p.visit("/queues")
	p.run(chromedp.KeyEvent("j"))
	assert.Equal(t, "mail", ask[string](p, at))
	p.run(chromedp.Click(`#keys summary`), chromedp.Click(`#keys-on`), chromedp.Click(`h1`), chromedp.KeyEvent("j"))
	assert.NotEqual(t, "mail", ask[string](p, at), "nobody has to have keys")
	assert.Empty(t, p.take())
}

func TestThePaletteLeadsAnywhere(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	s.enqueue("a", "mail")
	s.enqueue("b", "report")
	p := b.open(t, s)
	options := `() => [...document.querySelectorAll("#palette [role=option]")].map((o) => o.innerText).join("|")`
	offers := func(typed, want string) {
		t.Helper()
		p.run(chromedp.KeyEvent("/"), chromedp.SendKeys(`#palette input`, typed))
		s.until("it offers "+want, func() bool { return strings.Contains(ask[string](p, options), want) })
	}
	p.visit("/queues")
	offers("sched", "Schedules")
	p.leads(chromedp.KeyEvent(kb.Enter))
	assert.Equal(t, prefix+"/schedules", p.path())

	offers("repo", "Queue report|Jobs report|Errors of report|Job repo|Search for repo")
	assert.Empty(t, p.examine("palette"))
	p.run(chromedp.KeyEvent(kb.ArrowDown))
	assert.Equal(t, "Jobs report", ask[string](p,
		`() => document.getElementById(document.querySelector("#palette input").getAttribute("aria-activedescendant")).innerText`))
	p.leads(chromedp.KeyEvent(kb.Enter))
	assert.Equal(t, prefix+"/jobs", p.path())
	assert.Equal(t, "?name=report", ask[string](p, `() => location.search`))

	p.run(chromedp.KeyEvent("/"), chromedp.KeyEvent(kb.Escape))
	assert.False(t, ask[bool](p, `() => document.getElementById("palette").open`))
	offers("a", "Job a")
	p.leads(chromedp.Click(`#palette li:nth-last-child(2)`))
	assert.Equal(t, prefix+"/job", p.path())
	assert.Empty(t, p.take())
}
