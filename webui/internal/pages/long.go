package pages

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// long is an answer that goes on while the work does: the page comes with its head, its first step and a button that
// stops it, then how far it got, then the outcome. The work ends when who asked for it has gone. So nobody needs to
// keep it, and nothing runs that nobody sees.
type long struct {
	v       *visit.Visit
	page    page
	key     string // of what the button stops
	control *http.ResponseController
	told    time.Time
}

// begin answers, after which what goes wrong has to be told on the page. The first part is sent whole: a browser shows
// nothing of a page whose parts it waits for.
func (s *Site) begin(v *visit.Visit, title, nav string) *long {
	l := &long{v: v, key: s.running.Begin(v, title), control: http.NewResponseController(v.W)}
	l.page = s.fill(v, page{Title: title, Nav: nav, Body: format.Link("stop", "run", l.key)})
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.W.Header().Set("X-Accel-Buffering", "no")
	v.W.WriteHeader(http.StatusOK)
	l.write("begun", l.page)
	return l
}

// stop ends what a page shows, which goes on to show the outcome. Who leaves the page ends the work too, whichever
// server does it: a browser without scripts does so by this request, and one with scripts by the answer that nothing
// runs here.
func (s *Site) stop(v *visit.Visit) error {
	what := s.running.Stop(v.Query.Get("run"))
	if what == "" {
		return &visit.StatusError{Status: http.StatusNotFound,
			Text: "this action has ended, or another server ran it and ended it as its page was left: see the audit"}
	}
	return s.finish(v, once{target: what, done: "It was stopped. The audit says how far it came.", back: "audit"}, nil)
}

// ended is why the work has ended.
func (l *long) ended(s *Site, err error) error { return s.running.End(l.v, l.key, err) }

