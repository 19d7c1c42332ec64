// Package worqrdb is what package worqr has in Redis: one method per script of lua/worqr, and the keys they work on.
package worqrdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// MaxBatch is how many tasks, processes or locks one script handles at the most.
const MaxBatch = rdb.MaxBatch

// Store is the keys behind one prefix in one Redis. Its methods may be called concurrently; none is ever resent by
// itself.
type Store struct {
	driver redisconn.Driver
	prefix string
}

// New returns the keys behind the prefix. It dials nothing.
func New(driver redisconn.Driver, prefix string) *Store {
	return &Store{driver: driver, prefix: prefix}
}

// Process names a task that a worker has started.
type Process struct{ Worker, Queue, ID string }

// Worker is one registration of a worker.
type Worker struct {
	ID           string
	Registration string        // tells it from another one of the same id
	Life         time.Duration // of its timer; 0 for a permanent one
}

func (s *Store) do(ctx context.Context, script *redisconn.Script, keys []string, args ...any) (any, error) {
	return redisconn.Do(ctx, s.driver, redisconn.Call{Script: script, Keys: keys, Args: args})
}

// word reads the reply of a script that answers with one word.
func word(script *redisconn.Script) func(reply any, err error) (string, error) {
	return func(reply any, err error) (string, error) {
		if err != nil {
			return "", err
		}
		r := redisconn.Read(script.Name, []any{reply})
		said := r.Text()
		return said, r.Err()
	}
}

// number reads the reply of a script that answers with a number.
func number(script *redisconn.Script) func(reply any, err error) (int, error) {
	return func(reply any, err error) (int, error) {
		if err != nil {
			return 0, err
		}
		r := redisconn.Read(script.Name, []any{reply})
		n := r.Number()
		return int(n), r.Err()
	}
}
