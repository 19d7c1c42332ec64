package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// The bounds of a job's log on its way to Redis.
const (
	maxLineBytes    = 4 << 10 // JSON of a line
	maxMessageBytes = 1 << 10 // its message
	logInterval     = 200 * time.Millisecond
	logLot          = 64 // lines that are not kept waiting

	// Half of what the log holds, so that the line which tells of those that were dropped stays in it for a while.
	maxHeldLines = rdb.MaxLogLines / 2
	maxHeldBytes = rdb.MaxLogBytes / 2
)

// Logger returns a logger that writes to the job's own log in Redis, which holds the last 1,000 lines or 256 KiB of all
// attempts and is read by [Inspector.Log] and [Inspector.FollowLog], also while the job runs. It takes levels from Info
// on, messages of at most 1 KiB and lines of at most 4 KiB: of a longer one the attributes are left out, and it says
// so. With [WorkerOptions.MirrorJobLogs] what is logged goes to the pool's Logger as well.
//
// Logging costs no round trip: lines are sent together, five times a second, and the rest before the attempt's outcome.
// While Redis takes none they are held, at most 500 or 128 KiB of them; then the oldest are dropped, and the log says
// how many. What is logged after the handler returned is dropped. The log goes away with the job; it is kept in the
// morgue.
//
// Any goroutine may use the logger. That of a job that no pool runs is [slog.Default].
func (j *Job) Logger() *slog.Logger {
	if j.run == nil {
		return slog.Default().With("job", j.ID)
	}
	r := j.run
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if r.long.log == nil {
		r.long.log = newJobLog(r)
	}
	return r.long.log.logger
}

// jobLog is what a run has logged and not yet sent. It is guarded by the mutex of the run's longRun.
type jobLog struct {
	logger  *slog.Logger
	lines   [][]byte
	bytes   int // of lines
	dropped int // lines that went away unsent, the oldest first

	batch  int64    // number of the last one that was made
	flight [][]byte // its lines, until they are acknowledged
	closed bool     // what is in it will not be sent
}

func newJobLog(r *run) *jobLog {
	var mirror slog.Handler
	if o := r.worker.pool.options; o.MirrorJobLogs {
		mirror = o.Logger.Handler().
			WithAttrs([]slog.Attr{slog.String("job", r.job.ID), slog.String("name", r.job.Name)})
	}
	plain := slog.NewJSONHandler(logWriter{r}, nil).WithAttrs([]slog.Attr{slog.Int("attempt", r.job.Attempt)})
	return &jobLog{logger: slog.New(&logHandler{run: r, plain: plain, json: plain.WithGroup("attrs"), mirror: mirror})}
}

// logHandler writes lines of JSON: time, level, msg, attempt, and what the program adds in attrs, where it cannot be
// taken for the others.
type logHandler struct {
	run    *run
	plain  slog.Handler // without what the program has added
	json   slog.Handler
	mirror slog.Handler // nil without one
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.mirror != nil && h.mirror.Enabled(ctx, level)
}

// Handle gives the line the time of Redis, as far as it is known.
func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	var mirrored error
	if h.mirror != nil && h.mirror.Enabled(ctx, record.Level) {
		mirrored = h.mirror.Handle(ctx, record.Clone())
	}
	if record.Level < slog.LevelInfo {
		return mirrored
	}
	record.Time, record.Message = h.run.worker.clock.now(), bound(record.Message, maxMessageBytes)
	err := h.json.Handle(ctx, record)
	var long *longLineError
	if errors.As(err, &long) {
		short := slog.NewRecord(record.Time, record.Level, record.Message, 0)
		short.AddAttrs(slog.Group("attrs", slog.Int("left_out", long.bytes)))
		err = h.plain.Handle(ctx, short)
	}
	return excerpt.Join(mirrored, err)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derived(func(of slog.Handler) slog.Handler { return of.WithAttrs(attrs) })
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.derived(func(of slog.Handler) slog.Handler { return of.WithGroup(name) })
}

func (h *logHandler) derived(change func(slog.Handler) slog.Handler) slog.Handler {
	next := *h
	next.json = change(h.json)
	if h.mirror != nil {
		next.mirror = change(h.mirror)
	}
	return &next
}

// longLineError says that a line has so many bytes.
type longLineError struct{ bytes int }

func (e *longLineError) Error() string {
	return fmt.Sprintf("a line of %d bytes is too long for the log of a job: at most %d are kept", e.bytes,
		maxLineBytes)
}

// logWriter puts lines into the log of its run.
type logWriter struct{ run *run }

// Write takes one whole line: that is how slog's handlers write.
func (w logWriter) Write(line []byte) (int, error) {
	if len(line) > maxLineBytes {
		return 0, &longLineError{len(line)}
	}
	w.run.appendLine(line[:len(line)-1]) // without its line feed
	return len(line), nil
}

func (r *run) appendLine(line []byte) {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	log := r.long.log
	if r.long.over || log.closed {
		return
	}
	r.long.hasLog = true
	log.add(append([]byte(nil), line...))
	if waiting := len(log.lines); waiting == 1 || waiting == logLot {
		r.worker.scribe.expect(r, waiting == logLot)
	}
}

// add keeps a line. The log in Redis would let go of the oldest as well.
func (l *jobLog) add(line []byte) {
	for len(l.lines) > 0 && (len(l.lines) >= maxHeldLines || l.bytes+len(line) > maxHeldBytes) {
		l.bytes -= len(l.lines[0])
		l.lines[0] = nil
		l.lines = l.lines[1:]
		l.dropped++
	}
	l.lines = append(l.lines, line)
	l.bytes += len(line)
}

// next returns the lines to be sent now: those that are under way, as long as there are some. What was dropped is told
// first.
func (l *jobLog) next(now time.Time) [][]byte {
	if l.flight != nil || l.closed {
		return l.flight
	}
	if l.dropped > 0 {
		l.flight = append(l.flight, l.confession(now))
		l.dropped = 0
	}
	n := min(len(l.lines), logLot)
	for _, line := range l.lines[:n] {
		l.flight = append(l.flight, line)
		l.bytes -= len(line)
	}
	clear(l.lines[:n])
	l.lines = l.lines[n:]
	if l.flight != nil {
		l.batch++
	}
	return l.flight
}

// confession is the line that stands for those that were dropped.
func (l *jobLog) confession(now time.Time) []byte {
	return fmt.Appendf(nil, `{"time":%q,"level":"WARN","msg":"%d lines of this log were dropped: they came faster than Redis took them","attrs":{"dropped":%d}}`,
		now.Format(time.RFC3339Nano), l.dropped, l.dropped)
}

// close drops what is left.
func (l *jobLog) close() { l.closed, l.lines, l.flight, l.bytes = true, nil, nil, 0 }
