package webui

import (
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// lengthy is an action whose answer comes when it is done. Who accepts application/x-ndjson gets a line a few times a
// second that says how far it is, and the outcome on the last one. Like the pages' it ends when who asked for it has
// gone.
type lengthy struct {
	v       *visit
	control *http.ResponseController
	lines   bool
	begun   bool
	told    time.Time
}

// line is one of an answer by lines. The last has an outcome, a problem, or both.
type line struct {
	Progress *progress `json:"progress,omitempty"`
	Outcome  any       `json:"outcome,omitempty"`
	Problem  *problem  `json:"problem,omitempty"`
}

type progress struct {
	Done  int `json:"done"`
	Total int `json:"total"` // about
}

func (v *visit) lengthy() *lengthy {
	l := &lengthy{v: v, control: http.NewResponseController(v.w)}
	for _, accepted := range v.r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(accepted, ",") {
			if name, _, err := mime.ParseMediaType(kind); err == nil && name == "application/x-ndjson" {
				l.lines = true
			}
		}
	}
	return l
}

// step tells how far it got, and keeps the server's own limit for writing from ending it.
func (l *lengthy) step(done, total int) {
	now := time.Now()
	if now.Sub(l.told) < stepEvery {
		return
	}
	l.told = now
	_ = l.control.SetWriteDeadline(now.Add(stepPatience)) // not every ResponseWriter can, and none needs to
	if l.lines {
		l.write(line{Progress: &progress{done, total}})
	}
}

// end answers. With an error the outcome is what it came to until then.
func (l *lengthy) end(outcome any, err error) error {
	switch {
	case !l.lines && err != nil:
		return &unfinished{err, outcome}
	case !l.lines:
		return l.v.answer(http.StatusOK, outcome)
	case err != nil:
		p := problemOf(err)
		l.write(line{Outcome: outcome, Problem: &p})
	default:
		l.write(line{Outcome: outcome})
	}
	return nil
}

// write sends a line at once. That who asked has gone shows in the context.
func (l *lengthy) write(text line) {
	if !l.begun {
		l.begun = true
		l.v.w.Header().Set("Content-Type", "application/x-ndjson")
		l.v.w.Header().Set("X-Accel-Buffering", "no")
		l.v.w.WriteHeader(http.StatusOK)
	}
	encoded, err := asJSON(text)
	if err != nil { // it has nothing that cannot be written
		l.v.options.Logger.Error("dashboard: a line cannot be written", "path", l.v.path, "error", err)
		return
	}
	l.v.w.Write(encoded)  //lint:ignore errcheck see above
	_ = l.control.Flush() // the same
}

// bulkDone is what a bulk came to.
type bulkDone struct {
	Action    string    `json:"action"`
	Selection string    `json:"selection"` // in words
	DryRun    bool      `json:"dry_run"`
	Total     int       `json:"total"` // jobs of that state when it began
	Looked    int       `json:"looked"`
	Matched   int       `json:"matched"`
	Done      int       `json:"done"`
	Changed   int       `json:"changed"` // had moved on meanwhile
	Far       int       `json:"far"`     // stand too deep in their queue
	Refused   []refusal `json:"refused"` // at most 100
	Complete  bool      `json:"complete"`
}

// maxBulk is the most that ?limit= may say; without it there is none.
const maxBulk = 1_000_000_000

// apiBulk does one thing to the jobs that the same query lists, or only counts them, unless the query says that it is
// sure.
func apiBulk(v *visit) error {
	if err := v.onlyKeys("action", "sure", "limit"); err != nil {
		return err
	}
	f, err := v.filter()
	if err != nil {
		return err
	}
	action, err := actionNamed(v.query.Get("action"))
	if err != nil {
		return err
	}
	limit, err := v.number("limit", 0, maxBulk)
	switch {
	case err != nil:
		return err
	case action.bulk == nil:
		return badRequest(fmt.Sprintf("%q is not for all jobs that match: name those that are meant to jobs-act",
			action.Name))
	case v.query.Get("state") == "": // which a list would take to be queued
		return badRequest("choose a state: what can be done depends on it")
	}
	// What cannot be is refused before the answer begins, by a dry run over one job.
	if _, err = v.inspector.Bulk(v.ctx(), f.Selection, *action.bulk,
		work.BulkOptions{DryRun: true, Limit: 1}); err != nil {
		return err
	}
	sure := v.query.Get("sure") != ""
	if sure {
		v.audit(OutcomeBegun, action.Name, f.Words())
	}
	l := v.lengthy()
	report, err := v.inspector.Bulk(v.ctx(), f.Selection, *action.bulk,
		work.BulkOptions{DryRun: !sure, Limit: limit, Progress: l.step})
	done := newBulkDone(report)
	done.Action, done.Selection, done.DryRun = action.Name, f.Words(), !sure
	v.auditBulk(done, err)
	return l.end(done, err)
}

func newBulkDone(r work.BulkReport) bulkDone {
	done := bulkDone{
		Total: r.Total, Looked: r.Looked, Matched: r.Matched, Done: r.Done, Changed: r.Changed, Far: r.Far,
		Complete: r.Complete,
		Refused:  []refusal{},
	}
	for _, refused := range r.Refused {
		done.Refused = append(done.Refused, refusal{refused.ID, refused.Err.Error()})
	}
	return done
}

func (v *visit) auditBulk(d bulkDone, err error) {
	outcome := outcomeOf(err)
	text := fmt.Sprintf("%s of %d of %d jobs that matched", d.Action, d.Done, d.Matched)
	if d.DryRun {
		text = fmt.Sprintf("dry run: %d of %d jobs match", d.Matched, d.Looked)
	} else if err == nil && d.Done < d.Matched {
		outcome = OutcomePartly
	}
	v.audit(outcome, withError(text, err), d.Selection)
}

// purgeDone is what a purge came to.
type purgeDone struct {
	Name    string `json:"name"`
	Removed int    `json:"removed"`
}

func apiPurge(v *visit) error {
	name, err := v.target("name")
	if err != nil {
		return err
	}
	q, err := v.inspector.Queue(v.ctx(), name)
	if err != nil {
		return err
	}
	v.audit(OutcomeBegun, "purge", name)
	l := v.lengthy()
	removed, err := v.inspector.Purge(v.ctx(), name,
		work.PurgeOptions{Progress: func(removed int) { l.step(removed, max(removed, q.Waiting)) }})
	v.audit(outcomeOf(err), withError(fmt.Sprintf("%d jobs were deleted", removed), err), name)
	return l.end(purgeDone{name, removed}, err)
}

// apiDoctor examines the namespace, and mends it where the query says so.
func apiDoctor(v *visit) error {
	mend := v.query.Get("mend") != ""
	if mend {
		v.audit(OutcomeBegun, "mend", "all")
	}
	l := v.lengthy()
	diagnosis, err := v.inspector.Doctor(v.ctx(), work.DoctorOptions{Repair: mend, Progress: l.step})
	if diagnosis == nil {
		diagnosis = &work.Diagnosis{}
	}
	diagnosis.Findings = listed(diagnosis.Findings)
	if diagnosis.More == nil {
		diagnosis.More = map[work.Check]int{}
	}
	v.audit(outcomeOf(err), withError(fmt.Sprintf("%d findings", len(diagnosis.Findings)), err), "all")
	return l.end(diagnosis, err)
}
