// Package rdb is the only code that speaks Redis: one method per script of lua/, the keys that they work on, and the
// small view of a Redis client that all of it needs ([Driver]).
package rdb

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// MaxBatch is how many ids one script handles at the most, so that none holds Redis for more than a few milliseconds.
const MaxBatch = 500

// Store is one namespace in one Redis. Its methods may be called concurrently; none is ever resent by itself, since
// only the caller knows what a lost reply means.
type Store struct {
	driver Driver
	keys   *keys
}

// NewStore returns the namespace of that name. It dials nothing.
func NewStore(driver Driver, namespace string) *Store {
	return &Store{driver: driver, keys: newKeys(namespace)}
}

// Driver returns the client that the store was made with.
func (s *Store) Driver() Driver { return s.driver }

// Control is the channel on which workers are told what is urgent.
func (s *Store) Control() string { return s.keys.control }

// pipeliner is what a Driver and a Conn have in common.
type pipeliner interface {
	Pipeline(ctx context.Context, calls ...Call) ([]Reply, error)
}

// Do makes one call and returns its answer; a refusal by Redis is an error as well.
func Do(ctx context.Context, on pipeliner, call Call) (any, error) {
	replies, err := on.Pipeline(ctx, call)
	if err != nil {
		return nil, err
	}
	return replies[0].Value, replies[0].Err
}

// UnexpectedReplyError says that a script answered something that this version does not understand.
type UnexpectedReplyError struct {
	Script string
	Reply  any
}

func (e *UnexpectedReplyError) Error() string {
	return fmt.Sprintf("Redis answered %s with something else than expected: %s", excerpt.Text(e.Script, excerpt.Name),
		excerpt.Value(e.Reply))
}

// fromMillis turns what Redis calls a time into ours; 0 is no time at all.
func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
