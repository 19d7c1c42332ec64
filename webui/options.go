package webui

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

// Options says who sees what of a dashboard. The zero value lets nobody in.
type Options struct {
	Title     string     // stands on every page; default "work"
	Authorize Authorizer // who may come in, such as TokenAuth or BasicAuth; nil refuses everything
	ReadOnly  bool       // nobody may act

	// Redact returns the args of a job as people may see them; nil shows them as they are. Where it is set nobody can
	// search by args, since what is found would tell them. It is called concurrently; if it panics nothing is shown.
	// Errors about args have nothing of them in their text. What handlers write into logs, errors and results is not
	// args.
	Redact func(name string, args json.RawMessage) json.RawMessage

	// Codecs open sealed args and results for operators. Viewers see that they are sealed, and with which key; without
	// codecs, or with ones that cannot be, so does everybody.
	Codecs []work.Codec

	// Audit gets every attempt to act when it has ended, and those on many jobs also when they begin, beside Logger. It
	// is called concurrently, before the answer.
	Audit func(AuditEntry)

	// Enqueuer stores what POST /api/jobs sends, with its middleware and options. It is of the inspector's namespace,
	// and stays the caller's, who closes it after the last request. Under an idempotency key the id of a job is ours:
	// middleware must leave it. nil answers 501.
	Enqueuer *work.Enqueuer

	Logger     *slog.Logger  // for actions and for what went wrong; default slog.Default()
	StuckAfter time.Duration // a job that has run for so long without a word counts as stuck; default an hour
	// how many pages may be live at a time, and how many may follow a search, or the log of a job; others are not.
	// Default 64, negative is none
	MaxStreams int
}

const (
	defaultStuckAfter = time.Hour
	defaultMaxStreams = 64
)

func (o Options) withDefaults() Options {
	if o.Title == "" {
		o.Title = "work"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Authorize == nil {
		o.Authorize = nobody
		o.Logger.Warn("dashboard: " + errNoAuthorizer.Error())
	}
	if o.StuckAfter <= 0 {
		o.StuckAfter = defaultStuckAfter
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = defaultMaxStreams
	}
	return o
}

// opener opens what codecs have stored; nil for none.
func (o Options) opener() *inspect.Opener {
	if len(o.Codecs) == 0 {
		return nil
	}
	opener, err := inspect.NewOpener(o.Codecs...)
	if err != nil {
		o.Logger.Error("dashboard: sealed args are not opened: " + err.Error())
		return nil
	}
	return opener
}
