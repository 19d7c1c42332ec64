package joblog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/redisclock"
)

// newLogger returns a logger that writes lines of JSON: time, level, msg, attempt, and what the program adds in attrs,
// where it cannot be taken for the others.
func newLogger(log *Log, attempt int, clock *redisclock.Clock, mirror slog.Handler) *slog.Logger {
	plain := slog.NewJSONHandler(lineWriter{log}, nil).WithAttrs([]slog.Attr{slog.Int("attempt", attempt)})
	return slog.New(&handler{clock: clock, plain: plain, json: plain.WithGroup("attrs"), mirror: mirror})
}

// handler passes records of level Info and above on as lines, and all that it takes to the mirror.
type handler struct {
	clock  *redisclock.Clock
	plain  slog.Handler // without what the program has added
	json   slog.Handler
	mirror slog.Handler // nil without one
}

// Enabled tells whether the log or the mirror takes that level.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.mirror != nil && h.mirror.Enabled(ctx, level)
}

// Handle gives the line the time of Redis, as far as it is known.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	var mirrored error
	if h.mirror != nil && h.mirror.Enabled(ctx, record.Level) {
		mirrored = h.mirror.Handle(ctx, record.Clone())
	}
	if record.Level < slog.LevelInfo {
		return mirrored
	}
	record.Time, record.Message = h.clock.Now(), excerpt.Start(record.Message, MaxMessage)
	err := h.json.Handle(ctx, record)
	var long *LongLineError
	if errors.As(err, &long) {
		short := slog.NewRecord(record.Time, record.Level, record.Message, 0)
		short.AddAttrs(slog.Group("attrs", slog.Int("left_out", long.Bytes)))
		err = h.plain.Handle(ctx, short)
	}
	return excerpt.Join(mirrored, err)
}

// WithAttrs returns a handler that adds attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derived(func(of slog.Handler) slog.Handler { return of.WithAttrs(attrs) })
}

// WithGroup returns a handler that puts what is added from now on into a group.
func (h *handler) WithGroup(name string) slog.Handler {
	return h.derived(func(of slog.Handler) slog.Handler { return of.WithGroup(name) })
}

func (h *handler) derived(change func(slog.Handler) slog.Handler) slog.Handler {
	next := *h
	next.json = change(h.json)
	if h.mirror != nil {
		next.mirror = change(h.mirror)
	}
	return &next
}

// LongLineError says that a line has so many bytes.
type LongLineError struct{ Bytes int }

func (e *LongLineError) Error() string {
	return fmt.Sprintf("a line of %d bytes is too long for the log of a job: at most %d are kept", e.Bytes, MaxLine)
}

// lineWriter puts lines into a log.
type lineWriter struct{ log *Log }

// Write takes one whole line: that is how slog's handlers write.
func (w lineWriter) Write(line []byte) (int, error) {
	text := rawjson.UTF8(line) // of attributes that encode themselves: slog replaces what is broken in others
	if len(text) > MaxLine {
		return 0, &LongLineError{len(text)}
	}
	w.log.add(text[:len(text)-1]) // without its line feed
	return len(line), nil
}
