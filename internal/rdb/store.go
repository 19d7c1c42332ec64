// Package rdb is the only code that knows the keys of Redis and the scripts that work on them: one method per script of
// lua/. It speaks through a [redisconn.Driver].
package rdb

import (
	"github.com/265d0351/work/internal/redisconn"
)

// Store is one namespace in one Redis. Its methods may be called concurrently; none is ever resent by itself, since
// only the caller knows what a lost reply means.
type Store struct {
	driver redisconn.Driver
	keys   *keys
	at     int64 // the version of the map of the partitions by which it is used
	lead   *Lead // of a mover, which keeps it by its walks; else nil
	tell   func(FlowEnd)
	other  func(partition int) *Store // see Others
}

// NewStore returns the namespace of that name. It dials nothing.
func NewStore(driver redisconn.Driver, namespace string) *Store {
	return &Store{driver: driver, keys: newKeys(namespace)}
}

// AtMap returns the same namespace for who goes by that version of the map of the partitions. Where a newer one is
// known there, what stores or defines something fails with a *[RouteError]; 0, as of any other Store, is who knows no
// map. Enqueues say it themselves: see LaneCall.Map.
func (s *Store) AtMap(version int64) *Store {
	at := *s
	at.at = version
	return &at
}

// Others says where the stores of the partitions of the namespace are. It is called before the store is used.
func (s *Store) Others(other func(partition int) *Store) { s.other = other }

// Other is the store of another partition; nil where nobody has said where that is.
func (s *Store) Other(partition int) *Store {
	if s.other == nil {
		return nil
	}
	return s.other(partition)
}

// Driver returns the client that the store was made with.
func (s *Store) Driver() redisconn.Driver { return s.driver }

// Namespace is the name of the namespace, or of one of its partitions.
func (s *Store) Namespace() string {
	return s.keys.namespace()
}

// Control is the channel on which workers are told what is urgent.
func (s *Store) Control() string { return s.keys.control }

// Claim is a job that a worker holds: fetch number, queue and id name it among all claims there ever were.
type Claim struct {
	Queue   string
	Element string // "<n>:<id>", as it stands in the worker's in-process list
}

// Shelf is a place for jobs that are not to run now.
type Shelf string

// The shelves.
const (
	ShelfRetry     Shelf = "retry"
	ShelfScheduled Shelf = "scheduled"
	ShelfMorgue    Shelf = "morgue"
	ShelfStalled   Shelf = "stalled"
)

// Turns is where jobs with a key stand that wait in their queues: a place like a shelf, with their passes for scores.
const Turns Shelf = "turns"
