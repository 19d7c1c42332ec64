package webui

import (
	"net/http"
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

// heldAnswer holds an action at its second part until the test lets it go on.
type heldAnswer struct {
	*httptest.ResponseRecorder
	first         chan string // what was flushed until then
	release       chan struct{}
	parts, passed int
}

func (h *heldAnswer) Write(part []byte) (int, error) {
	if h.parts++; h.parts == 2 {
		h.first <- h.Body.String()[:h.passed]
		<-h.release
	}
	return h.ResponseRecorder.Write(part)
}

func (h *heldAnswer) Flush() { h.passed = h.Body.Len() }

// paintable is how much of a page browsers wait for before they show any of it.
const paintable = 1024

var stopForm = regexp.MustCompile(`<form method="post" class="stop" action="([^"]*)"><button>Stop</button>`)

// TestALongActionBeginsWithItsPage: what is sent before the first step is seen, and its button ends the action.
func TestALongActionBeginsWithItsPage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]struct{ target, heading string }{
			"bulk":    {"bulk?state=queued&name=mail&action=delete&sure=1", "Delete: "},
			"count":   {"bulk?state=queued&name=mail&action=delete", "Delete: "},
			"purge":   {"queue-purge?name=mail", "Purge of queue mail"},
			"destroy": {"queue-destroy?name=mail", "Destruction of queue mail"},
			"doctor":  {"doctor", "The doctor"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				_, err := k.enq.EnqueueMany(k.ctx(), mails())
				require.NoError(t, err)
				h := &heldAnswer{ResponseRecorder: httptest.NewRecorder(), first: make(chan string, 1),
					release: make(chan struct{})}
				over := make(chan struct{})
				go func() {
					defer close(over)
					k.handler.ServeHTTP(h, request(http.MethodPost, "/"+row.target, "operator", nil))
				}()
				first := <-h.first
				assert.Contains(t, first, "<h1>"+row.heading)
				assert.Contains(t, first, `<p class="step">`)
				assert.Greater(t, len(first), paintable)
				stop := stopForm.FindStringSubmatch(first)
				require.NotNil(t, stop)
				got := k.post(stop[1])
				assert.Equal(t, http.StatusSeeOther, got.StatusCode)
				assert.Equal(t, http.StatusNotFound, k.post(stop[1]).StatusCode, "it runs no more")
				close(h.release)
				<-over
				assert.Contains(t, h.Body.String(), "it was stopped before its end")
				assert.True(t, strings.HasSuffix(strings.TrimSpace(h.Body.String()), "</html>"))
				page, err := k.inspector.Page(k.ctx(), inspect.PageOptions{State: work.StateQueued, Name: "mail"})
				require.NoError(t, err)
				assert.NotEmpty(t, page.Jobs, "the rest is where it was")
				last := k.entries()
				assert.Equal(t, OutcomeFailed, last[len(last)-1].Outcome)
				assert.Contains(t, last[len(last)-1].Detail, "it was stopped before its end")
			})
		}
	})
}

func mails() []work.Entry {
	entries := make([]work.Entry, 1500)
	for n := range entries {
		entries[n] = work.Entry{Name: "mail", Args: []any{n}}
	}
	return entries
}
