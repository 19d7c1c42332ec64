package webui

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/jobs"
)

// lines is a log that may be written to by several.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func TestEachAttemptIsLoggedToo(t *testing.T) {
	t.Parallel()
	log := &lines{}
	k := newKit(t, redistest.Embedded(t),
		func(o *Options) { o.Audit, o.Logger = nil, slog.New(slog.NewJSONHandler(log, nil)) })
	k.schedule(`a "job"`, "mail")
	k.post("job-stall?id=a+%22job%22")
	k.do(request(http.MethodPost, "/job-delete?id=a+%22job%22", "viewer", nil))
	k.post("job-stall?id=gone")
	var got []string
	for line := range strings.Lines(log.text.String()) {
		var entry struct {
			Level, Msg, Action, Actor, Outcome, Remote string
			Targets                                    []string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		assert.Equal(t, "dashboard action", entry.Msg)
		assert.Equal(t, "192.0.2.1:1234", entry.Remote)
		got = append(got, strings.Join([]string{entry.Level, entry.Action, entry.Actor, entry.Outcome,
			strings.Join(entry.Targets, ",")}, " "))
	}
	assert.Equal(t, []string{`INFO /job-stall ann done a "job"`, `WARN /job-delete ann refused `,
		`WARN /job-stall ann failed gone`}, got)
	assert.Equal(t, work.StateStalled, k.state(`a "job"`))
}

func TestAFormThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	got := k.post("jobs-act", "action", "delete", "id", strings.Repeat("x", maxBody))
	assert.Equal(t, http.StatusRequestEntityTooLarge, got.StatusCode)
	assertSecure(t, got)
	k.enqueue("a", "mail")
	ids := make([]string, 0, 2*jobs.MaxTicked+4)
	for range jobs.MaxTicked + 1 {
		ids = append(ids, "id", "a")
	}
	assert.Equal(t, http.StatusBadRequest, k.post("jobs-act", append(ids, "action", "delete")...).StatusCode)
	assert.Equal(t, work.StateQueued, k.state("a"))
}
