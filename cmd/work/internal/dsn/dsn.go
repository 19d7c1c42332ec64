// Package dsn reads the address of a Redis: whether it outlives the program, and how it may be shown.
package dsn

import (
	"net/url"
	"strings"
)

// parse takes several servers behind each other, too, which are no URL.
func parse(dsn string) (*url.URL, error) {
	scheme, rest, _ := strings.Cut(dsn, "://")
	end := len(rest)
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		end = at
	}
	user, hosts := "", rest[:end]
	if at := strings.LastIndexByte(hosts, '@'); at >= 0 {
		user, hosts = hosts[:at+1], hosts[at+1:]
	}
	first, _, several := strings.Cut(hosts, ",")
	if !several {
		return url.Parse(dsn)
	}
	u, err := url.Parse(scheme + "://" + user + first + rest[end:])
	if err == nil {
		u.Host = hosts
	}
	return u, err
}

// InMemory recognizes the DSN of a Redis that lives in one process and ends with it.
func InMemory(dsn string) bool {
	scheme, _, found := strings.Cut(dsn, ":")
	return found && strings.EqualFold(scheme, "memory")
}

// Lasting is the DSN, or "" if that of a Redis within one process: child processes would each get their own, and what
// is in it is gone with the program. The demo's embedded one serves the same purpose, and them as well.
func Lasting(dsn string) string {
	if InMemory(dsn) {
		return ""
	}
	return dsn
}

// Redacted is a DSN without its password.
func Redacted(dsn string) string {
	parsed, err := parse(dsn)
	if err != nil {
		return "the given DSN"
	}
	parsed.RawQuery = ""
	return parsed.Redacted()
}

// Place is where a DSN leads, without the password.
func Place(dsn string) string {
	u, err := parse(dsn)
	if err != nil {
		return ""
	}
	return u.Host + u.Path
}

// HasPassword tells whether a DSN has a password in it.
func HasPassword(dsn string) bool {
	u, err := parse(dsn)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// WithPassword is a DSN with a password in it. One that cannot be read stays as it is: whoever opens it says why.
func WithPassword(dsn, password string) string {
	u, err := parse(dsn)
	if err != nil || InMemory(dsn) {
		return dsn
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String()
}
