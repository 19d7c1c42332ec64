package webui

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// words are those of a line of a shell, with what quotes hold together.
var words = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

// requestOf is the request that a line with curl sends.
func requestOf(t *testing.T, line string) *http.Request {
	t.Helper()
	method, target, body, header := http.MethodGet, "", "", http.Header{}
	parts := words.FindAllString(line, -1)
	for i := 1; i < len(parts); i++ {
		switch part := strings.Trim(parts[i], `'"`); part {
		case "-X":
			i++
			method = parts[i]
		case "-d":
			i++
			method, body = http.MethodPost, strings.Trim(parts[i], "'")
		case "-H":
			i++
			key, value, found := strings.Cut(strings.Trim(parts[i], "'"), ": ")
			require.True(t, found, line)
			header.Set(key, value)
		default:
			require.True(t, strings.HasPrefix(part, "$WORK/"), "%q of %s is not known to this test", part, line)
			target = strings.TrimPrefix(part, "$WORK")
		}
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header = header
	r.Header.Set("Role", "operator")
	return r
}

func TestTheCallsOfTheBookDoWhatTheySay(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "curl ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	require.GreaterOrEqual(t, len(lines), 10)
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		for _, name := range []string{"mail", "report"} { // which were there once
			k.enqueue("first "+name, name)
			require.NoError(t, k.inspector.Delete(k.ctx(), "first "+name))
		}
		for _, line := range lines {
			got := k.do(requestOf(t, line))
			assert.Less(t, got.StatusCode, 300, "%s answered %s", line, got.Text)
		}
		assert.Equal(t, work.StateCancelled, k.state("mail-7"))
		counts, err := k.inspector.Counts(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 2, counts.Queued, "a report, and the mail that is done again")
		assert.Equal(t, 1, counts.Scheduled)
		names, _ := k.paused()
		assert.Empty(t, names)
		limits, err := k.inspector.Limits(k.ctx())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		assert.Equal(t, 5, limits[0].Limit.Concurrent)
		require.Len(t, k.schedules(), 1)
		assert.Equal(t, "Europe/Berlin", k.schedules()[0].Options.TZ)
	})
}

// The book says how requests that are sent twice are answered; what it says of enqueues has tests beside those.
func TestOtherActionsMayBeSentTwice(t *testing.T) {
	t.Parallel()
	all := effects()
	for path, e := range all {
		if path == "/schedule-run" || path == "/job-send" || path == "/job-retry" {
			continue
		}
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
			t.Parallel()
			k := newAPI(t, redistest.Embedded(t))
			if e.before != nil {
				e.before(k)
			}
			target := e.target
			if strings.Contains(target, "@worker") {
				target = "id=" + k.worker().ID
			}
			target = strings.TrimPrefix(path, "/") + "?" + target
			require.Equal(t, http.StatusOK, k.call(http.MethodPost, target, bodies[path]).StatusCode)
			k.mu.Lock()
			first := k.audited
			k.mu.Unlock()
			again := k.call(http.MethodPost, target, bodies[path])
			assert.Contains(t, []int{http.StatusOK, http.StatusNotFound, http.StatusConflict}, again.StatusCode,
				again.Text)
			k.mu.Lock()
			k.audited = first
			k.mu.Unlock()
			e.after(t, k)
		})
	}
}
