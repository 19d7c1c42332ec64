package objects

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/265d0351/work/internal/exactjson"
)

// Ref is an argument that many jobs share: its value is stored once, and each job holds 100 bytes that refer to it.
// [Share] makes one; a handler that takes a Ref[T] gets the value with Value. As JSON it is
// {"object":"<hash>","size":<bytes>}, and null is the zero value, which refers to nothing.
//
// A Ref may be copied. Value may be called concurrently, Bind not.
type Ref[T any] struct {
	hash   Hash
	size   int64
	source Source
}

// Share stores the JSON of a value, unless it is there already, and returns a reference that is bound to the store. It
// has the store's grace period to be enqueued. A value of more than [MaxSize] bytes is a *[TooLargeError].
func Share[T any](ctx context.Context, store *Store, value T) (Ref[T], error) {
	content, err := exactjson.Encode(value)
	if err != nil {
		return Ref[T]{}, fmt.Errorf("a %T cannot be shared: %w", value, err)
	}
	if len(content) > MaxSize {
		return Ref[T]{}, &TooLargeError{What: fmt.Sprintf("JSON of a %T", value), Size: len(content), Limit: MaxSize}
	}
	hash, err := store.Put(ctx, content)
	if err != nil {
		return Ref[T]{}, err
	}
	return Ref[T]{hash: hash, size: int64(len(content)), source: store}, nil
}

// Referrer is what every Ref is, whatever its type: an enqueuer asks its arguments which objects their jobs refer to.
// The Hash of a zero Ref is empty.
type Referrer interface {
	Hash() Hash
}

// Binder is what a pointer to any Ref is. The framework binds the cache of the worker into each decoded argument that
// is one, before the handler is called: if b, ok := arg.(objects.Binder); ok { b.Bind(cache) }. That is all of the
// hook; a Ref that lies deeper in an argument finds the cache by [NewContext].
type Binder interface {
	Bind(source Source)
}

// Hash is the object's name, empty for the zero Ref.
func (r Ref[T]) Hash() Hash { return r.hash }

// Size is how many bytes the JSON of the value has.
func (r Ref[T]) Size() int64 { return r.size }

// Bind says where Value reads from. It is called before the Ref is used, not while.
func (r *Ref[T]) Bind(source Source) { r.source = source }

// Value reads the object from the source that the Ref is bound to, else from that of [NewContext], and decodes it; each
// call decodes anew, so the value is the caller's. In an any, an integer that a float64 would round is an int64, and
// one beyond that a json.Number. It fails with an *[UnboundError], or with what the source says: *[VanishedError],
// *[MismatchError], or trouble on the way that a later attempt may not have.
func (r Ref[T]) Value(ctx context.Context) (T, error) {
	var value T
	source := r.source
	if source == nil {
		source = sourceOf(ctx)
	}
	if r.hash == "" || source == nil {
		return value, &UnboundError{Hash: r.hash}
	}
	content, err := source.Get(ctx, r.hash)
	if err != nil {
		return value, err
	}
	if err := exactjson.Decode(content, &value); err != nil {
		var zero T
		return zero, fmt.Errorf("object %s cannot be decoded as a %T: %w", r.hash, value, err)
	}
	return value, nil
}

// wireRef is the form of a Ref in the record of a job.
type wireRef struct {
	Object string `json:"object"`
	Size   int64  `json:"size"`
}

func (r Ref[T]) MarshalJSON() ([]byte, error) {
	if r.hash == "" {
		return []byte("null"), nil
	}
	return json.Marshal(wireRef{Object: string(r.hash), Size: r.size})
}

func (r *Ref[T]) UnmarshalJSON(text []byte) error {
	var wire *wireRef
	if err := json.Unmarshal(text, &wire); err != nil {
		return fmt.Errorf("this is no reference to an object: %w", err)
	}
	if wire == nil {
		*r = Ref[T]{}
		return nil
	}
	hash, err := ParseHash(wire.Object)
	if err != nil {
		return err
	}
	if wire.Size < 0 || wire.Size > MaxSize {
		return fmt.Errorf("the reference to object %s says that it has %d bytes: that must be 0 to %d", hash, wire.Size,
			MaxSize)
	}
	*r = Ref[T]{hash: hash, size: wire.Size}
	return nil
}
