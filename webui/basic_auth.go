package webui

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Login is somebody who may come in by [BasicAuth].
type Login struct {
	User     string // not empty, without a colon; it is the actor of the audit
	Password string // not empty
	Role     Role   // RoleViewer or RoleOperator
}

// BasicAuth is an [Authorizer] that asks for user and password. Whether a guess is wrong, and where, does not show in
// the time that the answer takes. At one address a user has five tries and then one in twelve seconds, before the
// answer is 429; there are wider bounds for an address, a user and all. The password goes over the wire with each
// request: serve it by HTTPS. A login that cannot be, two of one user, or none at all is an error.
func BasicAuth(logins ...Login) (Authorizer, error) {
	if len(logins) == 0 {
		return nil, errors.New("basic auth without a login lets nobody in: give one")
	}
	known := make([]credential, len(logins))
	users := map[string]bool{}
	for i, login := range logins {
		if err := login.validate(); err != nil {
			return nil, err
		}
		if users[login.User] {
			return nil, fmt.Errorf("there are two logins of user %q: give one", login.User)
		}
		users[login.User] = true
		known[i] = credential{login: login, digest: digest(login.User, login.Password)}
	}
	return PasswordAuth(func(user string) Account { return accountOf(known, user) }), nil
}

func (l Login) validate() error {
	switch {
	case l.User == "" || strings.Contains(l.User, ":"):
		return fmt.Errorf("the user %q of a login cannot be: give a name without a colon", l.User)
	case l.Password == "":
		return fmt.Errorf("the password of user %q is empty: give one", l.User)
	case l.Role != RoleViewer && l.Role != RoleOperator:
		return fmt.Errorf("user %q has the role %s: give RoleViewer or RoleOperator", l.User, l.Role)
	}
	return nil
}

// credential is a login, and what is compared of it: digests have one length, which says nothing of what was typed.
type credential struct {
	login  Login
	digest [sha256.Size]byte
}

func digest(user, password string) [sha256.Size]byte {
	return sha256.Sum256([]byte(user + ":" + password))
}

// accountOf compares with all of them, also after it has found the right one.
func accountOf(known []credential, user string) (a Account) {
	for _, one := range known {
		if one.login.User == user {
			a.Role = one.login.Role
		}
	}
	a.Right = func(_ *http.Request, password string) bool {
		given, right := digest(user, password), 0
		for _, one := range known {
			right |= subtle.ConstantTimeCompare(given[:], one.digest[:])
		}
		return right == 1
	}
	return a
}
