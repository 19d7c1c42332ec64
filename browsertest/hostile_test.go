package browsertest

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/visible"
)

// hostile is a name that means something to HTML.
const hostile = `<script>document.intruded = true</script>`

// hostiles are ids and names that mean something to HTML, to addresses or to paths.
var hostiles = []string{hostile, `"><img src=x onerror=document.intruded=1>`, `'"` + "`${x}", `../../etc/passwd`, `..`,
	`/`, `a/b`, `%00`, `\x00`, `%2F..%2f`, `a&b=c;d#e`, `a+b c`, "javascript:alert(1)", "日本語 🙂", "\u202egro"}

// TestWhateverItIsCalledItIsShownAndCanBeActedOn goes by hand from the list to the job, acts on it there and among
// others, and on its queue, with args of 100 kB.
func TestWhateverItIsCalledItIsShownAndCanBeActedOn(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	for _, name := range hostiles {
		t.Run(url.PathEscape(name), func(t *testing.T) {
			s := newSite(t, siteOptions{})
			s.enqueue(name, name, name, strings.Repeat(`<b>"&`, 20_000))
			p := b.open(t, s)
			p.visit("/queues")
			p.press(`td.name a`)
			heading := func() string { return ask[string](p, `() => document.querySelector("h1").textContent`) }
			require.Equal(t, "Queue "+visible.Text(name), heading())
			require.NoError(t, s.inspector.ResumeAll(s.ctx()))
			p.press(`td.id a`)
			require.Equal(t, "Job "+visible.Text(name), heading())
			assert.Empty(t, p.examine("hostile"))
			query := url.Values{"id": {name}}.Encode()
			p.submit("job-stall?"+query, "Put aside")
			require.Equal(t, work.StateStalled, s.state(name))
			assert.Contains(t, ask[string](p, `() => document.querySelector("[role=status]").textContent`),
				"was put aside")
			p.visit("/jobs?state=stalled")
			p.run(chromedp.Click(`td.tick input`))
			p.submit("jobs-act?back="+url.QueryEscape("jobs?state=stalled"), "resume")
			require.Equal(t, work.StateQueued, s.state(name))
			p.visit("/queue?" + url.Values{"name": {name}}.Encode())
			p.submit("queue-pause?"+url.Values{"name": {name},
				"back": {"queue?" + url.Values{"name": {name}}.Encode()}}.Encode(), "Pause")
			names, _, err := s.inspector.Paused(s.ctx())
			require.NoError(t, err)
			assert.Equal(t, []string{name}, names)
			assert.Empty(t, p.take())
			assert.False(t, ask[bool](p, `() => document.intruded === true`))
		})
	}
}
