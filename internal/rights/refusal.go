package rights

import (
	"errors"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

// RefusedError says what the user of a connection may not do that its role needs. Nothing was written.
type RefusedError struct {
	Namespace string
	Role      Role
	Commands  []string // in order
	Keys      bool     // it may not use the keys of the namespace
	Channels  bool     // nor its channels
}

func (e *RefusedError) Error() string { return excerpt.Cut(e.text()) }

func (e *RefusedError) text() string {
	return "the user of Redis lacks rights that a program of role " + e.Role.String() + " needs in namespace " +
		excerpt.Brief(e.Namespace) + ": it is refused " + e.What() + ": grant them by ACL SETUSER USER " + e.Grant()
}

// What lists what is refused.
func (e *RefusedError) What() string {
	what := e.Commands
	if e.Keys {
		what = append(slices.Clone(what), "the keys {"+e.Namespace+"}:*")
	}
	if e.Channels {
		what = append(slices.Clone(what), "the channels {"+e.Namespace+"}:*")
	}
	return strings.Join(what, ", ")
}

// Grant is the rule that adds what is missing.
func (e *RefusedError) Grant() string {
	var rules []string
	if e.Keys {
		rules = append(rules, "'~{"+escaped(e.Namespace)+"}:*'")
	}
	if e.Channels {
		rules = append(rules, "'&{"+escaped(e.Namespace)+"}:*'")
	}
	for _, command := range e.Commands {
		rules = append(rules, "+"+strings.ToLower(command))
	}
	return strings.Join(rules, " ")
}

// Unwrap returns a refusal: nothing was executed, and it concerns the server rather than a job.
func (e *RefusedError) Unwrap() error {
	return &redisconn.ServerError{Code: "NOPERM", Message: "NOPERM this user has too few permissions"}
}

// Is makes it one of another refusal with the same text.
func (e *RefusedError) Is(target error) bool {
	other, is := target.(*RefusedError)
	return is && other.text() == e.text()
}

// Denied reports whether Redis has refused a call because its user lacks a right.
func Denied(err error) bool {
	var refused *redisconn.ServerError
	return errors.As(err, &refused) && denial(refused.Message)
}

// denial reports whether a text says so: inside of a script Redis 7.0 has words of its own.
func denial(text string) bool {
	return strings.HasPrefix(text, "NOPERM") || strings.Contains(text, "user executing the script can't") ||
		strings.Contains(text, "has no permissions to")
}

func ofKeys(text string) bool { return strings.Contains(text, "key") && !ofChannels(text) }

func ofChannels(text string) bool { return strings.Contains(text, "channel") }
