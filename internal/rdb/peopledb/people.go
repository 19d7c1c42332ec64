// Package peopledb keeps what people have done by dashboards, and what they are told of alerts. Nothing of it has to do
// with how jobs run.
package peopledb

import (
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// People is what is kept of one namespace in one Redis. Its methods may be called concurrently.
type People struct{ store *rdb.Store }

// Of is what is kept of people in a namespace.
func Of(store *rdb.Store) People { return People{store} }

// The keys, of which each is trimmed or expires.
const (
	auditKey    = "audit"           // a sorted set: entries by when they were noted
	alertsKey   = "alerts"          // a hash: incidents by their rules
	silencedKey = "alerts:silenced" // a hash: silences by their rules
	tellerKey   = "alerts:teller"   // the token of who has the lease
)

func (p People) key(name string) string { return p.store.FullName(name) }

// ms are milliseconds, as scripts take them.
func ms(d time.Duration) int64 { return d.Milliseconds() }
