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
	switch m, handedOn := meaningOf(err); {
	case err == nil:
		return ErrorClass{}
	case m != NoAnswer:
		return ErrorClass{Again: m == Passing || m == NoRight || m == Unknown,
			MayCount: m == Unknown || handedOn || raised(err, m)}
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

// MeaningOf classifies a refusal by its code, or by its words where the code says nothing.
func MeaningOf(err error) Meaning {
	m, _ := meaningOf(err)
	return m
}

// meaningOf also tells whether a proxy may have handed the call on before it lost the answer.
func meaningOf(err error) (m Meaning, handedOn bool) {
	var wrong *WrongServerError
	var refused *ServerError
	switch {
	case !errors.As(err, &refused):
		return NoAnswer, false
	case !errors.As(err, &wrong):
	case wrong.MayPass:
		return Passing, false
	default:
		return Unfit, false
	}
	if m, known := codes[refused.Code]; known {
		return m, false
	}
	// what follows is of the call
	text, _, _ := strings.Cut(strings.ToLower(refused.Message), "with args beginning with")
	for _, p := range phrases {
		if strings.Contains(text, p.words) {
			return p.meaning, p.handedOn
		}
	}
	return Unknown, false
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
	words    string
	meaning  Meaning
	handedOn bool // a proxy says so of calls that it has handed on, too: a server may have executed them
}{
	{words: "the user executing the script", meaning: NoRight},
	{words: "acl failure in script", meaning: NoRight},
	{words: "has no permissions to", meaning: NoRight},
	{words: "max number of clients", meaning: Passing},
	{words: "max daily request limit exceeded", meaning: Passing},
	{words: "max requests limit exceeded", meaning: Passing},
	{words: "max concurrent connections exceeded", meaning: Passing},
	{words: "upstream failure", meaning: Passing, handedOn: true},
	{words: "no upstream host", meaning: Passing},
	{words: "no server connection ava", meaning: Passing}, // as Predixy spells it
	{words: "connection refused", meaning: Passing},
	{words: "upstream protocol error", meaning: Passing, handedOn: true},
	{words: "operation timed out", meaning: Passing, handedOn: true},
	{words: "broken pipe", meaning: Passing, handedOn: true},
	{words: "connection timed out", meaning: Passing, handedOn: true},
	{words: "connection reset by peer", meaning: Passing, handedOn: true},
	{words: "host is down", meaning: Passing},
	{words: "db capacity quota exceeded", meaning: Full},
	{words: "max single record size exceeded", meaning: Full}, // a hash that all jobs share is one record
	{words: "unknown command", meaning: Unfit},
	{words: "unsupported command", meaning: Unfit},
	{words: "undeclared key", meaning: Unfit},
	{words: "bad lua script for redis cluster", meaning: Unfit},
	{words: "command keys must be in same slot", meaning: Unfit},
	{words: "command eval not support", meaning: Unfit},
	{words: "without any password configured", meaning: Unfit},
	{words: "no password is set", meaning: Unfit},
	{words: "db index is out of range", meaning: Unfit},
	{words: "invalid db index", meaning: Unfit},
	{words: "select is not allowed", meaning: Unfit},
	{words: "invalid password", meaning: Unfit},
	{words: "max request size exceeded", meaning: OfCall},
	{words: "string exceeds maximum allowed size", meaning: OfCall},
}

// raised tells whether a command in the middle of a script was refused: what the script wrote before stands. What Redis
// refuses every write with, such as READONLY, it says of the first.
func raised(err error, m Meaning) bool {
	var refused *ServerError
	return (m == NoRight || m == OfCall) && errors.As(err, &refused) &&
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

// Refused tells whether a server or a proxy has answered with an error.
func Refused(err error) bool { return MeaningOf(err) != NoAnswer }

// ConcernsServer reports whether a refusal may be the server's fault: no job is blamed for it. What is refused so is
// kept and sent again, since the server becomes well again or somebody mends it.
func ConcernsServer(err error) bool {
	m := MeaningOf(err)
	return m != NoAnswer && m != OfCall
}
