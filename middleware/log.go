package middleware

import (
	"context"
	"log/slog"
	"time"

	"github.com/265d0351/work"
)

// Log writes a line for each attempt that returns: at Info what ended well or was put off, at Warn what failed and is
// retried, at Error what failed for good. nil is slog.Default(). A panic or a runtime.Goexit passes by, unless
// [ReportErrors] stands inside; the pool's own log tells of both.
func Log(logger *slog.Logger) Func {
	return func(ctx context.Context, job *work.Job, next work.NextFunc) error {
		begun := time.Now()
		err := next(ctx)
		ending, failed := job.Ending(err)
		attributes := append(about(job), slog.Duration("elapsed", time.Since(begun)),
			slog.String("ending", string(ending)))
		if err != nil {
			attributes = append(attributes, slog.Any("error", err))
		}
		level, message := slog.LevelInfo, "work: a job ended"
		switch {
		case failed && ending == work.EndingRetry:
			level, message = slog.LevelWarn, "work: a job failed"
		case failed:
			level, message = slog.LevelError, "work: a job failed for good"
		}
		orDefault(logger).Log(ctx, level, message, attributes...)
		return err
	}
}

// about is what names an attempt.
func about(job *work.Job) []any {
	attrs := []any{slog.String("job", job.Name), slog.String("id", job.ID), slog.Int("attempt", job.Attempt)}
	if together := job.Together(); together != nil {
		attrs = append(attrs, slog.Int("together", len(together)))
	}
	return attrs
}

func orDefault(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.Default()
	}
	return logger
}
