package pages

import (
	"encoding/json"
	"fmt"
	"html/template"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
)

// functions are what templates may call. None makes markup: all that they return is escaped for the place where it
// stands.
var functions = template.FuncMap{
	"asset":    AssetURL,
	"ask":      newQuestion,
	"button":   newButton,
	"clock":    format.ClockAt,
	"count":    format.Count,
	"counted":  format.Counted,
	"link":     format.Link,
	"moment":   format.MomentAt,
	"pretty":   func(raw json.RawMessage) string { return format.Pretty(raw, shownBytes) },
	"rate":     format.Rate,
	"middle":   func(text any, most int) string { return format.Middle(fmt.Sprint(text), most) },
	"short":    func(text any, most int) string { return format.Shorten(fmt.Sprint(text), most) },
	"sentence": format.Sentence,
	"size":     func(n any) string { return format.Size(asInt64(n)) },
	"span":     format.Span,
	"quantile": quantileText,
	"stamp":    format.Stamp,
	"since":    func(t, now time.Time) string { return format.Span(now.Sub(t)) },
	"percent":  func(part, whole int) int { return format.Percent(part, whole) },
	"word":     format.Word,
	"fits":     func(raw json.RawMessage) bool { return len(raw) <= shownBytes },
}

// quantileText is a quantile of what was counted. Below the lowest bound nothing is known but that.
func quantileText(h inspect.Histogram, q float64) string {
	if lowest := inspect.HistogramBounds()[0]; h.Quantile(q) < lowest {
		return "under " + format.Span(lowest)
	}
	return format.Span(h.Quantile(q))
}

// shownBytes is how much of a value stands on a page.
const shownBytes = 8 << 10

func asInt64(n any) int64 {
	switch n := n.(type) {
	case int:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

// newQuestion makes a button that asks first, though what it does can be taken back.
func newQuestion(label, url, question string) jobs.Button {
	return jobs.Button{Label: label, URL: url, Sure: question}
}

// newButton makes a button. One with a question asks first, and is grave.
func newButton(label, url string, question ...string) jobs.Button {
	b := jobs.Button{Label: label, URL: url}
	if len(question) > 0 {
		b.Sure, b.Grave = question[0], true
	}
	return b
}
