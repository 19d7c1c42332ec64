package worktest

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
)

// testLog writes lines to the log of a test, and drops those that come after its end: there they would be a panic.
type testLog struct {
	mu sync.Mutex
	t  testing.TB // nil once the test is over
}

func newTestLog(t testing.TB) *testLog { return &testLog{t: t} }

// handler leaves the time out: go test shows the lines of a test that failed, and there the order is enough.
func (l *testLog) handler() slog.Handler {
	return slog.NewTextHandler(l,
		&slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		}})
}

// Write takes one line.
func (l *testLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t != nil {
		l.t.Logf("%s", bytes.TrimSuffix(line, []byte("\n")))
	}
	return len(line), nil
}

func (l *testLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t = nil
}
