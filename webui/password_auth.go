package webui

import (
	"net/http"
	"time"

	"github.com/265d0351/work/webui/internal/tries"
)

// Account is a user of a dashboard whose password is compared by the program.
type Account struct {
	Role Role // RoleViewer or RoleOperator; RoleNone lets nobody in

	// Secret is what the password is compared with, such as its hash. Whoever has come in is compared again when it is
	// another one.
	Secret string

	// Right reports whether the password is right. It is called concurrently, and not for each request: once for a user
	// at an address.
	Right func(r *http.Request, password string) bool
}

// PasswordAuth is an [Authorizer] that asks for user and password, and has the account compare them. account is called
// concurrently with whatever name somebody sends; for one that is unknown Right should take as long as for others.
//
// At one address a user has five tries and then one in twelve seconds. Beyond that the answer is 429, and nothing is
// compared. There are wider bounds for an address, a user and all.
func PasswordAuth(account func(user string) Account) Authorizer {
	return passwordAuth(account, time.Now)
}

func passwordAuth(account func(user string) Account, now func() time.Time) Authorizer {
	limiter := tries.New(now)
	return func(r *http.Request) (Role, string, error) {
		user, password, tried := r.BasicAuth()
		if !tried {
			return RoleNone, "", &LoginError{Challenge: asksForPassword}
		}
		a := account(user)
		try := tries.Try{Name: user, Password: password, Remote: r.RemoteAddr, Against: a.Secret}
		in, wait := limiter.Let(try, func() bool { return a.Right(r, password) && a.Role != RoleNone })
		switch {
		case wait > 0:
			return RoleNone, "", &LoginError{Wait: wait, Tried: user}
		case !in || a.Role == RoleNone:
			return RoleNone, "", &LoginError{Challenge: asksForPassword, Tried: user}
		}
		return a.Role, user, nil
	}
}

const asksForPassword = `Basic realm="work", charset="UTF-8"`
