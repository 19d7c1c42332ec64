package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work/webui/internal/find"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// searchLine is one of a search that goes on by itself. The last has Outcome or Problem.
type searchLine struct {
	Jobs     []json.RawMessage `json:"jobs,omitempty"`
	Progress *searchProgress   `json:"progress,omitempty"`
	Outcome  *searchProgress   `json:"outcome,omitempty"`
	Problem  *Problem          `json:"problem,omitempty"`
}

// searchProgress is how far a search is. Next is a cursor: of a line of progress it goes on behind all that was told.
type searchProgress struct {
	Found   int    `json:"found"`
	Through int    `json:"through"`
	Total   int    `json:"total"`
	Rate    int    `json:"rate"` // records in a second
	Next    string `json:"next,omitempty"`
	Missing string `json:"missing,omitempty"` // which partitions have not answered
}

// search takes the query of a list of jobs and looks through all there are, a line for each part. It is JSON by lines
// whatever is accepted, and ends when who asked has gone.
func search(v *visit.Visit) error {
	if err := onlyKeys(v, "cursor", "ended"); err != nil {
		return err
	}
	f, err := jobs.FilterOf(v)
	if err != nil {
		return err
	}
	leave, err := v.Streams.Searches.Enter(v, find.ErrTooMany.Error())
	if err != nil {
		return err
	}
	defer leave()
	l := &lengthy{v: v, control: http.NewResponseController(v.W), lines: true}
	err = v.Searches.Follow(v.Ctx(), f.Question(v.Query.Get("cursor")), func(news find.News) error {
		_ = l.control.SetWriteDeadline(time.Now().Add(visit.StepTimeout)) // not every ResponseWriter can
		at := &searchProgress{Found: news.Found, Through: news.Through, Total: news.Total, Rate: int(news.Rate),
			Next: news.Cursor}
		if news.Missing != nil {
			at.Missing = news.Missing.Error()
		}
		told := searchLine{Jobs: shownJobs(v, news.Jobs), Progress: at}
		if news.Over {
			told.Progress, told.Outcome = nil, at
		}
		l.write(told)
		return nil
	})
	displaced := errors.Is(context.Cause(v.Ctx()), visit.ErrDisplaced)
	if err == nil || v.Ctx().Err() != nil && !displaced || !l.begun {
		return err
	}
	p := problemOf(err)
	l.write(searchLine{Problem: &p})
	return nil
}

// mostNames is how many names one answer may have, and those it has unless the query says so.
const mostNames = 500

// readNames sends the names of jobs that have a text in them, in their order.
func readNames(v *visit.Visit) error {
	most, err := v.Number("limit", mostNames, mostNames)
	if err != nil {
		return err
	}
	all, err := v.Inspector.Names(v.Ctx())
	if err != nil {
		return err
	}
	part, shown, more := strings.ToLower(v.Query.Get("part")), []string{}, false
	for _, name := range all {
		if !strings.Contains(strings.ToLower(name), part) {
			continue
		}
		if more = len(shown) == most; more {
			break
		}
		shown = append(shown, name)
	}
	return answer(v, http.StatusOK, struct {
		Names []string `json:"names"`
		More  bool     `json:"more"` // there are others
	}{shown, more})
}
