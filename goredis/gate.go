package goredis

import (
	"errors"
	"sync"
)

// errShut stops go-redis from sending what nobody waits for any more.
var errShut = errors.New("the caller has gone")

// gate stands in the place of the first value of a pipeline. go-redis asks it for its bytes when it has a connection
// and begins to write, which tells what its errors do not: whether anything can have reached Redis.
type gate struct {
	text []byte

	mu     sync.Mutex
	passed bool
	closed bool
}

// MarshalBinary is called by go-redis. Before it, nothing is written; behind a gate that is shut, nothing will be: the
// few bytes in front of it are still in a buffer, which go-redis drops with the connection.
func (g *gate) MarshalBinary() ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errShut
	}
	g.passed = true
	return g.text, nil
}

// shut tells whether nothing was sent, and sees to it that nothing will be.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = !g.passed
	return g.closed
}

// String is for hooks of the client, which may print what is sent.
func (g *gate) String() string { return string(g.text) }
