package webui

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ProxyLogin says which proxy tells who sent a request, and how.
type ProxyLogin struct {
	From         []netip.Prefix // addresses of the proxy: all others are refused. At least one
	UserHeader   string         // in which it says who that is, such as "X-Forwarded-User"; not empty
	GroupsHeader string         // in which it says their groups, with commas between; "" for none

	// Role says what somebody may do, by the user and groups that the proxy has told; nil makes viewers of all. It is
	// called concurrently.
	Role func(user string, groups []string) Role
}

// ProxyAuth is an [Authorizer] for a dashboard behind a proxy that logs people in, by OpenID Connect for instance, and
// tells who they are in a header. A request that does not come from the proxy's address is refused, whatever its
// headers say; so is one without the header, or with two of it or of the groups. The proxy must take those headers
// out of what it receives: what it passes on is believed. An address that is missing or a header without a name is an
// error.
func ProxyAuth(login ProxyLogin) (Authorizer, error) {
	switch {
	case len(login.From) == 0:
		return nil, errors.New("a proxy without an address lets anybody say who they are: give its addresses in From")
	case login.UserHeader == "":
		return nil, errors.New("a proxy without a header cannot say who sent a request: give UserHeader")
	}
	for _, from := range login.From {
		if !from.IsValid() {
			return nil, fmt.Errorf("the address %s of a proxy cannot be: give one as 10.0.0.5/32", from)
		}
	}
	login.From = slices.Clone(login.From)
	return login.authorize, nil
}

var (
	errNotProxy = errors.New("only the proxy that logs people in is let in here: go there")
	errNoUser   = errors.New("the proxy has not said who you are: log in there")
)

// twiceError is a header that came twice, where one of them may be smuggled.
type twiceError struct{ header string }

func (e *twiceError) Error() string {
	return fmt.Sprintf("the header %s came twice: send it once. A proxy must overwrite what it receives", e.header)
}

func (l ProxyLogin) authorize(r *http.Request) (Role, string, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil ||
		!slices.ContainsFunc(l.From, func(p netip.Prefix) bool { return p.Contains(peer.Addr().Unmap()) }) {
		return RoleNone, "", errNotProxy
	}
	if err := cmp.Or(onlyOnce(r, l.UserHeader), onlyOnce(r, l.GroupsHeader)); err != nil {
		return RoleNone, "", err
	}
	user, role := strings.TrimSpace(r.Header.Get(l.UserHeader)), RoleViewer
	if user == "" {
		return RoleNone, "", errNoUser
	}
	if l.Role != nil {
		role = l.Role(user, l.groups(r))
	}
	return role, user, nil
}

// onlyOnce refuses a header that came twice: the proxy may have looked at the other one.
func onlyOnce(r *http.Request, header string) error {
	if header != "" && len(r.Header.Values(header)) > 1 {
		return &twiceError{header}
	}
	return nil
}

func (l ProxyLogin) groups(r *http.Request) (groups []string) {
	if l.GroupsHeader == "" {
		return nil
	}
	for group := range strings.SplitSeq(r.Header.Get(l.GroupsHeader), ",") {
		if group = strings.TrimSpace(group); group != "" {
			groups = append(groups, group)
		}
	}
	return groups
}
