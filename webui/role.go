package webui

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Role is what somebody may do. Each includes those before it.
type Role int

// The roles. The zero value may do nothing.
const (
	RoleNone Role = iota
	RoleViewer
	RoleOperator
)

// String is the role in lower case.
func (r Role) String() string {
	switch r {
	case RoleViewer:
		return "viewer"
	case RoleOperator:
		return "operator"
	}
	return "none"
}

// Authorizer tells who sent a request, before anything else is done for it. Actor is a name for the audit, and may be
// empty. RoleNone is refused with 403. An error refuses as well: with 401 and its challenge when it is a *[LoginError],
// else with 500, since it is not known who that is. It is called concurrently, also by streams when they begin.
type Authorizer func(r *http.Request) (role Role, actor string, err error)

// LoginError asks for credentials.
type LoginError struct {
	Challenge string // the WWW-Authenticate header; "" sends none
	// above 0: they were tried too often, and the answer is 429 with this time in Retry-After, in seconds
	Wait time.Duration
	// Tried is the name under which a wrong login came, for the log and the audit; "" where nothing was tried
	Tried string

	byToken bool         // a form asks for it
	cookie  *http.Cookie // the token was right: this comes in its place
}

func (e *LoginError) Error() string { return "a login is needed" }

// InsecureLoopback makes an operator of everybody who connects from this machine and asks for it by a name of this
// machine, without a login, and refuses all others. It must be asked for: every user and program of the machine can
// connect, and behind a proxy that says nothing of whom it serves, as a bare proxy_pass of nginx does, everybody comes
// from this machine. It does refuse what a proxy says to have passed on.
func InsecureLoopback(r *http.Request) (Role, string, error) {
	if !fromLoopback(r.RemoteAddr) || !asksLoopback(r.Host) || passedOn(r.Header) {
		return RoleNone, "", errNotLoopback
	}
	return RoleOperator, "loopback", nil
}

var errNotLoopback = errors.New("only this machine is let in here, directly and by the name localhost or its address")

// nobody is the authorizer of a handler that was given none: where a request comes from does not tell who sent it.
func nobody(*http.Request) (Role, string, error) { return RoleNone, "", errNoAuthorizer }

var errNoAuthorizer = errors.New("nobody can be let in, since this dashboard was not told who may come: " +
	"its program should set webui.Options.Authorize, for instance to webui.TokenAuth or webui.BasicAuth")

func fromLoopback(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// asksLoopback keeps out a site whose name was made to point to this machine: a browser sends that name.
func asksLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func passedOn(header http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if len(header.Values(name)) > 0 {
			return true
		}
	}
	return false
}
