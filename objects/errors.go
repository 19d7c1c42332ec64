package objects

import (
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
)

// ErrClosed is what a closed [Cache] answers.
var ErrClosed = errors.New("the cache of objects is closed")

// VanishedError says that an object is not there: no job referred to it and its grace period has passed, or Redis or
// its home lost it. Putting the same content again brings it back.
type VanishedError struct{ Hash Hash }

func (e *VanishedError) Error() string {
	return fmt.Sprintf("object %s has vanished: put its content again", short(string(e.Hash)))
}

// MismatchError says that what is stored under a hash is not what was put there. Nobody gets such a content.
type MismatchError struct {
	Hash  Hash
	Found string // what is there instead: another hash, or a size
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("object %s was changed by somebody, it now has %s: remove it, then put its content again",
		short(string(e.Hash)), short(e.Found))
}

// TooLargeError says that a content has more bytes than an object may have.
type TooLargeError struct {
	What  string // "content", or the type of a value that was shared
	Size  int    // bytes
	Limit int    // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the %s has %d bytes, more than the %d that an object may have: split it, or store it "+
		"elsewhere and share its address",
		short(e.What), e.Size, e.Limit)
}

// UnboundError says that a [Ref] does not know where to read from: outside of a handler nobody has bound it, or it is
// the zero value and refers to nothing.
type UnboundError struct{ Hash Hash }

func (e *UnboundError) Error() string {
	if e.Hash == "" {
		return "the reference refers to no object: make it with objects.Share"
	}
	return fmt.Sprintf("the reference to object %s is bound to no source: call Bind with a Store or a Cache, or use "+
		"NewContext", short(string(e.Hash)))
}

// OptionError says that an option cannot be used.
type OptionError struct{ Option, Value, Remedy string }

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s %s of the store of objects cannot be used: %s", short(e.Option), short(e.Value),
		short(e.Remedy))
}

func short(text string) string { return excerpt.Text(text, 2*excerpt.Name) }
