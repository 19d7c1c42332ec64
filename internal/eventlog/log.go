// Package eventlog writes the events of a pool to its log, one line each, and bounds their texts for all who write
// events down. The pool's stream of events calls it before any observer; it knows nothing of pools and jobs but what
// events say. It never fails: a log that panics has told its last.
package eventlog

import (
	"context"
	"log/slog"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
)

// Log writes events to a slog.Logger. It may be used by any number of goroutines.
type Log struct {
	logger  *slog.Logger
	stackOf func(error) string
}

// New makes a Log. stackOf is the stack of the panic that an attempt ended with, empty for other errors.
func New(logger *slog.Logger, stackOf func(error) string) *Log {
	return &Log{logger: logger, stackOf: stackOf}
}

// Debug tells whether what runs well is logged.
func (l *Log) Debug() bool { return l.logger.Enabled(context.Background(), slog.LevelDebug) }

// Event logs an event: what ran well at Debug, what an operator should know at Info, what somebody should look into at
// Warn or Error.
func (l *Log) Event(e event.Event) {
	level, message, attrs := l.describe(e)
	if l.logger.Enabled(context.Background(), level) {
		l.Line(level, message, attrs())
	}
}

// Line logs anything else, with texts of bounded length. A slog.Handler is code of the program: where it panics nobody
// is left to be told.
func (l *Log) Line(level slog.Level, message string, attrs []slog.Attr) {
	defer func() { _ = recover() }()
	for i, attr := range attrs {
		if attr.Value.Kind() == slog.KindString {
			most := excerpt.Whole
			if attr.Key == "stack" {
				most = excerpt.Stack
			}
			attrs[i].Value = slog.StringValue(excerpt.Text(attr.Value.String(), most))
		}
	}
	l.logger.LogAttrs(context.Background(), level, "work: "+message, attrs...)
}
