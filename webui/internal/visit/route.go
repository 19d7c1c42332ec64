package visit

import "net/http"

// Route is one thing that a dashboard answers.
type Route struct {
	Method   string // GET or POST; GET includes HEAD
	Path     string // below the prefix; a part in braces is any
	Operator bool   // only operators may
	Menu     string // its entry in the menu; "" has none
	Group    string // of the menu, in which that is; "" stands above all groups
	Key      string // that leads there in a browser
	What     string // it is for, in words
	Still    bool   // that it has answered does not say that Redis has
	Handle   func(*Visit) error
}

// View is a route that reads.
func View(path, what string, handle func(*Visit) error) Route {
	return Route{Method: http.MethodGet, Path: path, What: what, Handle: handle}
}

// StillView is a route that reads nothing of Redis, or goes on whether that answers or not.
func StillView(path, what string, handle func(*Visit) error) Route {
	route := View(path, what, handle)
	route.Still = true
	return route
}

// InMenu puts a page into the menu, above its groups.
func InMenu(entry, key string, page Route) Route {
	page.Menu, page.Key = entry, key
	return page
}

// InGroup puts pages of the menu into one of its groups.
func InGroup(group string, pages ...Route) []Route {
	for n := range pages {
		if pages[n].Menu != "" {
			pages[n].Group = group
		}
	}
	return pages
}

// Action is a route that changes something, or costs so much that only operators may have it done.
func Action(path, what string, handle func(*Visit) error) Route {
	return Route{Method: http.MethodPost, Path: path, Operator: true, What: what, Handle: handle}
}

// Acts tells whether the route changes something.
func (r Route) Acts() bool { return r.Method == http.MethodPost }
