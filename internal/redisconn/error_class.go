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
	var notSent *DialError
	var strange *UnexpectedReplyError
	switch m := MeaningOf(err); {
	case err == nil:
		return ErrorClass{}
	case m != NoAnswer:
		return ErrorClass{Again: m == Passing || m == NoRight || m == Unknown, MayCount: raised(err, m)}
	case errors.As(err, &notSent):
		return ErrorClass{Again: !errors.Is(err, ErrClosed)}
	case errors.As(err, &strange):
		return ErrorClass{MayCount: true}
	}
	return ErrorClass{MayCount: true, Again: true}
}

// Meaning is what a refusal means: who is to blame, and what helps.
type Meaning int

// The meanings. Only OfCall may be held against a job.
const (
	NoAnswer Meaning = iota // it is no refusal of a server
	Unknown                 // words that are in no table: the server's, unless others pass while this call does not
	Passing                 // it ends by itself: the server loads, was demoted, is busy, or a proxy does not reach it
	NoRight                 // this user may not do that: somebody gives the right back
	Full                    // no memory is left
	Unfit                   // a wrong server, a wrong password or a missing command: no waiting helps
	OfCall                  // the call itself, or a key that it names
)

// MeaningOf finds the meaning of an error by the code of the refusal, and where that says nothing by its words.
func MeaningOf(err error) Meaning {
	var wrong *WrongServerError
	var refused *ServerError
	switch {
	case !errors.As(err, &refused):
		return NoAnswer
	case !errors.As(err, &wrong):
	case wrong.MayPass:
		return Passing
	default:
		return Unfit
	}
	if m, known := codes[refused.Code]; known {
		return m
	}
	text := strings.ToLower(refused.Message)
	for _, p := range phrases {
		if strings.Contains(text, p.words) {
			return p.meaning
		}
	}
	return Unknown
}

// codes are the first words of refusals, as [ParseServerError] finds them.
var codes = map[string]Meaning{
	"LOADING": Passing, "READONLY": Passing, "BUSY": Passing, "UNKILLABLE": Passing, "MASTERDOWN": Passing,
	"CLUSTERDOWN": Passing, "TRYAGAIN": Passing, "MOVED": Passing, "ASK": Passing, "NOREPLICAS": Passing,
	"MISCONF": Passing, "UNBLOCKED": Passing, "TOO_MANY_REQUESTS": Passing,
	"NOSCRIPT": Passing, // after it was sent in full: a proxy sends each call to another server
	"NOPERM":   NoRight,
	"OOM":      Full,
	"NOAUTH":   Unfit, "WRONGPASS": Unfit, "DENIED": Unfit, "CROSSSLOT": Unfit,
	"OUTDATED": Unfit, "UNUSABLE": Unfit, // of this library
	// Those of the scripts, and the one of a command that meets a key of another type.
	"BADKEY": OfCall, "WRONGTYPE": OfCall, "STALE": OfCall, "ROUTE": OfCall, "BATCH": OfCall, "RULE": OfCall,
	"BADFORM": OfCall, "NOFEED": OfCall,
}

// phrases are words in refusals whose code says nothing, in lower case. The first that is found counts.
var phrases = []struct {
	words   string
	meaning Meaning
}{
	{"the user executing the script", NoRight},
	{"acl failure in script", NoRight},
	{"has no permissions to", NoRight},
	{"max number of clients", Passing},
	{"max daily request limit exceeded", Passing},
	{"max requests limit exceeded", Passing},
	{"max concurrent connections exceeded", Passing},
	{"upstream failure", Passing},
	{"no upstream host", Passing},
	{"no server connection ava", Passing}, // as Predixy spells it
	{"connection refused", Passing},
	{"connection timed out", Passing},
	{"connection reset by peer", Passing},
	{"host is down", Passing},
	{"db capacity quota exceeded", Full},
	{"max single record size exceeded", Full}, // a hash that all jobs share is one record
	{"unknown command", Unfit},
	{"unsupported command", Unfit},
	{"undeclared key", Unfit},
	{"bad lua script for redis cluster", Unfit},
	{"command keys must be in same slot", Unfit},
	{"command eval not support", Unfit},
	{"without any password configured", Unfit},
	{"no password is set", Unfit},
	{"db index is out of range", Unfit},
	{"invalid db index", Unfit},
	{"select is not allowed", Unfit},
	{"invalid password", Unfit},
	{"max request size exceeded", OfCall},
	{"string exceeds maximum allowed size", OfCall},
}

// raised tells whether a command in the middle of a script was refused: what the script wrote before stands.
func raised(err error, m Meaning) bool {
	var refused *ServerError
	return (m == NoRight || m == Unknown) && errors.As(err, &refused) &&
		strings.Contains(refused.Message, "user_script:")
}

// IsFull tells whether Redis refused something because it has no memory left.
func IsFull(err error) bool { return MeaningOf(err) == Full }

// Passes tells whether a refusal ends by itself, as far as anybody can say: unknown words may be those of a proxy that
// is well again soon.
func Passes(err error) bool {
	m := MeaningOf(err)
	return m == Passing || m == Unknown
}

// Refused tells whether Redis has answered, and executed nothing.
func Refused(err error) bool { return MeaningOf(err) != NoAnswer }

// ConcernsServer tells whether a refusal is not known to be that of one call: it is held against no job. What is
// refused so is kept and sent again, since the server becomes well again or somebody mends it.
func ConcernsServer(err error) bool {
	m := MeaningOf(err)
	return m != NoAnswer && m != OfCall
}
