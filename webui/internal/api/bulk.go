package api

import (
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// lengthy is an action whose answer comes when it is done. Who accepts application/x-ndjson gets a line a few times a
// second that says how far it is, and the outcome on the last one. Like the pages' it ends when who asked for it has
// gone.
type lengthy struct {
	v       *visit.Visit
	control *http.ResponseController
	lines   bool
	begun   bool
	told    time.Time
}

// line is one of an answer by lines. The last has an outcome, a Problem, or both.
type line struct {
	Progress *Progress `json:"progress,omitempty"`
	Outcome  any       `json:"outcome,omitempty"`
	Problem  *Problem  `json:"problem,omitempty"`
}

// Progress is how far an action on many got.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"` // about
}

func newLengthy(v *visit.Visit) *lengthy {
	l := &lengthy{v: v, control: http.NewResponseController(v.W)}
	for _, accepted := range v.R.Header.Values("Accept") {
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
	if now.Sub(l.told) < visit.StepEvery {
		return
	}
	l.told = now
	_ = l.control.SetWriteDeadline(now.Add(visit.StepTimeout)) // not every ResponseWriter can, and none needs to
	if l.lines {
		l.write(line{Progress: &Progress{done, total}})
	}
}

// end answers. With an error the outcome is what it came to until then.
func (l *lengthy) end(outcome any, err error) error {
	switch {
	case !l.lines && err != nil:
		return &unfinished{err, outcome}
	case !l.lines:
		return answer(l.v, http.StatusOK, outcome)
	case err != nil:
		p := problemOf(err)
		l.write(line{Outcome: outcome, Problem: &p})
	default:
		l.write(line{Outcome: outcome})
	}
	return nil
}

// write sends a line at once. That who asked has gone shows in the context.
func (l *lengthy) write(text any) {
	if !l.begun {
		l.begun = true
		l.v.W.Header().Set("Content-Type", "application/x-ndjson")
		l.v.W.Header().Set("X-Accel-Buffering", "no")
		l.v.W.WriteHeader(http.StatusOK)
	}
	encoded, err := asJSON(text)
	if err != nil { // it has nothing that cannot be written
		l.v.Logger.Error("dashboard: a line cannot be written", "path", l.v.Path, "error", err)
		return
	}
	l.v.W.Write(encoded)  //lint:ignore errcheck see above
	_ = l.control.Flush() // the same
}

// BulkDone is what a bulk came to.
type BulkDone struct {
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

// bulk does one thing to the jobs that the same query lists, or only counts them, unless the query says that it is
// sure.
func bulk(v *visit.Visit) error {
	if err := onlyKeys(v, "action", "sure", "limit"); err != nil {
		return err
	}
	f, err := jobs.BulkFilterOf(v)
	if err != nil {
		return err
	}
	action, err := jobs.ActionNamed(v.Query.Get("action"))
	if err != nil {
		return err
	}
	limit, err := v.Number("limit", 0, maxBulk)
	if err != nil {
		return err
	}
	if err := action.Check(v.Ctx(), v.Inspector, &f); err != nil {
		return err
	}
	sure := v.Query.Get("sure") != ""
	if sure {
		v.Audit(visit.Begun, action.Name, f.Words())
	}
	l := newLengthy(v)
	report, err := action.Do(v.Ctx(), v.Inspector, &f,
		inspect.BulkOptions{DryRun: !sure, Limit: limit, Progress: l.step})
	done := newBulkDone(report)
	done.Action, done.Selection, done.DryRun = action.Name, f.Words(), !sure
	auditBulk(v, done, err)
	return l.end(done, err)
}

func newBulkDone(r inspect.BulkReport) BulkDone {
	done := BulkDone{
		Total: r.Total, Looked: r.Looked, Matched: r.Matched, Done: r.Done, Changed: r.Changed, Far: r.Far,
		Complete: r.Complete,
		Refused:  []refusal{},
	}
	for _, refused := range r.Refused {
		done.Refused = append(done.Refused, refusal{refused.ID, refused.Err.Error()})
	}
	return done
}

func auditBulk(v *visit.Visit, d BulkDone, err error) {
	outcome := visit.OutcomeOf(err)
	text := fmt.Sprintf("%s of %d of %d jobs that matched", d.Action, d.Done, d.Matched)
	if d.DryRun {
		text = fmt.Sprintf("dry run: %d of %d jobs match", d.Matched, d.Looked)
	} else if err == nil && d.Done < d.Matched {
		outcome = visit.Partly
	}
	v.Audit(outcome, visit.WithError(text, err), d.Selection)
}

// purgeDone is what a purge came to.
type purgeDone struct {
	Name    string `json:"name"`
	Removed int    `json:"removed"`
}

func purge(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	q, err := v.Inspector.Queue(v.Ctx(), name)
	if err != nil {
		return err
	}
	v.Audit(visit.Begun, "purge", name)
	l := newLengthy(v)
	removed, err := v.Inspector.Purge(v.Ctx(), name,
		inspect.PurgeOptions{Progress: func(removed int) { l.step(removed, max(removed, q.Waiting)) }})
	v.Audit(visit.OutcomeOf(err), visit.WithError(deleted(removed), err), name)
	return l.end(purgeDone{name, removed}, err)
}

// destroyDone is what is gone of a queue, or would be.
type destroyDone struct {
	Name   string `json:"name"`
	DryRun bool   `json:"dry_run"`
	inspect.DestroyReport
}

// destroyQueue destroys a queue where the query says that this is sure, and counts what there is otherwise.
func destroyQueue(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	sure := v.Query.Get("sure") != ""
	there, err := v.Inspector.DestroyQueue(v.Ctx(), name, inspect.DestroyOptions{DryRun: true})
	if err != nil {
		return err
	}
	if there.Sum() == 0 {
		if _, err := v.Inspector.Queue(v.Ctx(), name); err != nil {
			return err
		}
	}
	if !sure {
		return answer(v, http.StatusOK, destroyDone{name, true, there})
	}
	v.Audit(visit.Begun, "destroy", name)
	l := newLengthy(v)
	report, err := v.Inspector.DestroyQueue(v.Ctx(), name, inspect.DestroyOptions{
		Progress: func(c inspect.DestroyedCounts) { l.step(c.Sum(), max(c.Sum(), there.Sum())) }})
	v.Audit(visit.OutcomeOf(err), visit.WithError(deleted(report.Sum()), err), name)
	return l.end(destroyDone{name, false, report}, err)
}

// examine examines the namespace, and mends it where the query says so.
func examine(v *visit.Visit) error {
	mend := v.Query.Get("mend") != ""
	if mend {
		v.Audit(visit.Begun, "mend", "all")
	}
	l := newLengthy(v)
	diagnosis, err := doctor.Examine(v.Ctx(), v.Inspector, doctor.Options{Repair: mend, Progress: l.step})
	if diagnosis == nil {
		diagnosis = &doctor.Diagnosis{}
	}
	diagnosis.Findings = listed(diagnosis.Findings)
	if diagnosis.More == nil {
		diagnosis.More = map[doctor.Check]int{}
	}
	found := format.Counted(len(diagnosis.Findings), "finding", "findings")
	v.Audit(visit.OutcomeOf(err), visit.WithError(found, err), "all")
	return l.end(diagnosis, err)
}

// deleted says how many jobs were.
func deleted(n int) string { return format.Counted(n, "job was", "jobs were") + " deleted" }
