package webui

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"strings"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// page is what the frame of a page shows, and what the page itself does.
type page struct {
	Title string
	Nav   string // path of the entry of the menu that it belongs to
	Body  any

	Site   string
	Menu   []Route
	Actor  string
	Role   Role
	CanAct bool
	Live   bool
	Notice *notice
	Now    time.Time
	Here   string // this page, for forms that lead back to it
}

// fill adds what all pages have.
func (v *visit) fill(p page) page {
	p.Site, p.Actor, p.Role, p.CanAct, p.Notice = v.options.Title, v.actor, v.role, v.canAct(), v.notice()
	p.Live = v.options.MaxStreams > 0
	if p.Now.IsZero() {
		p.Now = time.Now()
	}
	here := maps.Clone(v.query)
	here.Del("notice")
	p.Here = v.path[min(1, len(v.path)):]
	if query := here.Encode(); query != "" {
		p.Here += "?" + query
	}
	for _, route := range routes {
		if route.Menu != "" && v.role >= route.Role {
			p.Menu = append(p.Menu, route)
		}
	}
	return p
}

// show answers with a page.
func (v *visit) show(name string, p page) error {
	v.render(http.StatusOK, name, p)
	return nil
}

// render makes the whole page before the first byte of it is sent, so that a mistake cannot leave half of one.
func (v *visit) render(status int, name string, p page) {
	var b bytes.Buffer
	if err := pages[name].ExecuteTemplate(&b, "frame.html", v.fill(p)); err != nil {
		v.options.Logger.Error("dashboard: a page cannot be made", "page", name, "error", err)
		http.Error(v.w, "something is wrong with this page: the log of the program says what",
			http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	v.w.Write(b.Bytes()) //lint:ignore errcheck who asked has gone
}

// pages are the templates by name, each with the frame and the parts.
var pages = parsePages()

// parsePages panics for a template that is broken, when the program starts; that is found by any test.
func parsePages() map[string]*template.Template {
	parts := template.Must(template.New("").Funcs(functions).
		ParseFS(templateFiles, "templates/frame.html", "templates/part_*.html"))
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
