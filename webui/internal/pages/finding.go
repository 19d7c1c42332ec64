package pages

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/webui/internal/find"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// finding is what an event of a search tells a page.
type finding struct {
	Rows    string `json:"rows"`    // a table of what was found since, as markup; "" for none
	Percent int    `json:"percent"` // of the records
	Text    string `json:"text"`    // how far it is, in words
	Next    string `json:"next"`    // where the rest is, when it is over and there is more
}

// showFinding sends what a search finds while it goes on. A browser that has lost the connection says how far it was.
func (s *Site) showFinding(v *visit.Visit) error {
	f, err := jobs.FilterOf(v)
	if err != nil {
		return err
	}
	leave, err := v.Streams.Searches.Enter(v, find.ErrTooMany.Error())
	if err != nil {
		return err
	}
	defer leave()
	out := newStream(v)
	ctx, cancel := context.WithTimeout(v.Ctx(), liveLife) // then it is asked again who asks
	defer cancel()
	cursor := cmp.Or(v.R.Header.Get("Last-Event-ID"), v.Query.Get("cursor"))
	err = v.Searches.Follow(ctx, f.Question(cursor), func(news find.News) error {
		event, err := s.findingOf(v, f, news)
		if err != nil {
			return err
		}
		if failed := out.send(event); failed != nil {
			return errGone
		}
		return nil
	})
	switch {
	case err == nil, errors.Is(err, errGone), ctx.Err() != nil:
		return nil
	case !out.begun:
		return err
	}
	v.Logger.Warn("dashboard: a search has failed", "error", err)
	_ = out.send(sse("trouble", []byte(format.Shorten(err.Error(), 300)))) // else it has gone
	return nil
}

// errGone says that the browser has gone.
var errGone = errors.New("who asked has gone")

func (s *Site) findingOf(v *visit.Visit, f jobs.Filter, news find.News) ([]byte, error) {
	told := finding{Percent: format.Percent(news.Through, news.Total), Text: progressText(news)}
	if len(news.Jobs) > 0 {
		table := jobTable{Rows: jobRows(v, news.Jobs), Now: news.Jobs[0].AsOf, State: f.State,
			Tick: v.MayAct && len(jobs.ActionsFor(f.State)) > 0}
		var b bytes.Buffer
		if err := execute(&b, "jobs", "jobs", table); err != nil {
			return nil, err
		}
		told.Rows = b.String()
	}
	name := "found"
	if news.Over {
		name = "over"
		if news.Cursor != "" {
			told.Next = f.With("cursor", news.Cursor)
		}
	}
	data, err := json.Marshal(told)
	if err != nil { // texts and numbers can be written
		return nil, err
	}
	return marked(news.Cursor, sse(name, data)), nil
}

// progressText says how far a search is, after how many it has found.
func progressText(n find.News) string {
	text := fmt.Sprintf("looked through %s of about %s", format.Count(n.Through),
		format.Counted(n.Total, "record", "records"))
	switch {
	case n.Over && n.Cursor == "":
		text = fmt.Sprintf("all %s looked through", format.Counted(n.Through, "record was", "records were"))
	case n.Over:
		text += ": these are enough for a page"
	case n.Rate > 0:
		text += fmt.Sprintf(", %s a second, ETA %s", format.Count(int(n.Rate)), format.Span(max(n.Left, time.Second)))
	}
	if n.Missing != nil {
		text += ". " + format.Sentence(n.Missing.Error())
	}
	return text
}
