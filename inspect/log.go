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
	_, log, err := i.log(ctx, id, lines)
	return log, err
}

// log also says in which partition it is.
func (i *Inspector) log(ctx context.Context, id string, lines int) (*view, []LogLine, error) {
	return seek(ctx, i, id, seeking[[]LogLine]{question: func(v *view, ctx context.Context) ([]LogLine, error) {
		return v.log(ctx, id, lines)
	}})
}

func (v *view) log(ctx context.Context, id string, lines int) ([]LogLine, error) {
	if lines <= 0 || lines > rdb.MaxLogLines {
		lines = rdb.MaxLogLines
	}
	entries, known, err := v.store.LogTail(ctx, id, lines)
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
// yields: [work.ErrNotFound] when there is no such job, and a [*PartialError] when the job has left the partition where
// it was and one that may have it cannot be asked. Of a job in the morgue it goes on, since that may be tried
// again. Each line comes once and in order; where the loop is slower than the job, or the connection was lost, lines
// may be missing, as their numbers show.
//
// It has a connection of its own while it runs. A job that is moved to another partition is followed there.
func (i *Inspector) FollowLog(ctx context.Context, id string) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		f := following{Inspector: i, id: id, yield: yield}
		err := i.unusable
		if err == nil {
			err = f.run(ctx)
		}
		if err != nil && ctx.Err() == nil {
			yield(LogLine{}, err)
		}
	}
}

// following is one FollowLog under way.
type following struct {
	*Inspector
	id    string
	yield func(LogLine, error) bool
	shown int64 // the number of the last line
	over  bool  // nobody wants more
}

// run follows the log where the job is, and goes on where it is found when it has left there. Once it was found it is
// no error that nobody has it any more: it has ended. Where somebody cannot be asked it may be there, unless its end
// is known.
func (f *following) run(ctx context.Context) error {
	last, found := -1, false
	if of := f.everywhere(ctx); of.single() {
		err := f.at(ctx, of.views[0])
		if of = f.everywhere(ctx); err != nil || f.over || of.single() {
			return err
		}
		last, found = 0, true
	}
	for ctx.Err() == nil {
		v, _, err := f.log(ctx, f.id, 1)
		switch {
		case err != nil && found && (errors.Is(err, work.ErrNotFound) || f.ended(ctx, last)):
			return nil
		case err != nil:
			return err
		case v.partition == last:
			return nil
		}
		found = true
		err = f.at(ctx, v)
		if errors.Is(err, work.ErrNotFound) { // it has left since
			continue
		}
		if err != nil || f.over {
			return err
		}
		last = v.partition
	}
	return nil
}

// ended tells whether it is known where the job was that it has ended there.
func (f *following) ended(ctx context.Context, partition int) bool {
	if partition < 0 {
		return false
	}
	seen, err := f.view(partition).find(ctx, f.id)
	return err == nil && seen.over
}

// at follows it in one partition.
func (f *following) at(ctx context.Context, v *view) error {
	err := joblog.Follow(ctx, v.store, f.id, func(number int64, line joblog.Line) bool {
		if number > f.shown {
			f.shown, f.over = number, !f.yield(logLine(number, line), nil)
		}
		return !f.over
	})
	if errors.Is(err, joblog.ErrNoJob) {
		err = work.ErrNotFound
	}
	if err != nil {
		err = fmt.Errorf("the log of job %s was not read on: %w", excerpt.Brief(f.id), err)
	}
	return err
}
