package webui

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
	"github.com/265d0351/work/internal/slowbody"
	"github.com/265d0351/work/webui/internal/api"
	"github.com/265d0351/work/webui/internal/causes"
	"github.com/265d0351/work/webui/internal/find"
	"github.com/265d0351/work/webui/internal/pages"
	"github.com/265d0351/work/webui/internal/visit"
)

// Handler returns the dashboard of the inspector's namespace. It serves any prefix that is stripped before it, see the
// package's doc, and holds no goroutine while no stream is open. The inspector stays the caller's, who closes it last.
func Handler(inspector *inspect.Inspector, opts Options) http.Handler {
	return newSite(inspector, opts, time.Now)
}

func newSite(inspector *inspect.Inspector, opts Options, now func() time.Time) *site {
	s := &site{options: opts.withDefaults(), mux: http.NewServeMux(), failed: newFailedLogins(now)}
	s.shared = &visit.Site{
		Title: s.options.Title, Inspector: inspector, Enqueuer: s.options.Enqueuer, Logger: s.options.Logger,
		StuckAfter: s.options.StuckAfter, MaxStreams: s.options.MaxStreams, Redaction: s.options.Redact,
		Opener: s.options.opener(),
		// who has lost a place may not have left yet
		Searches: find.New(inspector, 2*s.options.MaxStreams), Deploys: &causes.Deploys{},
	}
	s.pages = pages.New(s.shared, now)
	s.routes = routesOf(s.pages)
	for _, route := range s.routes {
		s.mux.HandleFunc(route.Method+" "+muxPath(route.Path), func(w http.ResponseWriter, r *http.Request) {
			callerOf(r).enter(route)
		})
	}
	return s
}

// site is one dashboard. It finds out who asks and what they may do; pages and API answer.
type site struct {
	options Options
	shared  *visit.Site
	pages   *pages.Site
	routes  []visit.Route
	mux     *http.ServeMux
	origins http.CrossOriginProtection
	failed  *failedLogins
}

// caller is who sent a request that is under way, and what they may do.
type caller struct {
	*visit.Visit
	site     *site
	role     Role
	bodyRead bool
}

type callerKey struct{}

func callerOf(r *http.Request) *caller { return r.Context().Value(callerKey{}).(*caller) }

// ServeHTTP answers one request.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	limitBody(w, r)
	v := &caller{site: s, Visit: &visit.Visit{Site: s.shared, W: w, Path: r.URL.Path, Query: r.URL.Query(),
		Role: RoleNone.String()}}
	v.R = r.WithContext(context.WithValue(r.Context(), callerKey{}, v))
	v.Record = v.record
	defer v.rescue()
	err := v.admit()
	if !v.MaySee {
		v.dismiss()
	}
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

const bodyWithin = slowbody.Within

// limitBody keeps a body that does not come from holding the connection.
func limitBody(w http.ResponseWriter, r *http.Request) { slowbody.Limit(w, r) }

// dispatch finds the route. The mux would send a path that is not clean to its clean form, without the prefix that it
// does not know.
func (v *caller) dispatch() {
	switch escaped := v.R.URL.EscapedPath(); {
	case escaped == "":
		v.redirectToRoot()
	case escaped != path.Clean(escaped):
		v.fail(visit.ErrNoPage)
	default:
		if _, pattern := v.site.mux.Handler(v.R); pattern != "" {
			v.site.mux.ServeHTTP(v.W, v.R)
			return
		}
		v.fail(v.noRoute())
	}
}

// redirectToRoot adds the slash without which relative links lead beside the prefix.
func (v *caller) redirectToRoot() {
	asked, _, _ := strings.Cut(v.R.RequestURI, "?")
	v.W.Header().Set("Location", "./"+path.Base(asked)+"/")
	v.W.WriteHeader(http.StatusTemporaryRedirect)
}

// noRoute tells a page that is not there from a method that is not for it.
func (v *caller) noRoute() error {
	var allowed []string
	for _, route := range v.site.routes {
		if route.Path == v.Path {
			allowed = append(allowed, route.Method)
		}
	}
	if allowed == nil {
		return visit.ErrNoPage
	}
	v.W.Header().Set("Allow", strings.Join(allowed, ", "))
	return &visit.StatusError{Status: http.StatusMethodNotAllowed,
		Text: fmt.Sprintf("this is for %s requests only", strings.Join(allowed, " and "))}
}

