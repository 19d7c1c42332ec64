package pages

import (
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// againEvery is after how many seconds a page asks once more whether Redis can be reached; part_layout.html has it for
// browsers without scripts.
const againEvery = 5

// showAway answers while Redis cannot be asked. What was read comes by itself when it can; nothing is done twice.
func (s *Site) showAway(v *visit.Visit, status int, away *visit.Away, err error) {
	title := "Redis cannot be reached"
	if away.Loading {
		title = "Redis is not ready"
	}
	p := page{Title: title, Nav: s.entry(v.Path), Again: v.R.Method != http.MethodPost, Now: time.Now()}
	clock, _, _ := strings.Cut(format.ClockAt(away.Since, p.Now).Words, ".") // a part of a second tells nobody anything
	p.Body = struct {
		Status int
		*visit.Away
		At    format.Moment
		Clock string
		For   time.Duration
		Every int
		Back  string // the page that the form was on
		Said  string // by the connection
	}{status, away, format.MomentAt(away.Since, p.Now), clock, p.Now.Sub(away.Since).Truncate(time.Second), againEvery,
		s.back(v, "./"), err.Error()}
	s.render(v, status, "away", p)
}

// entry is the path if the menu has it; else "".
func (s *Site) entry(path string) string {
	for _, route := range s.routes {
		if route.Path == path && route.Menu != "" {
			return path
		}
	}
	return ""
}
