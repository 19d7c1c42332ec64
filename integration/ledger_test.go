package integration

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for something that should come soon, on a machine that may be busy.
var patience = pick(90*time.Second, 5*time.Minute)

// What worker processes report.
const (
	begun = "begun" // a handler, with the id of its job
	ended = "ended" // in good order
	cut   = "cut"   // its ctx ended first
	erred = "erred" // it asked for another attempt

	ticked = "ticked" // a job of the schedule ran

	gone = "gone" // seen by the test: the outcome of a job has counted, Redis knows the job no more

	told = "told" // by the enqueuer: a job that was acknowledged is gone

	believed = "believed" // the time of the entry, by a clock that may be wrong
	refused  = "refused"  // an enqueue, with its error

	ready     = "ready" // a worker
	reaped    = "reaped"
	fenced    = "fenced"
	returned  = "returned"
	dataLost  = "data lost"
	claimGone = "claim gone" // of a job
	buried    = "buried"
)

// entry is one line of a ledger.
type entry struct {
	At     time.Time
	What   string
	Of     string // id of the job or worker
	Member int    // pid of the process
}

// kind is what entries are looked up by; of all processes together where Member is 0.
type kind struct {
	What   string
	Member int
}

// ledger is what all processes of a fleet have reported, in the order in which it came.
type ledger struct {
	mu      sync.Mutex
	entries map[kind][]entry
	changed chan struct{}
}

func newLedger() *ledger {
	return &ledger{entries: map[kind][]entry{}, changed: make(chan struct{})}
}

func (l *ledger) add(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range []kind{{e.What, e.Member}, {e.What, 0}} {
		l.entries[k] = append(l.entries[k], e)
		if e.Member == 0 {
			break // both are the same
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// of returns the entries of that kind, of one process or with 0 of all.
func (l *ledger) of(what string, member int) []entry {
	found, _ := l.look(what, member)
	return found
}

func (l *ledger) look(what string, member int) ([]entry, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.entries[kind{what, member}] // only ever appended to
	return found[:len(found):len(found)], l.changed
}

// await waits for that many entries of a kind, of one process or with 0 of all.
func (l *ledger) await(t *testing.T, what string, member, many int) []entry {
	t.Helper()
	return l.awaitWhere(t, what, member, many, func(entry) bool { return true })
}

// awaitAmong is await for entries of these ids only.
func (l *ledger) awaitAmong(t *testing.T, ids []string, what string, member, many int) []entry {
	t.Helper()
	among := map[string]bool{}
	for _, id := range ids {
		among[id] = true
	}
	return l.awaitWhere(t, what, member, many, func(e entry) bool { return among[e.Of] })
}

// awaitEach waits until that has happened to so many different ids.
func (l *ledger) awaitEach(t *testing.T, what string, many int) {
	t.Helper()
	deadline := time.After(patience)
	for {
		all, changed := l.look(what, 0)
		seen := len(ids(all))
		if seen >= many {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNowf(t, "the ledger does not get there", "%s: %d of %d", what, seen, many)
		}
	}
}

func (l *ledger) awaitWhere(t *testing.T, what string, member, many int, counts func(entry) bool) []entry {
	t.Helper()
	deadline := time.After(patience)
	for {
		all, changed := l.look(what, member)
		var found []entry
		for _, e := range all {
			if counts(e) {
				found = append(found, e)
			}
		}
		if len(found) >= many {
			return found
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNowf(t, "the ledger does not get there", "%d of %d %s by process %d", len(found), many, what,
				member)
		}
	}
}

// byTime are the entries of a kind in the order in which they happened, by whichever process.
func (l *ledger) byTime(what string) []entry {
	entries := slices.Clone(l.of(what, 0))
	slices.SortStableFunc(entries, func(a, b entry) int { return a.At.Compare(b.At) })
	return entries
}

// times is how often that happened to each id.
func (l *ledger) times(what string) map[string]int {
	count := map[string]int{}
	for _, e := range l.of(what, 0) {
		count[e.Of]++
	}
	return count
}

// ids are those of the entries, each once.
func ids(entries []entry) map[string]bool {
	set := map[string]bool{}
	for _, e := range entries {
		set[e.Of] = true
	}
	return set
}