// admit finds out who it is, before anything is read.
func (v *caller) admit() error {
	var role Role
	var actor string
	err := onlyOnce(v.R, "Authorization")
	if err == nil {
		role, actor, err = v.site.options.Authorize(v.R)
	}
	var login *LoginError
	var twice *twiceError
	switch {
	case errors.As(err, &twice):
		return visit.BadRequest(twice.Error())
	case errors.As(err, &login) && login.Tried != "":
		v.noteFailed(login)
	}
	switch {
	case errors.As(err, &login) && login.cookie != nil:
		return login
	case errors.As(err, &login) && login.byToken && readsOnly(v.R.Method) && strings.HasPrefix(v.Path, "/assets/"):
		return nil // the page that asks for the token has its style
	case errors.As(err, &login) && login.Wait > 0:
		v.W.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(login.Wait.Seconds()))))
		return &visit.StatusError{Status: http.StatusTooManyRequests,
			Text: "that was wrong too often: wait a little before the next try"}
	case errors.As(err, &login):
		if login.Challenge != "" {
			v.W.Header().Set("WWW-Authenticate", login.Challenge)
		}
		if login.byToken {
			return visit.ErrNoToken
		}
		return &visit.StatusError{Status: http.StatusUnauthorized, Text: "log in to see this"}
	case errors.Is(err, errNotProxy), errors.Is(err, errNoUser):
		v.site.failed.log(v, slog.LevelWarn, "dashboard: a request was not let in", "why", err)
		return &visit.StatusError{Status: http.StatusForbidden, Text: err.Error()}
	case errors.Is(err, errNotLoopback), errors.Is(err, errNoAuthorizer):
		return &visit.StatusError{Status: http.StatusForbidden, Text: err.Error()}
	case err != nil:
		v.site.failed.log(v, slog.LevelError, "dashboard: it cannot be told who sent a request", "error", err)
		return &visit.StatusError{Status: http.StatusInternalServerError,
			Text: "it cannot be told who you are: the log of the program says why"}
	case role < RoleViewer:
		return &visit.StatusError{Status: http.StatusForbidden,
			Text: "you may not see this: ask for the role of a viewer"}
	}
	v.role, v.Actor, v.Role, v.MaySee = role, actor, role.String(), true
	v.MayAct = role >= RoleOperator && !v.site.options.ReadOnly
	v.MayOpen = v.Opener != nil && role >= RoleOperator
	return nil
}

// enter opens a route to those who may use it.
func (v *caller) enter(route visit.Route) {
	if err := v.mayEnter(route); err != nil {
		v.Audit(visit.Refused, err.Error())
		v.fail(err)
		return
	}
	if route.Acts() {
		defer v.site.pages.Changed()
		defer v.site.shared.Searches.Changed()
	} else { // what the others say is shown, with what is missing
		var ctx context.Context
		ctx, v.Missing = partly.Collect(v.R.Context())
		v.R = v.R.WithContext(ctx)
	}
	err := v.readBody()
	if err == nil {
		err = route.Handle(v.Visit)
	}
	if err != nil && route.Acts() && !v.Audited() {
		v.Audit(visit.Failed, err.Error(), v.Query.Get("id"))
	}
	switch {
	case err != nil:
		v.fail(err)
	case !route.Still:
		v.Reached()
	}
}

func (v *caller) mayEnter(route visit.Route) error {
	if !route.Acts() {
		return nil
	}
	if err := v.site.origins.Check(v.R); err != nil {
		return &visit.StatusError{Status: http.StatusForbidden,
			Text: "another site has sent this request: nothing was done. Use the buttons of this page"}
	}
	if v.site.options.ReadOnly {
		return &visit.StatusError{Status: http.StatusForbidden,
			Text: "this dashboard is for reading only: nothing was done"}
	}
	if route.Operator && v.role < RoleOperator {
		return &visit.StatusError{Status: http.StatusForbidden,
			Text: "this needs the role of an operator: nothing was done"}
	}
	return nil
}

// fail answers with a page that says what is wrong, or a program with JSON.
func (v *caller) fail(err error) {
	v.dismiss()
	if strings.HasPrefix(v.Path, "/api/") {
		api.Fail(v.Visit, err)
		return
	}
	v.site.pages.Fail(v.Visit, err)
}

// rescue answers for a panic as net/http does, but with a page.
func (v *caller) rescue() {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler {
		panic(value)
	}
	visit.LogPanic(v.site.options.Logger, "a page panicked", value, "path", v.Path)
	v.fail(&visit.StatusError{Status: http.StatusInternalServerError,
		Text: "something is wrong with this page: the log of the program says what"})
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
