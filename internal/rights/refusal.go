package rights

import (
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
	return "the user of Redis lacks rights that the role " + e.Role.String() + " needs in namespace " +
		excerpt.Brief(e.Namespace) + ": " + e.What() + ": grant them by ACL SETUSER USER " + e.Grant()
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
func Denied(err error) bool { return redisconn.MeaningOf(err) == redisconn.NoRight }

// ofCommand reports whether a refusal is about the command. It may name the user, who may be called "key".
func ofCommand(text string) bool {
	return strings.Contains(text, "permissions to run") || strings.Contains(text, "can't run")
}

func ofKeys(text string) bool {
	return strings.Contains(text, "key") && !ofCommand(text) && !ofChannels(text)
}

func ofChannels(text string) bool { return strings.Contains(text, "channel") && !ofCommand(text) }
