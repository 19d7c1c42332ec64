package pages

import (
	"fmt"

	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// actOnTicked does one thing to the jobs that are ticked on a page, one after the other. It tells how many it was done
// to and why not to the first of the others. What cannot be taken back it asks about first.
func (s *Site) actOnTicked(v *visit.Visit) error {
	if err := v.R.ParseForm(); err != nil {
		return err
	}
	ids := v.R.PostForm["id"]
	action, err := jobs.ActionNamed(v.R.PostFormValue("action"))
	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		return visit.BadRequest("no job is ticked: tick those that are meant")
	case len(ids) > jobs.MaxTicked:
		return visit.BadRequest(fmt.Sprintf("%d jobs are too many at once: tick at most %d", len(ids), jobs.MaxTicked))
	}
	if action.Grave && v.R.PostFormValue("sure") == "" {
		return s.askFirst(v, action, ids)
	}
	var refused []error
	for n, id := range ids {
		if err := action.One(v.Ctx(), v.Inspector, id); err != nil {
			if !visit.IsRefusal(err) {
				err = fmt.Errorf("%s, then: %w", action.Did(n-len(refused), len(ids)), err)
				v.Audit(visit.Failed, err.Error(), ids...)
				return err
			}
			refused = append(refused, err)
		}
	}
	outcome, text := visit.Done, action.Did(len(ids)-len(refused), len(ids))+"."
	if len(refused) > 0 {
		outcome, text = visit.Partly, text+" "+refused[0].Error()
	}
	v.Audit(outcome, text, ids...)
	s.redirect(v, s.back(v, "jobs"), notice{Text: text, Wrong: len(refused) > 0})
	return nil
}

// askedIDs is how many ids a question names.
const askedIDs = 20

// askFirst shows what is about to be done to the jobs that are ticked, with a button that does it.
func (s *Site) askFirst(v *visit.Visit, action jobs.Action, ids []string) error {
	v.Audit(visit.Done, "dry run: "+format.Counted(len(ids), "job", "jobs")+" would be "+action.Past, ids...)
	back := s.back(v, "jobs")
	shown := ids[:min(len(ids), askedIDs)]
	return s.show(v, "ask", page{Title: action.Label + " jobs", Nav: "/jobs", Body: struct {
		jobs.Action
		IDs, Shown []string
		More       int
		URL, Back  string
	}{action, ids, shown, len(ids) - len(shown), format.Link("jobs-act", "back", back), back}})
}
