// Package visit is one request to the dashboard, as pages and API see it once it is known who asks: what was asked, who
// asks and what they may do, the program's options, and how to fail. It answers nothing itself.
package visit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/causes"
	"github.com/265d0351/work/webui/internal/find"
	"github.com/265d0351/work/webui/internal/format"
)

// Site is what all visits of one dashboard share.
type Site struct {
	Title      string
	Inspector  *inspect.Inspector
	Enqueuer   *work.Enqueuer // nil where nothing can be enqueued
	Logger     *slog.Logger
	StuckAfter time.Duration
	MaxStreams int
	Searches   *find.Searches // those that go on by themselves
	Streams    struct{ Live, Logs, Searches Streams }
	Deploys    *causes.Deploys

	Place  string   // its name among several dashboards; "" where it is the only one
	Places []string // all of them

	Opener *inspect.Opener // nil where nothing is opened

	// Redaction returns args as they may be shown; nil shows them as they are.
	Redaction func(name string, args json.RawMessage) json.RawMessage

	away atomic.Pointer[time.Time] // from when on Redis was asked in vain; nil while it answers
}

// Redact returns args as they may be shown. If the program's func panics nothing is shown.
func (s *Site) Redact(name string, args json.RawMessage) (shown json.RawMessage) {
	if s.Redaction == nil {
		return args
	}
	defer func() {
		if recover() != nil {
			shown = json.RawMessage(`"not shown: Options.Redact panicked"`)
		}
	}()
	return s.Redaction(name, append(json.RawMessage(nil), args...))
}

// Redact returns args as whoever asks may see them. What codecs have stored is opened for those who may, and is told
// for all others as no more than that.
func (v *Visit) Redact(name string, args json.RawMessage) json.RawMessage {
	text, encoded := inspect.Encoded(args)
	if !encoded {
		return v.Site.Redact(name, args)
	}
	if v.MayOpen {
		open, err := v.Opener.Args(name, args)
		if err == nil {
			return v.Site.Redact(name, open)
		}
		text += ", " + err.Error()
	}
	return quoted(text)
}

// Open shows a job with its result as whoever asks may see it.
func (v *Visit) Open(job *inspect.JobInfo) *inspect.JobInfo {
	text, encoded := inspect.Encoded(job.Result)
	if !encoded {
		return job
	}
	shown := *job
	shown.Args = nil
	if v.MayOpen && v.Opener.Job(&shown) == nil {
		text = ""
	}
	if shown.Args = job.Args; text != "" {
		shown.Result = quoted(text)
	}
	return &shown
}

// quoted is a text in the place of a value.
func quoted(text string) json.RawMessage {
	shown, _ := json.Marshal(text) // a string
	return shown
}

// Redacts tells whether args are shown otherwise than they are.
func (s *Site) Redacts() bool { return s.Redaction != nil }

// Visit is one request under way. One goroutine uses it.
type Visit struct {
	*Site
	W      http.ResponseWriter
	R      *http.Request
	Path   string     // below the prefix
	Query  url.Values // of the URL
	Actor  string
	Role   string // in words
	MaySee bool   // they were let in
	MayAct bool   // the page should have buttons
	// what codecs have stored is opened for them; Site.Opener is there then
	MayOpen bool
	// which partitions have not answered to what is read for this; nil where something is done
	Missing *partly.Missing

	// Record tells the program's audit of an attempt to act.
	Record func(outcome Outcome, detail string, targets []string)

	audited bool
}

// Outcome is how an attempt to act ended, as the audit says it.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Partly  Outcome = "partly"
	Failed  Outcome = "failed"
	Refused Outcome = "refused"
	Begun   Outcome = "begun"
)

// OutcomeOf is Done, or Failed with an error.
func OutcomeOf(err error) Outcome {
	if err != nil {
		return Failed
	}
	return Done
}

// WithError adds an error to what the audit is told.
func WithError(text string, err error) string {
	if err != nil {
		return text + " " + err.Error()
	}
	return text
}

// Audit tells of an attempt to act.
func (v *Visit) Audit(outcome Outcome, detail string, targets ...string) {
	v.audited = true
	v.Record(outcome, detail, targets)
}

// Audited tells whether Audit was called.
func (v *Visit) Audited() bool { return v.audited }

// LogPanic tells of a panic of the dashboard, by the goroutine that recovers from it.
func LogPanic(logger *slog.Logger, what string, value any, about ...any) {
	logger.With(about...).Error("dashboard: "+what, "panic", value, "stack", string(debug.Stack()))
}

