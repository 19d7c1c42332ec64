package webui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// Handler returns the dashboard of the inspector's namespace. It serves any prefix that is stripped before it, see the
// package's doc, and holds no goroutine while no stream is open. The inspector stays the caller's, who closes it last.
func Handler(inspector *work.Inspector, opts Options) http.Handler {
	s := &site{inspector: inspector, options: opts.withDefaults(), mux: http.NewServeMux(), signKey: rand.Text()}
	s.feed, s.watch = newFeed(s), &watch{site: s, now: time.Now}
	for _, route := range routes {
		s.mux.HandleFunc(route.Method+" "+muxPath(route.Path), func(w http.ResponseWriter, r *http.Request) {
			visitOf(r).enter(route)
		})
	}
	return s
}

// site is one dashboard.
type site struct {
	inspector *work.Inspector
	options   Options
	mux       *http.ServeMux
	origins   http.CrossOriginProtection
	signKey   string // of notices: those of before a restart are not shown
	feed      *feed
	watch     *watch
}

// visit is one request under way.
type visit struct {
	*site
	w     http.ResponseWriter
	r     *http.Request
	path  string     // below the prefix
	query url.Values // of the URL
	role  Role
	actor string

	audited bool
}

type visitKey struct{}

func visitOf(r *http.Request) *visit { return r.Context().Value(visitKey{}).(*visit) }

// maxBody is how much a form may hold.
const maxBody = 2 << 20

// ServeHTTP answers one request.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	v := &visit{site: s, w: w, path: r.URL.Path, query: r.URL.Query()}
	v.r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	v.r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	defer v.rescue()
	err := v.admit()
	var login *LoginError
	switch {
	case err == nil:
		v.dispatch()
	case errors.As(err, &login):
		v.letIn(login.cookie)
	default:
		v.fail(err)
	}
}

// dispatch finds the route. The mux would send a path that is not clean to its clean form, without the prefix that it
// does not know.
func (v *visit) dispatch() {
	switch escaped := v.r.URL.EscapedPath(); {
	case escaped == "":
		v.redirectToRoot()
	case escaped != path.Clean(escaped):
		v.fail(errNoPage)
	default:
		if _, pattern := v.mux.Handler(v.r); pattern != "" {
			v.mux.ServeHTTP(v.w, v.r)
			return
		}
		v.fail(v.noRoute())
	}
}

// redirectToRoot adds the slash without which relative links lead beside the prefix.
func (v *visit) redirectToRoot() {
	asked, _, _ := strings.Cut(v.r.RequestURI, "?")
	v.w.Header().Set("Location", "./"+path.Base(asked)+"/")
	v.w.WriteHeader(http.StatusTemporaryRedirect)
}

// noRoute tells a page that is not there from a method that is not for it.
func (v *visit) noRoute() error {
	var allowed []string
	for _, route := range routes {
		if route.Path == v.path {
			allowed = append(allowed, route.Method)
		}
	}
	if allowed == nil {
		return errNoPage
	}
	v.w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &statusError{http.StatusMethodNotAllowed,
		fmt.Sprintf("this is for %s requests only", strings.Join(allowed, " and "))}
}

// admit finds out who it is, before anything is read.
func (v *visit) admit() error {
	role, actor, err := v.options.Authorize(v.r)
	var login *LoginError
	switch {
	case errors.As(err, &login) && login.cookie != nil:
		return login
	case errors.As(err, &login) && login.byToken && readsOnly(v.r.Method) && strings.HasPrefix(v.path, "/assets/"):
		return nil // the page that asks for the token has its style
	case errors.As(err, &login):
		if login.Challenge != "" {
			v.w.Header().Set("WWW-Authenticate", login.Challenge)
		}
		if login.byToken {
			return errNoToken
		}
		return &statusError{http.StatusUnauthorized, "log in to see this"}
	case errors.Is(err, errNotLoopback), errors.Is(err, errNoAuthorizer):
		return &statusError{http.StatusForbidden, err.Error()}
	case err != nil:
		v.options.Logger.Error("dashboard: it cannot be told who sent a request", "error", err, "remote",
			v.r.RemoteAddr)
		return &statusError{http.StatusInternalServerError,
			"it cannot be told who you are: the log of the program says why"}
	case role < RoleViewer:
		return &statusError{http.StatusForbidden, "you may not see this: ask for the role of a viewer"}
	}
	v.role, v.actor = role, actor
	return nil
}

// enter opens a route to those who may use it.
func (v *visit) enter(route Route) {
	if err := v.mayEnter(route); err != nil {
		v.audit(OutcomeRefused, err.Error())
		v.fail(err)
		return
	}
	if route.Acts() {
		defer v.watch.forget()
	}
	err := route.handle(v)
	if err != nil && route.Acts() && !v.audited {
		v.audit(OutcomeFailed, err.Error(), v.query.Get("id"))
	}
	if err != nil {
		v.fail(err)
	}
}

func (v *visit) mayEnter(route Route) error {
	if !route.Acts() {
		return nil
	}
	if err := v.origins.Check(v.r); err != nil {
		return &statusError{http.StatusForbidden,
			"another site has sent this request: nothing was done. Use the buttons of this page"}
	}
	if v.options.ReadOnly {
		return &statusError{http.StatusForbidden, "this dashboard is for reading only: nothing was done"}
	}
	if v.role < route.Role {
		return &statusError{http.StatusForbidden, "this needs the role of an operator: nothing was done"}
	}
	return nil
}

// canAct tells whether the page should have buttons.
func (v *visit) canAct() bool { return v.role >= RoleOperator && !v.options.ReadOnly }

func (v *visit) ctx() context.Context { return v.r.Context() }

// rescue answers for a panic as net/http does, but with a page.
func (v *visit) rescue() {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler {
		panic(value)
	}
	v.options.Logger.Error("dashboard: a page panicked", slog.Any("panic", value), slog.String("path", v.path),
		slog.String("stack", string(debug.Stack())))
	v.fail(&statusError{http.StatusInternalServerError,
		"something is wrong with this page: the log of the program says what"})
}

// secure makes the browser refuse what no page of ours needs. Pages hold args, so nobody keeps a copy. Without any
// referrer browsers would hide the origin of our own forms too, and those would be refused.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// patience is how long a page waits for Redis.
const patience = 15 * time.Second
