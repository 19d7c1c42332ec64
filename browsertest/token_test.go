package browsertest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A token opens the dashboard once it was in an address, or typed, and stands in no address after that.
func TestATokenLetsABrowserIn(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	for name, enter := range map[string]func(*tab){
		"by the address": func(p *tab) { p.visit("/queues?token=" + token) },
		"typed": func(p *tab) {
			p.visit("/queues")
			assert.EqualValues(t, http.StatusUnauthorized, p.status)
			p.fill(`[name="token"]`, token)
			p.press("form button")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.openAs(t, s, "")
			p.on(t).visit("/jobs?state=dead")
			assert.EqualValues(t, http.StatusUnauthorized, p.status)
			enter(p)
			assert.EqualValues(t, http.StatusOK, p.status)
			assert.Empty(t, ask[string](p, `() => location.search`))
			assert.Empty(t, ask[string](p, `() => document.cookie`), "no script can read it")
			p.take()
			p.visit("/workers")
			assert.EqualValues(t, http.StatusOK, p.status)
			assert.Empty(t, p.take())
		})
	}
}
