package webui

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work"
)

// long is an answer that goes on while the work does: the page comes with its first lines, then how far it got, then
// the outcome. The work ends when who asked for it has gone. So nobody needs to keep it, and nothing runs that nobody
// sees.
type long struct {
	v       *visit
	page    page
	control *http.ResponseController
	told    time.Time
}

const (
	stepEvery    = 200 * time.Millisecond
	stepPatience = time.Minute // for the next step, whatever the server's own limit
)

// begin answers, after which what goes wrong has to be told on the page.
func (v *visit) begin(title, nav string) *long {
	l := &long{v: v, page: v.fill(page{Title: title, Nav: nav}), control: http.NewResponseController(v.w)}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("X-Accel-Buffering", "no")
	v.w.WriteHeader(http.StatusOK)
	l.write("top", l.page)
	return l
}

// step tells how far it got, a few times a second.
func (l *long) step(done, total int) {
	if now := time.Now(); now.Sub(l.told) >= stepEvery {
		l.told = now
		l.write("step", struct{ Done, Total, Percent int }{done, total, percent(done, total)})
	}
}

// end tells the outcome.
func (l *long) end(outcome any) {
	p := l.page
	p.Body = outcome
	l.write("outcome", p)
	l.write("bottom", p)
}

// write sends a part of the page at once. That who asked has gone shows in the context.
func (l *long) write(part string, data any) {
	var b bytes.Buffer
	if err := pages["long"].ExecuteTemplate(&b, part, data); err != nil {
		l.v.options.Logger.Error("dashboard: a page cannot be made", "page", part, "error", err)
		return
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(stepPatience)) // not every ResponseWriter can, and none needs to
	l.v.w.Write(b.Bytes())                                       //lint:ignore errcheck see above
	_ = l.control.Flush()                                        // the same
}

// outcome is how something long has ended.
type outcome struct {
	Text    string
	Err     error
	Bulk    *bulkOutcome
	Doctor  *work.Diagnosis
	Mended  bool // the doctor was to mend
	Back    string
	Refused []work.BulkFailure
}

// bulkOutcome is what a dry run has found, and the form to do it.
type bulkOutcome struct {
	Action  jobAction
	Words   string
	Matched int
	Sure    string // where the form leads that does it; "" when it was done
}

// bulk does one thing to all jobs that match, or counts them, unless the form says that it is sure.
func bulk(v *visit) error {
	f, err := v.filter()
	if err != nil {
		return err
	}
	action, err := actionNamed(v.query.Get("action"))
	if err == nil && action.bulk == nil {
		err = badRequest(fmt.Sprintf("%q is not for all jobs that match: tick those that are meant", action.Label))
	}
	if err == nil && f.State == "" {
		err = badRequest("choose a state first: what can be done depends on it")
	}
	// What cannot be is refused before the page begins, by a dry run over one job.
	if err == nil {
		_, err = v.inspector.Bulk(v.ctx(), f.Selection, *action.bulk, work.BulkOptions{DryRun: true, Limit: 1})
	}
	if err != nil {
		return err
	}
	sure := v.query.Get("sure") != ""
	if sure {
		v.audit(OutcomeBegun, action.Label, f.Words())
	}
	l := v.begin(action.Label+": "+f.title(), "/jobs")
	report, err := v.inspector.Bulk(v.ctx(), f.Selection, *action.bulk,
		work.BulkOptions{DryRun: !sure, Progress: l.step})
	o := outcome{Err: err, Back: f.link(), Refused: report.Refused,
		Bulk: &bulkOutcome{Action: action, Words: f.Words(), Matched: report.Matched}}
	if !sure {
		o.Text = fmt.Sprintf("%s of %s jobs match.", count(report.Matched), count(report.Looked))
		o.Bulk.Sure = f.bulkLink(action.Name, "sure", "1")
		v.audit(outcomeOf(err), "dry run: "+o.Text, f.Words())
	} else {
		o.Text = fmt.Sprintf("%s of %s jobs that matched were %s.", count(report.Done), count(report.Matched),
			action.Past)
		if left := report.Changed + report.Far; left > 0 {
			o.Text += fmt.Sprintf(" %s had moved on, %s stand too deep in their queues: nothing was done to these.",
				count(report.Changed), count(report.Far))
		}
		kind := outcomeOf(err)
		if err == nil && report.Done < report.Matched {
			kind = OutcomePartly
		}
		v.audit(kind, withError(o.Text, err), f.Words())
	}
	l.end(o)
	return nil
}

// BulkLink is where the form for all that match leads.
func (f filter) BulkLink(action string) string { return f.bulkLink(action) }

func (f *filter) bulkLink(action string, pair ...string) string {
	query := f.Query()
	query.Set("action", action)
	if len(pair) == 2 {
		query.Set(pair[0], pair[1])
	}
	return "bulk?" + query.Encode()
}

func outcomeOf(err error) Outcome {
	if err != nil {
		return OutcomeFailed
	}
	return OutcomeDone
}

func withError(text string, err error) string {
	if err != nil {
		return text + " " + err.Error()
	}
	return text
}

// purgeQueue deletes all that waits.
func purgeQueue(v *visit) error {
	name, err := v.target("name")
	if err != nil {
		return err
	}
	q, err := v.inspector.Queue(v.ctx(), name)
	if err != nil {
		return err
	}
	v.audit(OutcomeBegun, "purge", name)
	l := v.begin("Purge of queue "+shorten(name, 60), "/queues")
	removed, err := v.inspector.Purge(v.ctx(), name,
		work.PurgeOptions{Progress: func(removed int) { l.step(removed, max(removed, q.Waiting)) }})
	text := count(removed) + " jobs were deleted."
	v.audit(outcomeOf(err), withError(text, err), name)
	l.end(outcome{Text: text, Err: err, Back: link("queue", "name", name)})
	return nil
}

// examine lets the doctor look at the whole namespace, and mend it where it should.
func examine(v *visit) error {
	mend := v.query.Get("mend") != ""
	if mend {
		v.audit(OutcomeBegun, "mend", "all")
	}
	l := v.begin("The doctor", "/redis")
	diagnosis, err := v.inspector.Doctor(v.ctx(), work.DoctorOptions{Repair: mend, Progress: l.step})
	text := "Nothing is wrong."
	switch n := len(diagnosis.Findings); n {
	case 0:
	case 1:
		text = "1 finding."
	default:
		text = count(n) + " findings."
	}
	if err != nil {
		text = "The doctor could not look at everything."
	}
	v.audit(outcomeOf(err), withError(text, err), "all")
	l.end(outcome{Text: text, Err: err, Doctor: diagnosis, Mended: mend, Back: "redis"})
	return nil
}

// clearErrors forgets the groups of errors.
func clearErrors(v *visit) error {
	name := v.query.Get("name")
	if name == "" && v.query.Get("all") == "" {
		return badRequest("say whose errors: ?name=, or ?all=1 for those of all names")
	}
	target := name
	if name == "" {
		target = "all names"
	}
	return v.finish(once{target: target, done: "The counts of errors of " + shorten(target, 60) + " begin anew.",
		back: "errors"}, v.inspector.ClearErrors(v.ctx(), name))
}
