package webui

import (
	"encoding/json"
	"fmt"
	"html/template"
	"time"
)

// functions are what templates may call. None makes markup: all that they return is escaped for the place where it
// stands.
var functions = template.FuncMap{
	"asset":   assetURL,
	"button":  newButton,
	"count":   count,
	"link":    link,
	"moment":  momentAt,
	"pretty":  func(raw json.RawMessage) string { return pretty(raw, shownBytes) },
	"rate":    rate,
	"short":   func(text any, most int) string { return shorten(fmt.Sprint(text), most) },
	"size":    func(n any) string { return size(asInt64(n)) },
	"span":    span,
	"stamp":   stamp,
	"since":   func(t, now time.Time) string { return span(now.Sub(t)) },
	"percent": func(part, whole int) int { return percent(part, whole) },
	"fits":    func(raw json.RawMessage) bool { return len(raw) <= shownBytes },
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

func percent(part, whole int) int {
	if whole <= 0 {
		return 0
	}
	return min(100, part*100/whole)
}

// button is a form with nothing but a button.
type button struct {
	Label, URL string
	Sure       string // what is asked first; "" asks nothing
}

// newButton makes a button. One with a question asks first.
func newButton(label, url string, question ...string) button {
	b := button{Label: label, URL: url}
	if len(question) > 0 {
		b.Sure = question[0]
	}
	return b
}
