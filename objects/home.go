package objects

import (
	"context"
	"iter"
)

// Home is another place for contents than Redis, such as a directory or a bucket, with a name for each: its hash. When
// an object was used last and which jobs refer to it stays in Redis, so all who use a home share one namespace: see
// [Owned]. Its methods are called concurrently, from several processes. [Directory] is one.
type Home interface {
	// Put stores a content. What is there under that hash with as many bytes may be taken for it. When it returns nil,
	// the content is safe; when it fails or the process dies, Get finds all of it or nothing.
	Put(ctx context.Context, hash Hash, content []byte) error
	// Get returns a content, the bytes being the caller's. One that is not there is a *[VanishedError], one of more
	// than [MaxSize] bytes a *[MismatchError]. It need not compare the content with the hash.
	Get(ctx context.Context, hash Hash) ([]byte, error)
	// Delete removes a content. One that is not there is no error.
	Delete(ctx context.Context, hash Hash) error
	// Has says how many bytes the content has, and whether it is there.
	Has(ctx context.Context, hash Hash) (size int64, found bool, err error)
	// List yields the contents that are there, in any order, or the error that ended it. Those that come and go
	// meanwhile may be missing.
	List(ctx context.Context) iter.Seq2[Hash, error]
}
