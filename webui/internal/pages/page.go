package pages

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

//go:embed templates
var templateFiles embed.FS

// page is what the frame of a page shows, and what the page itself does.
type page struct {
	Title string
	Nav   string // path of the entry of the menu that it belongs to
	Body  any

	Site   string
	Place  string   // which of several dashboards it is of; "" where there is one
	Places []string // all of them
	Menu   []menuGroup
	Actor  string
	Role   string
	CanAct bool
	Live   bool
	Again  bool // it tries again by itself
	Notice *notice
	// which partitions have not answered; "" where all have
	Missing string
	Now     time.Time
	Here    string // this page, for forms that lead back to it
}

// menuGroup is pages of the menu that stand together.
type menuGroup struct {
	Name    string // "" stands above all others
	Entries []visit.Route
}

// Entry is the one of the menu that the page belongs to; "" for none.
func (p page) Entry() string {
	for _, group := range p.Menu {
		for _, route := range group.Entries {
			if route.Path == p.Nav {
				return route.Menu
			}
		}
	}
	return ""
}

// menu is the pages of the menu, by groups.
func (s *Site) menu() (groups []menuGroup) {
	for _, route := range s.routes {
		if route.Menu == "" {
			continue
		}
		last := len(groups) - 1
		if last < 0 || groups[last].Name != route.Group {
			groups, last = append(groups, menuGroup{Name: route.Group}), last+1
		}
		groups[last].Entries = append(groups[last].Entries, route)
	}
	return groups
}

// fill adds what all pages have.
func (s *Site) fill(v *visit.Visit, p page) page {
	p.Site, p.Actor, p.Role, p.CanAct, p.Notice = v.Title, v.Actor, v.Role, v.MayAct, s.notice(v)
	p.Live, p.Place, p.Places = v.MaxStreams > 0, v.Place, v.Places
	p.Missing = v.MissingText()
	if p.Now.IsZero() {
		p.Now = time.Now()
	}
	here := maps.Clone(v.Query)
	here.Del("notice")
	p.Here = v.Path[min(1, len(v.Path)):]
	if query := here.Encode(); query != "" {
		p.Here += "?" + query
	}
	if v.MaySee {
		p.Menu = s.menu()
	}
	return p
}

// show answers with a page.
func (s *Site) show(v *visit.Visit, name string, p page) error {
	s.render(v, http.StatusOK, name, p)
	return nil
}

// render makes the whole page before the first byte of it is sent, so that a mistake cannot leave half of one.
func (s *Site) render(v *visit.Visit, status int, name string, p page) {
	var b bytes.Buffer
	if err := execute(&b, name, "layout.html", s.fill(v, p)); err != nil {
		v.Logger.Error("dashboard: a page cannot be made", "page", name, "error", err)
		http.Error(v.W, "something is wrong with this page: the log of the program says what",
			http.StatusInternalServerError)
		return
	}
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.W.WriteHeader(status)
	v.W.Write(b.Bytes()) //lint:ignore errcheck who asked has gone
}

// pages are the templates by name, each with the frame and the parts.
var pages = parsePages()

// parsePages panics for a template that is broken, when the program starts; that is found by any test.
func parsePages() map[string]*template.Template {
	parts := template.Must(template.New("").Funcs(functions).
		ParseFS(templateFiles, "templates/layout.html", "templates/part_*.html"))
	files, err := fs.Glob(templateFiles, "templates/page_*.html")
	if err != nil {
		panic(err)
	}
	parsed := make(map[string]*template.Template, len(files))
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/page_"), ".html")
		parsed[name] = template.Must(template.Must(parts.Clone()).ParseFS(templateFiles, file))
	}
	return parsed
}

// Fail answers with a page that says what is wrong.
func (s *Site) Fail(v *visit.Visit, err error) {
	status := visit.StatusOf(err)
	if away := v.Away(err); away != nil {
		s.showAway(v, status, away, err)
		return
	}
	if status >= http.StatusInternalServerError {
		v.Logger.Warn("dashboard: a request failed", "path", v.Path, "error", err)
	}
	s.render(v, status, "failure", page{Title: http.StatusText(status), Body: struct {
		Status int
		Text   string
		Token  bool // it is asked for
		Again  *again
	}{status, err.Error(), errors.Is(err, visit.ErrNoToken), forcing(v, err)}})
}

// again is a form that repeats what was refused.
type again struct {
	Address string
	Fields  url.Values
}

// forcing offers to go on all the same with a name that nothing has.
func forcing(v *visit.Visit, err error) *again {
	var unknown *inspect.UnknownNameError
	if !errors.As(err, &unknown) {
		return nil
	}
	query := maps.Clone(v.Query)
	query.Set("force", "true")
	return &again{Address: strings.TrimPrefix(v.Path, "/") + "?" + query.Encode(), Fields: v.R.PostForm}
}
