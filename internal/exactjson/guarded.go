package exactjson

import (
	"fmt"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/unquoted"
)

// Decode is Unmarshal of what no error may quote. An UnmarshalJSON that panics is an error.
func Decode(text []byte, into any) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicked("decoding", value)
		}
	}()
	return unquoted.Error(Unmarshal(text, into))
}

// Encode is Marshal of what no error may quote. A MarshalJSON that panics is an error.
func Encode(value any) (text []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			text, err = nil, panicked("encoding", value)
		}
	}()
	text, err = Marshal(value)
	if _, ours := err.(*invalid.Error); ours {
		return nil, err
	}
	return text, unquoted.Error(err)
}

func panicked(what string, value any) error {
	return fmt.Errorf("its %s panicked with a %T, whose text may quote it", what, value)
}
