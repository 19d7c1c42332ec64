package codec

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
)

// Codec is work.Codec.
type Codec interface {
	Name() string
	Encode(use string, open []byte) (stored []byte, key string, err error)
	Decode(use string, stored []byte, key string) (open []byte, err error)
}

// hasher is what a codec may be beside, so that jobs whose args are sealed can be unique by them.
type hasher interface {
	Hash(b []byte) []byte
}

// Error says why a value could not be encoded or opened.
type Error struct {
	Codec, Key string
	Unknown    bool // nobody here knows the codec
	Err        error
}

func (e *Error) Error() string {
	what := "codec " + excerpt.Brief(e.Codec)
	if e.Key != "" {
		what += ", key " + excerpt.Brief(e.Key)
	}
	if e.Unknown {
		return what + ": this program has no such codec"
	}
	return what + ": " + excerpt.ErrorText(e.Err)
}

// Unwrap returns the codec's own error.
func (e *Error) Unwrap() error { return e.Err }

// Chain are the codecs of a program. A nil Chain has none. It may be used concurrently, as codecs may.
type Chain struct {
	write []Codec // applied in this order
	read  map[string]Codec
}

var codecName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,31}$`)

// maxLayers bounds what an envelope may ask for.
const maxLayers = 4

// New makes a chain: values are encoded by each codec in turn, and opened by those that are named on them. It is nil
// for no codecs. what names the option for errors, which are *invalid.Error.
//
// With an error it is a chain that encodes nothing and opens nothing: whoever goes on all the same stores nothing open.
func New(what string, codecs []Codec) (*Chain, error) {
	if len(codecs) == 0 {
		return nil, nil
	}
	c, err := checked(what, codecs)
	if err != nil {
		return &Chain{write: []Codec{refusing{err}}}, err
	}
	return c, nil
}

func checked(what string, codecs []Codec) (*Chain, error) {
	if len(codecs) > maxLayers {
		return nil, &invalid.Error{What: what, Value: fmt.Sprintf("%d codecs", len(codecs)),
			Remedy: fmt.Sprintf("give at most %d", maxLayers)}
	}
	c := &Chain{write: codecs, read: make(map[string]Codec, len(codecs))}
	for i, one := range codecs {
		if one == nil {
			return nil, &invalid.Error{What: what, Value: fmt.Sprintf("nil at index %d", i), Remedy: "leave it out"}
		}
		name := one.Name()
		if !codecName.MatchString(name) {
			return nil, &invalid.Error{What: what, Value: "a codec called " + excerpt.Brief(name),
				Remedy: "call it by 1 to 32 of a-z, 0-9, dot, dash and underscore"}
		}
		if c.read[name] != nil {
			return nil, &invalid.Error{What: what, Value: "two codecs called " + excerpt.Brief(name),
				Remedy: "give one of them, which may know several keys"}
		}
		c.read[name] = one
	}
	return c, nil
}

// refusing stands for codecs that cannot be.
type refusing struct{ err error }

func (refusing) Name() string                                    { return "none" }
func (r refusing) Encode(string, []byte) ([]byte, string, error) { return nil, "", r.err }
func (r refusing) Decode(string, []byte, string) ([]byte, error) { return nil, r.err }

// Or is c where it has codecs, and other where not: the codecs of a job beat those of its pool. What c has not it opens
// by other.
func (c *Chain) Or(other *Chain) *Chain {
	if c == nil {
		return other
	}
	return c.Knowing(other)
}

// Knowing is c, which also opens what other does. Where both have a codec of a name it is that of c.
func (c *Chain) Knowing(other *Chain) *Chain {
	if other == nil || c == other {
		return c
	}
	both := &Chain{read: maps.Clone(other.read)}
	if both.read == nil {
		both.read = map[string]Codec{}
	}
	if c != nil {
		both.write = c.write
		maps.Copy(both.read, c.read)
	}
	return both
}

// Encodes tells whether values are encoded at all.
func (c *Chain) Encodes() bool { return c != nil && len(c.write) > 0 }

// CheckSchedule refuses args of a schedule that would be sealed: it is declared by its text, which has to be the same
// each time, and what is sealed never is. The error is an *invalid.Error.
func (c *Chain) CheckSchedule(name string, args []byte) error {
	if !c.Encodes() || string(args) == "[]" {
		return nil
	}
	stored, err := c.Encode(Args(name), args)
	if err != nil {
		return err
	}
	info, _ := InfoOf(stored)
	if info.Key() == "" {
		return nil
	}
	return &invalid.Error{What: "args of a schedule of job " + excerpt.Brief(name), Value: "such as its codec seals",
		Remedy: "give it none, or an id of what it is about: a schedule stands in Redis in the open"}
}

// Encode is the value as it is stored. use says what it is, and must be the same where it is opened.
func (c *Chain) Encode(use string, value []byte) ([]byte, error) {
	var layers []Layer
	data := value
	if c != nil {
		for _, one := range c.write {
			stored, key, err := guard(func() ([]byte, string, error) { return one.Encode(use, data) })
			if err != nil {
				return nil, &Error{Codec: one.Name(), Key: key, Err: err}
			}
			if stored != nil {
				data, layers = stored, append(layers, Layer{Codec: one.Name(), Key: key})
			}
		}
	}
	if len(layers) == 0 && !Is(value) {
		return value, nil
	}
	return put(layers, data), nil
}

// Encoding is Encode for that use.
func (c *Chain) Encoding(use string) func(value []byte) ([]byte, error) {
	return func(value []byte) ([]byte, error) { return c.Encode(use, value) }
}

// Open is the value that Encode was given, or stored itself where that is in no envelope. Its errors are *Error, and
// quote nothing of the value.
func (c *Chain) Open(use string, stored []byte) ([]byte, error) {
	if !Is(stored) {
		return stored, nil
	}
	layers, data, err := take(stored)
	switch {
	case err != nil:
		return nil, &Error{Codec: "unreadable", Err: err}
	case len(layers) > maxLayers:
		return nil, &Error{Codec: layers[0].Codec, Err: fmt.Errorf("%d layers are more than this version writes",
			len(layers))}
	}
	for i := len(layers) - 1; i >= 0; i-- {
		layer := layers[i]
		one := c.known(layer.Codec)
		if one == nil {
			return nil, &Error{Codec: layer.Codec, Key: layer.Key, Unknown: true}
		}
		data, _, err = guard(func() ([]byte, string, error) {
			open, err := one.Decode(use, data, layer.Key)
			return open, "", err
		})
		if err != nil {
			return nil, &Error{Codec: layer.Codec, Key: layer.Key, Err: err}
		}
	}
	return bytes.Clone(data), nil
}

func (c *Chain) known(name string) Codec {
	if c == nil {
		return nil
	}
	return c.read[name]
}

// errNoHash is what is wrong with jobs that are unique by args which nobody may guess.
var errNoHash = errors.New("a digest of sealed args could be guessed")

// Hash is a text that is equal for equal bytes, and tells nobody what they are who lacks the key: the digest of a lock
// that is taken from args. It is nil where no codec seals, so that the bytes may stand as they are.
func (c *Chain) Hash(b []byte) ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	for _, one := range c.write {
		if keyed, is := one.(hasher); is {
			if sum := keyed.Hash(b); sum != nil {
				return sum, nil
			}
			return nil, errNoHash
		}
	}
	return nil, nil
}

// guard makes an error of a panic in a codec, without what it was given: that may be the value.
func guard(call func() ([]byte, string, error)) (b []byte, key string, err error) {
	defer func() {
		if value := recover(); value != nil {
			b, err = nil, fmt.Errorf("it panicked with a %T", value)
		}
	}()
	return call()
}
