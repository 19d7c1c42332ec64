package redisconn

import (
	"errors"
	"strings"
)

// ErrorClass is what the error of a call means for the one who made it.
type ErrorClass struct {
	MayCount bool // it may have been executed, or may still be
	Again    bool // another attempt may go well
}

// Classify says what an error means; the zero class is that of nil, too.
func Classify(err error) ErrorClass {
	var refused *ServerError
	var notSent *DialError
	var strange *UnexpectedReplyError
	switch {
	case err == nil, neverRight(err):
		return ErrorClass{}
	case errors.As(err, &refused):
		return ErrorClass{Again: Passes(err)}
	case errors.As(err, &notSent):
		return ErrorClass{Again: !errors.Is(err, ErrClosed)}
	case errors.As(err, &strange):
		return ErrorClass{MayCount: true}
	}
	return ErrorClass{MayCount: true, Again: true}
}

// IsFull tells whether Redis refused something because it has no memory left.
func IsFull(err error) bool {
	var refused *ServerError
	return errors.As(err, &refused) && refused.Code == "OOM"
}

// Passes tells whether a refusal ends by itself: the server is loading, a replica, busy, cannot write its snapshot now,
// has no connection left or too few replicas, was demoted while we waited, or gave the slot to another server of its
// cluster, which is whole again soon.
func Passes(err error) bool {
	var refused *ServerError
	if !errors.As(err, &refused) || neverRight(err) {
		return false
	}
	switch refused.Code {
	case "LOADING", "READONLY", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "NOREPLICAS",
		"MISCONF", "UNBLOCKED":
		return true
	}
	return strings.Contains(refused.Message, "max number of clients")
}

// Refused tells whether Redis has answered, and executed nothing.
func Refused(err error) bool {
	var refused *ServerError
	return errors.As(err, &refused)
}

// ConcernsServer tells whether a refusal has to do with the server as a whole, and not with one job: what is refused
// so is kept and sent again, since somebody will mend the server.
func ConcernsServer(err error) bool {
	var refused *ServerError
	if !errors.As(err, &refused) {
		return false
	}
	var wrong *WrongServerError
	if errors.As(err, &wrong) {
		return true
	}
	switch refused.Code {
	case "OOM", "UNKILLABLE", "NOAUTH", "NOPERM", "WRONGPASS":
		return true
	}
	return Passes(err)
}
