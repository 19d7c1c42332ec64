package webui

import (
	"net/http"
	"slices"
	"time"

	"github.com/265d0351/work/webui/internal/api"
	"github.com/265d0351/work/webui/internal/pages"
	"github.com/265d0351/work/webui/internal/visit"
)

// Route is one thing that a dashboard answers.
type Route struct {
	Method string // GET or POST; GET includes HEAD
	Path   string // below the prefix; a part in braces is any
	Role   Role   // that it needs
	Menu   string // its entry in the menu; "" has none
	Group  string // of the menu, in which that is; "" stands above all groups
	Key    string // that leads there in a browser
	What   string // it is for, in words
}

// Acts tells whether the route changes something, or costs so much that only operators may have it done.
func (r Route) Acts() bool { return r.Method == http.MethodPost }

// Routes returns all of them, in order.
func Routes() []Route {
	var all []Route
	for _, r := range routesOf(pages.New(&visit.Site{}, time.Now)) {
		role := RoleViewer
		if r.Operator {
			role = RoleOperator
		}
		all = append(all, Route{Method: r.Method, Path: r.Path, Role: role, Menu: r.Menu, Group: r.Group, Key: r.Key,
			What: r.What})
	}
	return all
}

func routesOf(p *pages.Site) []visit.Route { return slices.Concat(p.Routes(), api.Routes()) }

// muxPath is the path as the mux knows it: "/" alone is the page, not all below it.
func muxPath(path string) string {
	if path == "/" {
		return "/{$}"
	}
	return path
}
