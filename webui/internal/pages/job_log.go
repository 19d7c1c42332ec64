package pages

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// jobLog is the log of a job as its page has it.
type jobLog struct {
	Lines  []inspect.LogLine // newest first
	Now    time.Time
	Stream string // what is written from here on comes from there; "" where nothing does
	After  int64  // the number of the newest line
}

func newJobLog(v *visit.Visit, job *inspect.JobInfo, lines []inspect.LogLine) jobLog {
	l := jobLog{Lines: slices.Clone(lines), Now: job.AsOf}
	if len(lines) > 0 {
		l.After = lines[len(lines)-1].Number
	}
	slices.Reverse(l.Lines)
	if v.MaxStreams > 0 && !job.State.Ended() {
		l.Stream = format.Link("job-log", "id", job.ID)
	}
	return l
}

const (
	logPause = 200 * time.Millisecond // between two events, so that a browser has time to draw
	logAhead = 64                     // lines that wait for one; where there are more, what follows them waits
)

// showJobLog sends what is written to the log of a job while it is written, until the job has ended. A browser that has
// lost the connection says which line it had last.
func (s *Site) showJobLog(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	after, _ := strconv.ParseInt(v.Query.Get("after"), 10, 64) // else from the beginning
	if last, err := strconv.ParseInt(v.R.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = last
	}
	leave, err := v.Streams.Logs.Enter(v, "as many logs are followed as may be: this one is as of its loading")
	if err != nil {
		return err
	}
	defer leave()
	if _, err := v.Inspector.Job(v.Ctx(), id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(v.Ctx(), liveLife) // then it is asked again who asks
	defer cancel()
	f := logFollower{out: newStream(v), lines: make(chan inspect.LogLine, logAhead), after: after}
	ended := make(chan error, 1)
	go func() {
		defer close(f.lines)
		ended <- f.read(ctx, v, id)
	}()
	f.tell(ctx, cancel)
	for range f.lines { // what reads them ends
	}
	err = <-ended
	switch {
	case ctx.Err() != nil:
	case err != nil:
		v.Logger.Warn("dashboard: a log cannot be followed", "error", err)
		_ = f.out.send(sse("trouble", []byte(format.Shorten(err.Error(), 300)))) // else it has gone
	default:
		_ = f.out.send(sse("over", []byte("the job has ended")))
	}
	return nil
}

// logFollower is one that somebody follows.
type logFollower struct {
	out   *stream
	lines chan inspect.LogLine
	after int64 // the number of the last line that they have
}

// read reads lines until the job has ended.
func (f *logFollower) read(ctx context.Context, v *visit.Visit, id string) (err error) {
	defer func() {
		if value := recover(); value != nil { // nobody else would catch it
			visit.LogPanic(v.Logger, "the log of a job panicked", value)
			err = errLogPanic
		}
	}()
	for line, err := range v.Inspector.FollowLog(ctx, id) {
		if err != nil {
			return err
		}
		if line.Number <= f.after {
			continue
		}
		select {
		case f.lines <- line:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

var errLogPanic = &visit.StatusError{Status: http.StatusInternalServerError,
	Text: "the log cannot be shown: the log of the program says why"}

// tell sends lines as they come, several at a time where they come fast. It stops what reads them where the browser has
// gone.
func (f *logFollower) tell(ctx context.Context, stop func()) {
	if f.out.send([]byte("retry: 5000\n\n")) != nil {
		stop()
		return
	}
	for {
		first, more := <-f.lines
		if !more {
			return
		}
		shown := []inspect.LogLine{first}
		for more && len(f.lines) > 0 && len(shown) < jobs.LogLines {
			var line inspect.LogLine
			if line, more = <-f.lines; more {
				shown = append(shown, line)
			}
		}
		last := shown[len(shown)-1].Number
		slices.Reverse(shown)
		var b bytes.Buffer
		err := execute(&b, "job", "log-lines", jobLog{Lines: shown, Now: time.Now()})
		if err == nil {
			err = f.out.send(marked(strconv.FormatInt(last, 10), sse("lines", b.Bytes())))
		}
		if err != nil {
			stop()
			return
		}
		if wait := time.NewTimer(logPause); more {
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
			wait.Stop()
		}
	}
}
