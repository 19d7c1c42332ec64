package unique

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/unquoted"
)

// KeyMaker makes the key of a job out of its args by a function of the program.
type KeyMaker struct {
	takes reflect.Type
	key   func(arg []byte) (string, error) // nil where the function is
}

// NewKeyMaker is the maker that calls fn with the first arg of a job. What it panics with, panicked makes an error of.
func NewKeyMaker[A any](fn func(A) string, panicked func(value any) error) *KeyMaker {
	maker := &KeyMaker{takes: reflect.TypeFor[A]()}
	if fn == nil {
		return maker
	}
	maker.key = func(arg []byte) (key string, err error) {
		defer func() {
			if value := recover(); value != nil {
				err = panicked(value)
			}
		}()
		var decoded A
		if err := exactjson.Unmarshal(arg, &decoded); err != nil {
			return "", unquoted.Error(err)
		}
		return fn(decoded), nil
	}
	return maker
}

// Usable tells whether there is no maker, or one with a function.
func (m *KeyMaker) Usable() bool { return m == nil || m.key != nil }

// Fits refuses args whose first one is of another type than the function takes.
func (m *KeyMaker) Fits(args Args) error {
	found := "no args"
	if len(args.types) > 0 {
		if args.types[0] == m.takes {
			return nil
		}
		found = args.types[0].String()
	}
	return &invalid.Error{What: "UniqueOptions.By", Remedy: "give KeyOf a function of the first arg",
		Value: fmt.Sprintf("a function of %s for a job that takes %s", m.takes, found)}
}

// Key is that of a job with these args, a JSON array.
func (m *KeyMaker) Key(args []byte) (string, error) {
	pieces, ok := rawjson.Split(nil, args)
	if !ok || len(pieces) == 0 {
		return "", errors.New("UniqueOptions.By: the job has no args to make a key of")
	}
	key, err := m.key(pieces[0])
	if err != nil {
		return "", fmt.Errorf("UniqueOptions.By: no key was made of the first arg: %w", err)
	}
	if key == "" {
		return "", &invalid.Error{What: "key that UniqueOptions.By made", Value: "empty",
			Remedy: "return a text that jobs have in common if they are the same"}
	}
	return key, nil
}
