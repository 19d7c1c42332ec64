package redisconn

import "context"

// Fleet is what a Driver is besides, if it can ask servers that it sends no calls to: those of a cluster, the replicas
// of the primary that Sentinels name, and these Sentinels. Its methods may be called concurrently.
type Fleet interface {
	// Follows tells whether calls go to another server when the keys do: to the primary of their slot, or to the one
	// that Sentinels name.
	Follows() bool

	// Ask makes calls to the server at that address, on a connection of its own. A driver that cannot returns
	// ErrNoFleet.
	Ask(ctx context.Context, addr string, calls ...Call) ([]Reply, error)

	// Sentinels tells what they know of the primary, or nil where none are asked.
	Sentinels(ctx context.Context) (*Sentinels, error)
}

// Sentinels is what one of them, the first that answered, knows of a primary.
type Sentinels struct {
	Primary  string   // the name by which they call it
	Addr     string   // of the server that is it now
	Asked    []string // the addresses of those that were asked
	Known    int      // Sentinels that watch it
	Quorum   int      // how many must agree that it is down
	State    string   // "ok", or what is wrong: "s_down,o_down"
	Replicas []SentinelReplica
}

// SentinelReplica is a replica as a Sentinel sees it.
type SentinelReplica struct {
	Addr  string
	State string // "ok", or what is wrong: "s_down", "disconnected"
}

// Located is what a Driver is besides, if it knows the address of the one server that it calls.
type Located interface{ Where() string }

// Dialler is what a Driver is besides, if it counts the connections that it has made for pipelines. A new one may be to
// another server, with other users.
type Dialler interface{ Dialled() int64 }
