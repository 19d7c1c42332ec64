package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

// heap enqueues so many jobs, of which each hundredth has the tag "rare".
func (s *site) heap(many int) {
	s.t.Helper()
	entries := make([]work.Entry, many)
	for n := range entries {
		entries[n] = work.Entry{Name: "archive", Args: []any{n}}
		if n%100 == 99 {
			entries[n].Options = []work.EnqueueOption{work.Tags("rare")}
		}
	}
	_, err := s.enq.EnqueueMany(s.ctx(), entries)
	require.NoError(s.t, err)
}

const (
	rowsFound = `() => document.querySelectorAll("#rows tbody tr").length`
	howFar    = `() => document.getElementById("found").innerText + ", " + document.getElementById("how-far").innerText`
)

func TestASearchGoesOnByItself(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	s.heap(5_000)
	p := b.open(t, s)
	p.visit("/jobs?state=queued&tag=rare")
	s.until("all are found", func() bool { return ask[int](p, rowsFound) == 50 })
	s.until("it says so", func() bool {
		return ask[string](p, howFar) == "50 found, all 5,000 records were looked through"
	})
	assert.Equal(t, "50 found, all 5,000 records were looked through",
		ask[string](p, `() => document.querySelector("#finding [role=status]").innerText`), "and to those who hear it")
	assert.Equal(t, float64(100), ask[float64](p, `() => document.querySelector("#finding progress").value`))
	assert.Empty(t, p.examine("search-over"))
	link := ask[string](p, `() => document.querySelector("#finding a").getAttribute("href")`)
	p.visit("/" + link)
	s.until("the link brings the same", func() bool { return ask[int](p, rowsFound) == 50 })

	p.visit("/jobs?state=queued&older=1ns")
	s.until("a page is full", func() bool { return ask[int](p, rowsFound) == 500 })
	p.press(`[rel=next]`)
	s.until("the next one goes on", func() bool { return ask[int](p, rowsFound) == 500 })
	assert.Empty(t, p.take())
}

// pausing answers as a search does that has found something and goes on, until its browser leaves.
type pausing struct {
	http.Handler
	asked, left chan string
}

func (h *pausing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/finding" {
		h.Handler.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "id: at-7\nevent: found\ndata: "+
		`{"rows": "", "percent": 7, "text": "looked through 7 of about 100 records, ETA 10 s", "next": ""}`+"\n\n")
	_ = http.NewResponseController(w).Flush() // else the browser waits, and the test with it
	h.asked <- r.URL.Query().Get("cursor")
	<-r.Context().Done()
	h.left <- r.URL.Query().Get("cursor")
}

func TestASearchCanBeStopped(t *testing.T) {
	t.Parallel()
	h := &pausing{asked: make(chan string, 9), left: make(chan string, 9)}
	b, s := newBrowser(t), newSite(t, siteOptions{harm: func(of http.Handler) http.Handler {
		h.Handler = of
		return h
	}})
	s.heap(2_500)
	p := b.open(t, s)
	p.visit("/jobs?state=queued&tag=rare")
	assert.Empty(t, <-h.asked)
	s.until("it has begun", func() bool { return strings.Contains(ask[string](p, howFar), "7 of about 100") })
	assert.Empty(t, p.examine("search-goes-on"))
	p.run(chromedp.Click(`#finding-stop`))
	assert.Empty(t, <-h.left, "nothing goes on for nobody")
	assert.Contains(t, ask[string](p, howFar), "looked through 7 of about 100 records, stopped")
	p.run(chromedp.Click(`#finding-stop`))
	assert.Equal(t, "at-7", <-h.asked, "it goes on where it was")
	assert.Equal(t, "Stop", ask[string](p, `() => document.getElementById("finding-stop").innerText`))
	p.visit("/queues")
	assert.Equal(t, "at-7", <-h.left, "who leaves the page stops it")
	assert.Empty(t, p.take())
}

func TestTheBulkBarStaysInSight(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	s.heap(60)
	p := b.open(t, s)
	for _, l := range looks {
		p.as(l)
		p.visit("/jobs?state=queued&name=archive")
		assert.True(t, ask[bool](p, `() => document.querySelector("#ticked button").disabled`), "none is ticked")
		box := `[data-tick-all]`
		if l.Width < 600 {
			box = `#tick-all input`
		}
		p.run(chromedp.Click(box))
		assert.Equal(t, "50 ticked", ask[string](p, `() => document.getElementById("ticked-count").innerText`))
		p.run(chromedp.Click(`tbody tr:nth-child(2) td.tick input`))
		assert.Equal(t, "49 ticked", ask[string](p, `() => document.getElementById("ticked-count").innerText`))
		assert.True(t, ask[bool](p, `(box) => document.querySelector(box).indeterminate`, box))
		assert.Equal(t, []float64{0, 1}, ask[[]float64](p, `() => {
			scrollTo(0, document.body.scrollHeight);
			const bar = document.querySelector(".bulk").getBoundingClientRect();
			return [Math.round(bar.top), document.elementFromPoint(bar.left + 12, bar.top + 12).closest(".bulk") ? 1 : 0];
		}`), "it is at the top, and above the rows: %s", l)
	}
	assert.Empty(t, p.take())
}

func TestNamesAreChosenFromAList(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	s.enqueue("a", "mail")
	s.enqueue("b", "mailing")
	s.enqueue("c", "report")
	p := b.open(t, s)
	p.visit("/jobs")
	p.run(chromedp.SendKeys(`.search input[name=name]`, "mai"))
	s.until("those that fit are offered", func() bool {
		return ask[string](p, `() => [...document.getElementById("names").options].map((o) => o.value).join()`) ==
			"mail,mailing"
	})
	assert.Empty(t, p.take())
}
