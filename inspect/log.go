package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/rdb"
)

// LogLine is one line of the log of a job.
type LogLine struct {
	Number  int64           // the first of a job is 1; numbers that are missing are of lines that the log has let go of
	Time    time.Time       // by Redis' clock, as the worker knew it
	Level   slog.Level      // Info or above
	Message string          // of a line that is not from Job.Logger, all of it
	Attempt int             // 0 of a line that tells of dropped ones
	Attrs   json.RawMessage // an object; nil without any
}

// Log returns up to so many of the newest lines of the log of a job, oldest first; all that are kept when lines is 0. A
// job without a log has none; one that is not there gives an error that is [work.ErrNotFound].
func (i *Inspector) Log(ctx context.Context, id string, lines int) ([]LogLine, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	if lines <= 0 || lines > rdb.MaxLogLines {
		lines = rdb.MaxLogLines
	}
	entries, known, err := i.store.LogTail(ctx, id, lines)
	if err == nil && !known && len(entries) == 0 {
		err = work.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("the log of job %s was not read: %w", excerpt.Brief(id), err)
	}
	log := make([]LogLine, len(entries))
	for n, entry := range entries {
		log[n] = logLine(entry.Number, joblog.Decode(entry.Line))
	}
	return log, nil
}

func logLine(number int64, line joblog.Line) LogLine {
	return LogLine{Number: number, Time: line.Time, Level: line.Level, Message: line.Message, Attempt: line.Attempt,
		Attrs: line.Attrs}
}

// FollowLog returns the log of a job, from the oldest line that is kept, and goes on with what is written while the
// loop runs. It ends when the job has ended or was deleted, when ctx ends, or with an error, which is the last it
// yields: [work.ErrNotFound] when there is no such job. Of a job in the morgue it goes on, since that may be tried
// again. Each line comes once and in order; where the loop is slower than the job, or the connection was lost, lines
// may be missing, as their numbers show.
//
// It has a connection of its own while it runs.
func (i *Inspector) FollowLog(ctx context.Context, id string) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		if i.unusable != nil {
			yield(LogLine{}, i.unusable)
			return
		}
		err := joblog.Follow(ctx, i.store, id, func(number int64, line joblog.Line) bool {
			return yield(logLine(number, line), nil)
		})
		if errors.Is(err, joblog.ErrNoJob) {
			err = work.ErrNotFound
		}
		if err != nil && ctx.Err() == nil {
			yield(LogLine{}, fmt.Errorf("the log of job %s was not read on: %w", excerpt.Brief(id), err))
		}
	}
}
