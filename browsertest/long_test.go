package browsertest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

// held is a dashboard whose long actions wait in their first step: what was sent before it is all that a browser has.
type held struct {
	armed   atomic.Bool
	waiting chan struct{} // closed by the action that waits
	release chan struct{}
	left    chan struct{} // closed when its request has ended
}

func newHeld() *held {
	return &held{waiting: make(chan struct{}), release: make(chan struct{}), left: make(chan struct{})}
}

// harm wraps the dashboard.
func (h *held) harm(dashboard http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && h.armed.Swap(false) {
			w = &heldWriter{ResponseWriter: w, held: h}
			context.AfterFunc(r.Context(), func() { close(h.left) })
		}
		dashboard.ServeHTTP(w, r)
	})
}

// heldWriter holds its second part until the test releases it.
type heldWriter struct {
	http.ResponseWriter
	held  *held
	parts int
}

func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *heldWriter) Write(part []byte) (int, error) {
	if w.parts++; w.parts == 2 {
		close(w.held.waiting)
		<-w.held.release
	}
	return w.ResponseWriter.Write(part)
}

// inSight are the texts of a page that somebody sees, by the selectors of what has them.
const inSight = `(...selectors) => selectors.map((one) => [...document.querySelectorAll(one)]
	.filter((e) => e.checkVisibility()).map((e) => e.innerText.trim()).join("|"))`

// many stores so many jobs that an action on all of them takes several steps.
func many(s *site) {
	entries := make([]work.Entry, 3_000)
	for n := range entries {
		entries[n] = work.Entry{Name: "report", Args: []any{n}}
	}
	_, err := s.enq.EnqueueMany(s.ctx(), entries)
	require.NoError(s.t, err)
}

// audited reports whether somebody did something of that kind.
func audited(s *site, action string) bool {
	page, err := s.inspector.Audit(s.ctx(), inspect.AuditOptions{Action: action})
	return err == nil && len(page.Entries) == 1
}

func awaits(t *testing.T, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		require.Fail(t, "the action does not begin, or end")
	}
}

// TestALongActionIsSeenWhileItGoesOn looks at the page while the action waits, presses the button, and lets it go on.
func TestALongActionIsSeenWhileItGoesOn(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	list, queue := "/jobs?state=queued&name=report", "/queue?name=report"
	counted, back := "bulk?action=delete&name=report&state=queued", "&back="+url.QueryEscape("queue?name=report")
	for name, row := range map[string]struct {
		page, action, heading string
		before                func(*tab)
	}{
		"doctor":  {page: "/redis", action: "doctor?back=redis", heading: "The doctor"},
		"mending": {page: "/redis", action: "doctor?back=redis&mend=1", heading: "The doctor"},
		"dry run": {list, counted, "Delete", func(p *tab) { p.press(`.bulk a`) }},
		"bulk": {list, counted + "&sure=1", "Delete", func(p *tab) {
			p.press(`.bulk a`)
			p.submit(counted, "")
		}},
		"purge":   {page: queue, action: "queue-purge?name=report" + back, heading: "Purge of queue report"},
		"destroy": {page: queue, action: "queue-destroy?name=report" + back, heading: "Destruction of queue report"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeld()
			s := newSite(t, siteOptions{harm: h.harm})
			goOn := sync.OnceFunc(func() { close(h.release) })
			t.Cleanup(goOn)
			many(s)
			p := b.open(t, s)
			p.as(look{1440, "light"})
			p.visit(row.page)
			if row.before != nil {
				row.before(p)
			}
			require.True(t, ask[bool](p, markForm, row.action, ""), "no form leads to %s", row.action)
			if ask[bool](p, `() => document.querySelector("[data-lid]") !== null`) {
				p.run(chromedp.Click(`[data-lid]`))
			}
			h.armed.Store(true)
			p.run(chromedp.Click(`[data-button]`, chromedp.AtLeast(1)))
			awaits(t, h.waiting)
			s.until("the page shows that it has begun", func() bool {
				seen := ask[[]string](p, inSight, "h1", ".step", ".stop button")
				return strings.HasPrefix(seen[0], row.heading) && seen[1] == "It has begun." && seen[2] == "Stop"
			})
			p.picture("during-" + name)
			p.run(chromedp.Click(`.stop button`))
			s.until("the button has ended it", func() bool { return audited(s, "/stop") })
			goOn()
			s.until("the page shows the outcome", func() bool {
				seen := ask[[]string](p, inSight, ".outcome .notice", ".step", ".stop button")
				return strings.Contains(seen[0], "stopped") && seen[1]+seen[2] == ""
			})
			p.picture("stopped-" + name)
			page, err := s.inspector.Page(s.ctx(), inspect.PageOptions{State: work.StateQueued, Name: "report"})
			require.NoError(t, err)
			assert.NotEmpty(t, page.Jobs, "the rest is where it was")
			assert.Empty(t, p.take())
		})
	}
}

// TestAStopThatFindsNothingLeavesThePage: another server runs the action, and the end of the page is what it sees.
func TestAStopThatFindsNothingLeavesThePage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	h := newHeld()
	s := newSite(t, siteOptions{harm: h.harm})
	goOn := sync.OnceFunc(func() { close(h.release) })
	t.Cleanup(goOn)
	many(s)
	p := b.open(t, s)
	p.as(look{1440, "light"})
	p.visit("/queue?name=report")
	action := "queue-purge?name=report&back=" + url.QueryEscape("queue?name=report")
	require.True(t, ask[bool](p, markForm, action, ""))
	if ask[bool](p, `() => document.querySelector("[data-lid]") !== null`) {
		p.run(chromedp.Click(`[data-lid]`))
	}
	h.armed.Store(true)
	p.run(chromedp.Click(`[data-button]`, chromedp.AtLeast(1)))
	awaits(t, h.waiting)
	s.until("the button is there", func() bool { return ask[[]string](p, inSight, ".stop button")[0] == "Stop" })
	ask[bool](p, `() => { document.querySelector(".stop").action = "stop?run=ELSEWHERE"; return true }`)
	p.run(chromedp.Click(`.stop button`))
	s.until("the page says so", func() bool {
		return ask[[]string](p, inSight, ".stop button")[0] == "Stopped: see the audit"
	})
	awaits(t, h.left)
	goOn()
	s.until("the action has ended", func() bool {
		page, err := s.inspector.Audit(s.ctx(), inspect.AuditOptions{Action: "/queue-purge"})
		return err == nil && len(page.Entries) == 2
	})
	page, err := s.inspector.Page(s.ctx(), inspect.PageOptions{State: work.StateQueued, Name: "report"})
	require.NoError(t, err)
	assert.NotEmpty(t, page.Jobs, "the rest is where it was")
	p.take()
}
