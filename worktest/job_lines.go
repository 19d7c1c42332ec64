package worktest

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/inspect"
)

// runLog is the slog.Handler of a pool that mirrors the logs of jobs. A job's mirror is derived from it with the
// attribute "job" first, which tells those lines from the pool's own.
type runLog struct {
	slog.Handler
	lines *jobLogs
}

func newRunLog(pool slog.Handler, lines *jobLogs) slog.Handler {
	return &runLog{Handler: pool, lines: lines}
}

func (l *runLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) > 0 && attrs[0].Key == "job" {
		return slog.NewJSONHandler(l.lines.of(attrs[0].Value.String()), nil).WithGroup("attrs")
	}
	return &runLog{Handler: l.Handler.WithAttrs(attrs), lines: l.lines}
}

func (l *runLog) WithGroup(name string) slog.Handler {
	return &runLog{Handler: l.Handler.WithGroup(name), lines: l.lines}
}

// Enabled is true for what the log of a job takes, although the pool's own lines are asked about here too.
func (l *runLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.Handler.Enabled(ctx, level)
}

// jobLogs are the lines of all jobs, by their id.
type jobLogs struct {
	mu   sync.Mutex
	byID map[string]*jobLines
}

// of are those of one job.
func (l *jobLogs) of(id string) *jobLines {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]*jobLines{}
	}
	if l.byID[id] == nil {
		l.byID[id] = &jobLines{}
	}
	return l.byID[id]
}

// jobLines are the lines of one job.
type jobLines struct {
	mu    sync.Mutex
	lines []inspect.LogLine
}

// Write takes one line of JSON.
func (l *jobLines) Write(encoded []byte) (int, error) {
	var line struct {
		Time    time.Time       `json:"time"`
		Level   slog.Level      `json:"level"`
		Message string          `json:"msg"`
		Attrs   json.RawMessage `json:"attrs"`
	}
	if err := json.Unmarshal(encoded, &line); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, inspect.LogLine{
		Number: int64(len(l.lines) + 1), Time: line.Time, Level: line.Level, Message: line.Message, Attempt: 1,
		Attrs: line.Attrs,
	})
	return len(encoded), nil
}

func (l *jobLines) all() []inspect.LogLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}
