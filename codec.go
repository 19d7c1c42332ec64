package work

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/jobargs"
)

// Codec changes how args, results, steps, saved states and messages are stored: package seal encrypts them, and module
// compress makes them smaller. What it has changed names it, so it must keep its name as long as anything of it waits.
// Its methods are called by many goroutines at a time.
type Codec interface {
	// Name is 1 to 32 of a-z, 0-9, dot, dash and underscore.
	Name() string
	// Encode returns what is stored in the place of a value, and the id of the key for Decode, where it has keys: that
	// is stored beside it, and anybody can read it. use says what the value is, "args of send_mail" for instance;
	// Decode gets the same. A nil slice leaves the value as it is. It must not change the value, nor keep it.
	Encode(use string, value []byte) (stored []byte, key string, err error)
	// Decode is the value again. Its error quotes nothing of it, and is [ErrUnknownKey], or wraps it, for a key that is
	// not there.
	Decode(use string, stored []byte, key string) (value []byte, err error)
}

// ErrUnknownKey is what a [Codec] returns for a key that it does not have.
var ErrUnknownKey = errors.New("this program has no such key")

// CodecError says that a value is encoded and could not be opened, or could not be encoded. A worker that does not know
// the codec or its key puts the job off without using an attempt, as [Release] does: another worker may know it, or
// this one after its next start. What does not open although the key is there fails the attempt as any error does. Its
// text has nothing of the value in it.
type CodecError struct {
	What  string // "the args of job 7zk3..."
	Codec string // its name
	Key   string // the id of the key; empty where it has none
	Err   error  // ErrUnknownKey; what the codec said; nil where the codec itself is not known
}

func (e *CodecError) Error() string { return excerpt.Cut(e.text()) }

func (e *CodecError) text() string {
	by := "codec " + excerpt.Brief(e.Codec)
	if e.Key != "" {
		by = "key " + excerpt.Brief(e.Key) + " of " + by
	}
	if e.Err == nil {
		return fmt.Sprintf("%s cannot be opened: it needs %s, which this program does not have", e.What, by)
	}
	return fmt.Sprintf("%s cannot be opened or sealed by %s: %s", e.What, by, excerpt.ErrorText(e.Err))
}

// Unwrap returns Err.
func (e *CodecError) Unwrap() error { return e.Err }

// elsewhere tells that another program may be able to open it.
func (e *CodecError) elsewhere() bool { return e.Err == nil || errors.Is(e.Err, ErrUnknownKey) }

// newCodecs checks what was given as an option of that name.
func newCodecs(what string, codecs []Codec) (*codec.Chain, error) {
	inner := make([]codec.Codec, len(codecs))
	for i, one := range codecs {
		if one != nil {
			inner[i] = one
		}
	}
	chain, err := codec.New(what, inner)
	return chain, asInvalid(err)
}

// codecError is what a chain has said about a value, as programs may test for it.
func codecError(what string, err error) error {
	var of *codec.Error
	if !errors.As(err, &of) {
		return err
	}
	return &CodecError{What: what, Codec: of.Codec, Key: of.Key, Err: of.Err}
}

// encodedArgs are the args of a job on their way into its record.
type encodedArgs struct {
	stored []byte         // what the record has: an array, or what codecs have made of it
	open   []byte         // the array without those that are objects
	apart  *jobargs.Apart // those; nil for none
	codecs *codec.Chain   // that have stored them
}

// whole is the JSON array as the handler will see it.
func (a *encodedArgs) whole() []byte { return a.apart.Whole(a.open) }

// sealArgs is the JSON array of args as it is stored.
func sealArgs(codecs *codec.Chain, name string, open []byte) ([]byte, error) {
	if !codecs.Encodes() && !codec.Is(open) {
		return open, nil
	}
	stored, err := codecs.Encode(codec.Args(name), open)
	if err != nil {
		return nil, codecError("the args of job "+excerpt.Brief(name), err)
	}
	return stored, nil
}

// keyedDigest is the digest of a lock that was taken from args.
func keyedDigest(codecs *codec.Chain, name, digest string) (string, error) {
	sum, err := codecs.Hash([]byte(digest))
	switch {
	case err != nil:
		return "", &InvalidError{What: "job " + excerpt.Brief(name), Value: "unique by args that are sealed",
			Remedy: "give its codec a key for locks (seal.Keys.Locks), or UniqueOptions.Key", Err: err}
	case sum != nil:
		digest = base64.RawURLEncoding.EncodeToString(sum)
	}
	return digest, nil
}
