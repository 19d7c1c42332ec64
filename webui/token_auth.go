package webui

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// minToken is how short a token may be. One of crypto/rand.Text, which nobody guesses, has 26 characters.
const minToken = 16

// TokenAuth is an [Authorizer] that lets in who knows one secret, as notebooks do: browsers bring it once as ?token= in
// the address of any page, which becomes a cookie that no script can read, and are then sent on to the address without
// it; or type it where they are asked. Programs send it as "Authorization: Bearer <token>". The cookie does not hold
// the token, lasts until the browser ends, and is good for every dashboard with the same token, such as replicas or the
// one after a restart.
//
// Take a random token, as crypto/rand.Text makes one; whoever sees it can come in. It goes over the wire with the first
// request, and the cookie with all others: over a network serve it by HTTPS. A token of fewer than 16 bytes, or a role
// that is none, is an error.
func TokenAuth(token string, role Role) (Authorizer, error) {
	if len(token) < minToken {
		return nil, fmt.Errorf("a token of %d bytes can be guessed: give one of %d or more, such as crypto/rand.Text()",
			len(token), minToken)
	}
	if role != RoleViewer && role != RoleOperator {
		return nil, fmt.Errorf("a token for the role %s lets nobody in: give RoleViewer or RoleOperator", role)
	}
	pass := &tokenPass{role: role, token: sha256.Sum256([]byte(token))}
	pass.cookie = "work-" + derive(token, "name")[:12] // dashboards on other ports of a host share its cookies
	pass.value = derive(token, "value")
	return pass.authorize, nil
}

// derive makes what tells nothing of the token.
func derive(token, purpose string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("work dashboard " + purpose))
	return hex.EncodeToString(mac.Sum(nil))
}

// tokenPass is what a token opens. What is compared has one length, and takes one time.
type tokenPass struct {
	role   Role
	token  [sha256.Size]byte
	cookie string
	value  string
}

func (p *tokenPass) authorize(r *http.Request) (Role, string, error) {
	if given := r.URL.Query().Get(tokenKey); given != "" && readsOnly(r.Method) && p.knows(given) {
		return RoleNone, "", &LoginError{cookie: &http.Cookie{
			Name: p.cookie, Value: p.value, HttpOnly: true, Secure: byHTTPS(r), SameSite: http.SameSiteLaxMode,
		}} // without a path it is for the pages beside this one, wherever the browser sees them
	}
	tried := ""
	if r.URL.Query().Has(tokenKey) || r.Header.Get("Authorization") != "" {
		tried = "token"
	}
	given, scheme := r.Header.Get("Authorization"), "Bearer "
	bearer := len(given) > len(scheme) && strings.EqualFold(given[:len(scheme)], scheme) // RFC 9110: in any case
	if bearer && p.knows(given[len(scheme):]) {
		return p.role, "token", nil
	}
	for _, cookie := range r.CookiesNamed(p.cookie) {
		if subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(p.value)) == 1 {
			return p.role, "token", nil
		}
	}
	return RoleNone, "", &LoginError{Challenge: `Bearer realm="work"`, byToken: true, Tried: tried}
}

func (p *tokenPass) knows(given string) bool {
	digest := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(digest[:], p.token[:]) == 1
}

// tokenKey is how a token is called in the query.
const tokenKey = "token"

func readsOnly(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// byHTTPS believes what a proxy says: who lies about it keeps only their own cookie from working.
func byHTTPS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// letIn keeps the cookie in the browser, and the token out of its address, its history and the links that lead away.
func (v *caller) letIn(cookie *http.Cookie) {
	http.SetCookie(v.W, cookie)
	asked, _, _ := strings.Cut(v.R.RequestURI, "?")
	location := "./"
	switch escaped := v.R.URL.EscapedPath(); {
	case escaped == "":
		location += path.Base(asked) + "/"
	case !strings.HasSuffix(escaped, "/"):
		location += path.Base(escaped)
	}
	v.Query.Del(tokenKey)
	if rest := v.Query.Encode(); rest != "" {
		location += "?" + rest
	}
	v.W.Header().Set("Location", location)
	v.W.WriteHeader(http.StatusSeeOther)
}
