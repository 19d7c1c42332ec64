package webui

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
)

// Place is one of several dashboards that are one to who looks at them.
type Place struct {
	Name      string             // part of the address: letters, digits, dots, dashes and underscores, at most 60
	Inspector *inspect.Inspector // of the namespace, in whichever Redis
	Options   Options            // Title is the name where it is empty
}

// Places returns a handler with a dashboard for each place, below its name: /shop/, /billing/api/jobs. The head of each
// page leads to the same page of the others. The root leads to the first one; a token that is brought there is good for
// all places that have it. As [Handler] it serves any prefix that is stripped before it. No place, two of one name, or
// a name that cannot be in an address are errors.
func Places(all ...Place) (http.Handler, error) {
	if len(all) == 0 {
		return nil, errors.New("a dashboard of several places needs one at least")
	}
	p := &places{by: make(map[string]http.Handler, len(all))}
	names := make([]string, len(all))
	for n, place := range all {
		names[n] = place.Name
	}
	for n, place := range all {
		switch {
		case !placeName.MatchString(place.Name):
			return nil, fmt.Errorf("the name %q of a place cannot be in an address: use up to 60 letters, digits, "+
				"dots, dashes and underscores, the first a letter or digit", place.Name)
		case p.by[place.Name] != nil:
			return nil, fmt.Errorf("there are two places of the name %q: give each its own", place.Name)
		}
		if place.Options.Title == "" {
			place.Options.Title = place.Name
		}
		s := newSite(place.Inspector, place.Options, time.Now)
		s.shared.Place, s.shared.Places = place.Name, names
		p.by[place.Name] = http.StripPrefix("/"+place.Name, s)
		if n == 0 {
			p.first, p.name = s, place.Name
		}
	}
	return p, nil
}

var placeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`)

type places struct {
	by    map[string]http.Handler
	first *site
	name  string // of the first
}

// ServeHTTP leads to the place.
func (p *places) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limitBody(w, r) // what is answered here reads none
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch dashboard := p.by[name]; {
	case dashboard != nil:
		dashboard.ServeHTTP(w, r)
	case r.URL.Path == "" || r.URL.Path == "/":
		p.root(w, r)
	case readsOnly(r.Method) && p.isPage(r.URL.Path): // a link from when there was one dashboard
		p.lead(w, p.name+r.URL.Path, r.URL.RawQuery)
	default:
		secure(w.Header())
		http.Error(w, "there is no such place or page", http.StatusNotFound)
	}
}

func (p *places) isPage(path string) bool {
	for _, route := range p.first.routes {
		if route.Path == path && !route.Acts() {
			return true
		}
	}
	return false
}

func (p *places) lead(w http.ResponseWriter, to, query string) {
	secure(w.Header())
	w.Header().Set("Location", (&url.URL{Path: "./" + to, RawQuery: query}).String())
	w.WriteHeader(http.StatusSeeOther)
}

// root takes a token, whose cookie is then for all places, and leads to the first.
func (p *places) root(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "" || r.URL.Query().Has(tokenKey) {
		p.first.ServeHTTP(w, r)
		return
	}
	p.lead(w, p.name+"/", "")
}
