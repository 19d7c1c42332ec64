package work

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
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
// job without a log has none; one that is not there gives an error that is [ErrNotFound].
func (i *Inspector) Log(ctx context.Context, id string, lines int) ([]LogLine, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	if lines <= 0 || lines > rdb.MaxLogLines {
		lines = rdb.MaxLogLines
	}
	entries, known, err := i.store.LogTail(ctx, id, lines)
	if err == nil && !known && len(entries) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("the log of job %s was not read: %w", quoted(id), err)
	}
	log := make([]LogLine, len(entries))
	for n, entry := range entries {
		log[n] = decodeLogLine(entry)
	}
	return log, nil
}

func decodeLogLine(entry rdb.LogEntry) LogLine {
	var line struct {
		Time    time.Time       `json:"time"`
		Level   slog.Level      `json:"level"`
		Message string          `json:"msg"`
		Attempt int             `json:"attempt"`
		Attrs   json.RawMessage `json:"attrs"`
	}
	if err := json.Unmarshal(entry.Line, &line); err != nil {
		return LogLine{Number: entry.Number, Message: strings.ToValidUTF8(string(bytes.TrimSpace(entry.Line)),
			"\uFFFD")}
	}
	return LogLine{Number: entry.Number, Time: line.Time, Level: line.Level, Message: line.Message,
		Attempt: line.Attempt, Attrs: line.Attrs}
}

// FollowLog returns the log of a job, from the oldest line that is kept, and goes on with what is written while the
// loop runs. It ends when the job has ended or was deleted, when ctx ends, or with an error, which is the last it
// yields: [ErrNotFound] when there is no such job. Of a job in the morgue it goes on, since that may be tried again.
// Each line comes once and in order; where the loop is slower than the job, or the connection was lost, lines may be
// missing, as their numbers show.
//
// It has a connection of its own while it runs.
func (i *Inspector) FollowLog(ctx context.Context, id string) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		if i.unusable != nil {
			yield(LogLine{}, i.unusable)
			return
		}
		f := &logFollower{store: i.store, id: id, yield: yield, look: make(chan struct{}, 1),
			live: make(chan []rdb.LogEntry, 256)}
		listening, cancel := context.WithCancel(ctx)
		var listener sync.WaitGroup
		listener.Go(func() { f.listen(listening) })
		defer listener.Wait()
		defer cancel()
		if err := f.follow(ctx); err != nil && ctx.Err() == nil {
			yield(LogLine{}, fmt.Errorf("the log of job %s was not read on: %w", quoted(id), err))
		}
	}
}

// logFollower is one FollowLog under way.
type logFollower struct {
	store *rdb.Store
	id    string
	yield func(LogLine, error) bool
	shown int64 // the number of the last line
	look  chan struct{}
	live  chan []rdb.LogEntry
}

const (
	followInterval = time.Second // for a job that says nothing
	lastWords      = time.Second // what was published may be on its way for so long
)

// errEnough: the loop does not want more.
var errEnough = errors.New("no more lines are wanted")

// listen passes on what is published, and asks for a look when something may have been missed.
func (f *logFollower) listen(ctx context.Context) {
	for lap := 1; ; lap++ {
		_ = f.store.FollowLog(ctx, f.id, func() { lap = 1; ring(f.look) }, func(entries []rdb.LogEntry) {
			select {
			case f.live <- entries:
			default:
				ring(f.look)
			}
		}) // why it ended is no matter: looking finds the same lines, or tells what is wrong
		if !backoff.Pause(ctx, backoff.For(lap)) {
			return
		}
	}
}

func (f *logFollower) follow(ctx context.Context) error {
	known, err := f.showAll(ctx)
	if err == nil && !known && f.shown == 0 {
		err = ErrNotFound
	}
	ticks := time.NewTicker(followInterval)
	defer ticks.Stop()
	for known && err == nil {
		select {
		case <-ctx.Done():
			return nil
		case entries := <-f.live:
			err = f.showLive(ctx, entries)
		case <-f.look:
			known, err = f.showAll(ctx)
		case <-ticks.C:
			known, err = f.showAll(ctx)
		}
	}
	if err == nil {
		err = f.showLast(ctx)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// showAll shows what the log has more, and tells whether the job is still there.
func (f *logFollower) showAll(ctx context.Context) (known bool, err error) {
	for lines := rdb.MaxLogBatch; ; lines = rdb.MaxLogLines {
		entries, known, err := f.store.LogTail(ctx, f.id, lines)
		if err != nil {
			return known, err
		}
		if len(entries) < lines-1 || lines == rdb.MaxLogLines || entries[0].Number <= f.shown+1 {
			return known, f.show(entries)
		}
	}
}

// showLive shows what was published, after what was missed before it.
func (f *logFollower) showLive(ctx context.Context, entries []rdb.LogEntry) error {
	if entries[0].Number > f.shown+1 {
		if _, err := f.showAll(ctx); err != nil {
			return err
		}
	}
	return f.show(entries)
}

// showLast shows what was published before the job ended: the log is gone with it.
func (f *logFollower) showLast(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case entries := <-f.live:
			if err := f.show(entries); err != nil {
				return err
			}
		case <-time.After(lastWords):
			return nil
		}
	}
}

func (f *logFollower) show(entries []rdb.LogEntry) error {
	for _, entry := range entries {
		if entry.Number <= f.shown {
			continue
		}
		f.shown = entry.Number
		if !f.yield(decodeLogLine(entry), nil) {
			return errEnough
		}
	}
	return nil
}
