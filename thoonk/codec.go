package thoonk

import (
	"encoding/json"

	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/unquoted"
)

// Codec turns values into the bytes of an item and back. Its methods may be called concurrently.
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	Decode(item []byte) (T, error)
}

// JSON is the codec that is used where none is given.
type JSON[T any] struct{}

// Encode returns the JSON of the value. Text that is not UTF-8 is an error, which names the field.
func (JSON[T]) Encode(value T) ([]byte, error) { return exactjson.Marshal(value) }

// Decode reads JSON. Its error quotes nothing of it: the item is in the [DecodeError], and the text gets into logs.
func (JSON[T]) Decode(item []byte) (T, error) {
	var value T
	err := json.Unmarshal(item, &value)
	return value, unquoted.Error(err)
}

// Raw leaves bytes as they are, any bytes.
type Raw struct{}

// Encode returns the bytes themselves.
func (Raw) Encode(value []byte) ([]byte, error) { return value, nil }

// Decode returns the bytes themselves.
func (Raw) Decode(item []byte) ([]byte, error) { return item, nil }

func orJSON[T any](codec Codec[T]) Codec[T] {
	if codec == nil {
		return JSON[T]{}
	}
	return codec
}

// encoded is what is stored of a value.
func encoded[T any](codec Codec[T], value T) ([]byte, error) {
	item, err := codec.Encode(value)
	if err == nil && len(item) > MaxItem {
		return nil, ErrTooLarge
	}
	return item, err
}

func decoded[T any](codec Codec[T], item []byte) (T, error) {
	value, err := codec.Decode(item)
	if err != nil {
		return value, &DecodeError{Item: item, Err: err}
	}
	return value, nil
}