// Ctx ends when who asked has gone.
func (v *Visit) Ctx() context.Context { return v.R.Context() }

// MissingText says which partitions have not answered so far; "" where all have.
func (v *Visit) MissingText() string {
	if v.Missing == nil || v.Missing.Err() == nil {
		return ""
	}
	return format.Sentence(v.Missing.Err().Error())
}

// Target is what the request is about. Ids and names travel in the URL, where each byte of them survives.
func (v *Visit) Target(key string) (string, error) {
	value := v.Query.Get(key)
	if value == "" {
		return "", BadRequest(fmt.Sprintf("the address of this page lacks ?%s=, which says what it is about", key))
	}
	return value, nil
}

// Whole refuses a query of which something would be dropped without a word, since the rest may select more than was
// meant: one that cannot be read, or has a key without a value.
func (v *Visit) Whole() error {
	if _, err := url.ParseQuery(v.R.URL.RawQuery); err != nil {
		return BadRequest("the query cannot be read: " + err.Error())
	}
	for key, values := range v.Query {
		if slices.ContainsFunc(values, func(value string) bool { return strings.TrimSpace(value) == "" }) {
			return BadRequest(fmt.Sprintf("?%s= is empty: leave it out, or give a value", format.Shorten(key, 60)))
		}
	}
	return nil
}

// KnownName refuses a name that nothing in Redis has, unless ?force=true says that it is meant. Where that cannot be
// told, what is to be done tells why.
func (v *Visit) KnownName(name string) error {
	if v.Query.Get("force") == "true" {
		return nil
	}
	var unknown *inspect.UnknownNameError
	if errors.As(v.Inspector.CheckNames(v.Ctx(), name), &unknown) {
		return unknown
	}
	return nil
}

// Number reads a number from the query that is from 1 to most, or the other one where there is none.
func (v *Visit) Number(key string, other, most int) (int, error) {
	text := v.Query.Get(key)
	if text == "" {
		return other, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, BadRequest(fmt.Sprintf("?%s=%s is out of range: use 1 to %d", key, format.Shorten(text, 60), most))
	}
	return n, nil
}

// TimeIn reads a time that was typed, in UTC, as a browser's field for date and time writes it.
func TimeIn(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
		time.RFC3339Nano} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, BadRequest(fmt.Sprintf("%q is not a time: write it in UTC as 2006-01-02T15:04",
		format.Shorten(text, 60)))
}

// How long things may take, for pages and API alike.
const (
	pingTimeout = 5 * time.Second        // for a worker to answer
	StepEvery   = 200 * time.Millisecond // between two words of what goes on for long
	StepTimeout = time.Minute            // for the next of them, whatever the server's own limit
)

// Ping has a worker answer, and returns within which time it did.
func (v *Visit) Ping(id string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(v.Ctx(), pingTimeout)
	defer cancel()
	return v.Inspector.Ping(ctx, id)
}

// FullArgs are the args of a job as the asker may see them, with those in place that are kept as objects.
func (v *Visit) FullArgs(id string) (json.RawMessage, error) {
	job, err := v.Inspector.Job(v.Ctx(), id)
	if err != nil {
		return nil, err
	}
	args := job.Args
	switch {
	case v.MayOpen:
		if args, err = v.Opener.FullArgs(v.Ctx(), v.Inspector, id); err != nil {
			return nil, err
		}
	case job.Options.Objects > 0 && !isEncoded(args):
		if args, err = v.Inspector.FullArgs(v.Ctx(), id); err != nil {
			return nil, err
		}
	}
	return v.Redact(job.Name, args), nil
}

func isEncoded(value json.RawMessage) bool {
	_, is := inspect.Encoded(value)
	return is
}

// Silence is for how long a rule of alerts is to be silenced, by ?for= or the field of a form.
func (v *Visit) Silence() (time.Duration, error) {
	rule, text := v.Query.Get("rule"), v.R.FormValue("for")
	if !slices.Contains(alerts.Rules(), alerts.Rule(rule)) {
		return 0, &StatusError{http.StatusNotFound, fmt.Sprintf("there is no rule %q of alerts",
			format.Shorten(rule, 60))}
	}
	within, err := time.ParseDuration(text)
	if err != nil || within <= 0 {
		return 0, BadRequest(fmt.Sprintf("%q is no duration: write 1h or 24h", format.Shorten(text, 60)))
	}
	return within, nil
}