// step tells how far it got, a few times a second.
func (l *long) step(done, total int) {
	if now := time.Now(); now.Sub(l.told) >= visit.StepEvery {
		l.told = now
		l.write("step", struct{ Done, Total, Percent int }{done, total, format.Percent(done, total)})
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
	if err := execute(&b, "long", part, data); err != nil {
		l.v.Logger.Error("dashboard: a page cannot be made", "page", part, "error", err)
		return
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(visit.StepTimeout)) // not every ResponseWriter can, and none needs to
	l.v.W.Write(b.Bytes())                                            //lint:ignore errcheck see above
	_ = l.control.Flush()                                             // the same
}

// outcome is how something long has ended.
type outcome struct {
	Text    string
	Err     error
	Bulk    *bulkOutcome
	Doctor  *doctor.Diagnosis
	Mended  bool // the doctor was to mend
	Back    string
	Refused []inspect.BulkFailure
}

// bulkOutcome is what a dry run has found, and the form to do it.
type bulkOutcome struct {
	Action  jobs.Action
	Words   string
	Matched int
	Sure    string // where the form leads that does it; "" when it was done
}

// bulk does one thing to all jobs that match, or counts them, unless the form says that it is sure.
func (s *Site) bulk(v *visit.Visit) error {
	f, err := jobs.BulkFilterOf(v)
	if err != nil {
		return err
	}
	action, err := jobs.ActionNamed(v.Query.Get("action"))
	if err == nil {
		err = action.Check(v.Ctx(), v.Inspector, &f)
	}
	if err != nil {
		return err
	}
	sure := v.Query.Get("sure") != ""
	if sure {
		v.Audit(visit.Begun, action.Label, f.Words())
	}
	l := s.begin(v, action.Label+": "+f.TitleText(), "/jobs")
	report, err := action.Do(v.Ctx(), v.Inspector, &f, inspect.BulkOptions{DryRun: !sure, Progress: l.step})
	err = l.ended(s, err)
	o := outcome{Err: err, Back: f.With(), Refused: report.Refused,
		Bulk: &bulkOutcome{Action: action, Words: f.Words(), Matched: report.Matched}}
	if !sure {
		o.Text = fmt.Sprintf("%s of %s %s.", format.Count(report.Matched), format.Counted(report.Looked, "job", "jobs"),
			format.Word(report.Matched, "matches", "match"))
		o.Bulk.Sure = f.BulkLink(action.Name, "sure", "1")
		v.Audit(visit.OutcomeOf(err), visit.WithError("dry run: "+o.Text, err), f.Words())
	} else {
		o.Text = fmt.Sprintf("%s of %s that matched %s %s.", format.Count(report.Done),
			format.Counted(report.Matched, "job", "jobs"), format.Word(report.Done, "was", "were"), action.Past)
		if left := report.Changed + report.Far; left > 0 {
			o.Text += fmt.Sprintf(" %s had moved on, %s stand too deep in their queues: nothing was done to these.",
				format.Count(report.Changed), format.Count(report.Far))
		}
		kind := visit.OutcomeOf(err)
		if err == nil && report.Done < report.Matched {
			kind = visit.Partly
		}
		v.Audit(kind, visit.WithError(o.Text, err), f.Words())
	}
	l.end(o)
	return nil
}

// purgeQueue deletes all that waits.
func (s *Site) purgeQueue(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	q, err := v.Inspector.Queue(v.Ctx(), name)
	if err != nil {
		return err
	}
	v.Audit(visit.Begun, "purge", name)
	l := s.begin(v, "Purge of queue "+format.Shorten(name, 60), "/queues")
	removed, err := v.Inspector.Purge(v.Ctx(), name,
		inspect.PurgeOptions{Progress: func(removed int) { l.step(removed, max(removed, q.Waiting)) }})
	err = l.ended(s, err)
	text := format.Counted(removed, "job was", "jobs were") + " deleted."
	v.Audit(visit.OutcomeOf(err), visit.WithError(text, err), name)
	l.end(outcome{Text: text, Err: err, Back: format.Link("queue", "name", name)})
	return nil
}

// destroyQueue leads to the list of queues: this one has no page any more.
func (s *Site) destroyQueue(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	there, err := v.Inspector.DestroyQueue(v.Ctx(), name, inspect.DestroyOptions{DryRun: true})
	if err != nil {
		return err
	}
	v.Audit(visit.Begun, "destroy", name)
	l := s.begin(v, "Destruction of queue "+format.Shorten(name, 60), "/queues")
	report, err := v.Inspector.DestroyQueue(v.Ctx(), name, inspect.DestroyOptions{
		Progress: func(c inspect.DestroyedCounts) { l.step(c.Sum(), max(c.Sum(), there.Sum())) }})
	err = l.ended(s, err)
	text := format.Counted(report.Sum(), "job was", "jobs were") + " deleted."
	v.Audit(visit.OutcomeOf(err), visit.WithError(text, err), name)
	l.end(outcome{Text: text, Err: err, Back: "queues"})
	return nil
}

// examine lets the doctor look at the whole namespace, and mend it where it should.
func (s *Site) examine(v *visit.Visit) error {
	mend := v.Query.Get("mend") != ""
	if mend {
		v.Audit(visit.Begun, "mend", "all")
	}
	l := s.begin(v, "The doctor", "/redis")
	diagnosis, err := doctor.Examine(v.Ctx(), v.Inspector, doctor.Options{Repair: mend, Progress: l.step})
	text := "Nothing is wrong."
	if n := len(diagnosis.Findings); n > 0 {
		text = format.Counted(n, "finding", "findings") + "."
	}
	if err = l.ended(s, err); err != nil {
		text = "The doctor could not look at everything."
	}
	v.Audit(visit.OutcomeOf(err), visit.WithError(text, err), "all")
	l.end(outcome{Text: text, Err: err, Doctor: diagnosis, Mended: mend, Back: "redis"})
	return nil
}

// clearErrors forgets the groups of errors.
func (s *Site) clearErrors(v *visit.Visit) error {
	name := v.Query.Get("name")
	if name == "" && (v.Query.Has("name") || v.Query.Get("all") == "") {
		return visit.BadRequest("say whose errors: ?name=, or ?all=1 for those of all names")
	}
	target := name
	if name == "" {
		target = "all names"
	}
	return s.finish(v, once{target: target, done: "The counts of errors of " + format.Shorten(target, 60) +
		" begin anew.",
		back: "errors"}, v.Inspector.ClearErrors(v.Ctx(), name))
}
