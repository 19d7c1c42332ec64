package redisconn

import (
	"errors"
	"fmt"
	"strings"
)

// Name is what errors call it by.
func (c *Call) Name() string {
	if c.Script != nil {
		return "script " + c.Script.Name
	}
	return c.Command
}

// Check refuses calls that have no meaning on the wire, before anything is sent.
func Check(calls []Call) error {
	for i := range calls {
		c := &calls[i]
		if c.Script == nil && c.Command == "" {
			return fmt.Errorf("call %d has neither a script nor a command: set one", i)
		}
		for j, arg := range c.Args {
			switch arg.(type) {
			case string, []byte, int, int64, bool, *string, *[]byte:
			default:
				return fmt.Errorf("argument %d of %s is a %T: use string, []byte, int, int64 or bool", j, c.Name(), arg)
			}
		}
	}
	return nil
}

// Plain is an argument without the detour of a pointer, for drivers that leave it to a client to write it.
func Plain(arg any) any {
	switch a := arg.(type) {
	case *string:
		return *a
	case *[]byte:
		return *a
	}
	return arg
}

// NotRun are the positions of the scripts that Redis did not run because it does not have their text, and of each WAIT
// behind one of them, which has waited for what was written before, and of each call behind one that must come last.
func NotRun(calls []Call, replies []Reply) []int {
	var positions []int
	for i := range replies {
		if calls[i].Script != nil && replies[i].Err != nil && code(replies[i].Err) == "NOSCRIPT" ||
			(calls[i].Command == "WAIT" || calls[i].Last) && len(positions) > 0 {
			positions = append(positions, i)
		}
	}
	return positions
}

// TurnedAway says whether the server is one that takes no work now: a replica, one that is loading, one that was
// demoted while we waited, one that is cut off from its replicas. The next connection may reach another one.
func TurnedAway(replies []Reply) bool {
	for i := range replies {
		if replies[i].Err == nil {
			continue
		}
		switch code(replies[i].Err) {
		case "READONLY", "LOADING", "MASTERDOWN", "UNBLOCKED", "NOREPLICAS":
			return true
		}
	}
	return false
}

func code(err error) string {
	var refused *ServerError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// Unusable is the refusal of a driver that could not be made: no waiting helps.
func Unusable(err error) error { return &ServerError{Code: "UNUSABLE", Message: err.Error()} }

// ParseServerError finds the code of an error line. Redis before 7 hides the one of a command inside a script behind
// "ERR Error running script (call to f_...): ...: -CODE text", and providers and proxies put "ERR" before it.
//
// Who has not logged in may send ten words at once. A script has more, so that its refusal does not say NOAUTH.
func ParseServerError(line string) *ServerError {
	if strings.HasPrefix(line, "ERR Protocol error: unauthenticated ") {
		return &ServerError{Code: "NOAUTH", Message: "NOAUTH Authentication required. (" + line + ")"}
	}
	first, rest, _ := strings.Cut(line, " ")
	if strings.HasPrefix(line, "ERR Error running script") {
		if _, inner, found := strings.Cut(line, ": -"); found {
			first, _, _ = strings.Cut(inner, " ")
		}
	} else if second, _, _ := strings.Cut(strings.TrimPrefix(rest, "-"), " "); first == "ERR" && codes[second] != 0 {
		first = second
	}
	return &ServerError{Code: first, Message: line}
}
