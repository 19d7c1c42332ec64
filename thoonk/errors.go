package thoonk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
	"github.com/265d0351/work/internal/redisconn"
)

// What can be the matter with a call, for errors.Is. Calls about a feed wrap them in a [*FeedError].
var (
	ErrClosed = errors.New("the client is closed")
	ErrNoFeed = errors.New("there is no such feed: create it first")
	ErrExists = errors.New("there is a feed of that name: open it, or delete it first")
	ErrNoItem = errors.New("there is no such item")
	ErrTaken  = errors.New("an item of that id is in the feed: choose another id, or retract it first")
	ErrEmpty  = errors.New("nothing came within the timeout")
	ErrGone   = errors.New("the claim is gone: it was older than the MaxAge of a maintenance, or the job was " +
		"cancelled, stalled, finished or retracted meanwhile")
	ErrNotStalled = errors.New("the job is not stalled, so it cannot be retried")
	ErrNoResult   = errors.New("no result came within the timeout")
	ErrEndUnknown = errors.New("the job is gone, and nobody has said how it ended")
	ErrTooLarge   = errors.New("the item is larger than 64 MiB: store it elsewhere and put its name here")

	// ErrUncertain means that the connection was lost after a queue was asked for an item: one may have been taken out
	// that nobody got. A [JobFeed] does not lose such items.
	ErrUncertain = errors.New("the connection was lost while an item was taken, which may be lost with it")
)

var errFickle = errors.New("its config changes faster than a call can be made: try again")

// FeedError says which feed, and which of its items, an error is about.
type FeedError struct {
	Feed string
	ID   string // empty where it is about no single item
	Err  error
}

func (e *FeedError) Error() string {
	if e.ID != "" {
		return fmt.Sprintf("feed %q, item %q: %v", e.Feed, e.ID, e.Err)
	}
	return fmt.Sprintf("feed %q: %v", e.Feed, e.Err)
}
func (e *FeedError) Unwrap() error { return e.Err }

// KindError means that a feed is of another kind than wanted. Nothing was done.
type KindError struct {
	Want, Have Kind
}

func (e *KindError) Error() string {
	return fmt.Sprintf("it is of kind %q, not %q: open it as what it is, or delete it first", e.Have, e.Want)
}

// FormError means that a key of a feed has a type that no [Form] has there, so that it is another program's. Nothing
// was done.
type FormError struct {
	Key         string
	Found, Want string // types, as Redis names them
}

func (e *FormError) Error() string {
	return fmt.Sprintf("key %q is a %s, where a feed has a %s: rename or delete that key, or use another name for the "+
		"feed, or another Prefix", e.Key, e.Found, e.Want)
}

// NameError means that a name or an id cannot be used. Nothing was done.
type NameError struct {
	What   string // "feed", "id", "instance"
	Name   string
	Reason string
}

func (e *NameError) Error() string { return fmt.Sprintf("%s %.80q %s", e.What, e.Name, e.Reason) }

// DecodeError means that the codec could not read an item. The item is in it, so that nothing is lost.
type DecodeError struct {
	Item []byte
	Err  error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("%d bytes cannot be decoded: %v", len(e.Item), e.Err)
}
func (e *DecodeError) Unwrap() error { return e.Err }

// unanswered tells whether Redis may have done what it was asked, although no answer came.
func unanswered(err error) bool {
	var unsent *redisconn.DialError
	if redisconn.Refused(err) {
		return redisconn.Classify(err).MayCount
	}
	return lost(err) && !errors.As(err, &unsent)
}

// passing tells whether the same call may succeed later: its connection failed, or Redis refuses such calls for a
// while, as it does in a failover.
func passing(err error) bool { return lost(err) || redisconn.Passes(err) }

// lost tells whether a call failed by its connection, so that the same call may succeed later.
func lost(err error) bool {
	var refused *redisconn.ServerError
	var strange *redisconn.UnexpectedReplyError
	var kind *KindError
	var name *NameError
	var form *FormError
	var found *thoonkdb.FormError
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, &strange), errors.As(err, &kind), errors.As(err, &name),
		errors.As(err, &form), errors.As(err, &found):
		return false
	}
	return !slices.ContainsFunc(answers, func(answer error) bool { return errors.Is(err, answer) })
}

// answers are errors that an answer of Redis has led to, or that are none of the connection.
var answers = []error{
	ErrClosed, ErrNoFeed, ErrExists, ErrNoItem, ErrTaken, ErrEmpty, ErrGone, ErrNotStalled, ErrNoResult, ErrEndUnknown,
	ErrTooLarge, errFickle, errConfig, errForm, thoonkdb.ErrNoFeed, thoonkdb.ErrStale,
}
