package rdb

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	leadScript    = redisconn.Load("partition/lead")
	freezeScript  = redisconn.Load("partition/freeze")
	thawScript    = redisconn.Load("partition/thaw")
	trackedScript = redisconn.Load("partition/tracked")
)

// ErrLed says that another mover takes jobs out of the partition now. Nothing was executed.
var ErrLed = errors.New("another mover is at work in this partition")

// Lead is the right of one mover to take jobs out of a partition: nobody else may while it lasts. Each call that uses
// it lengthens it.
type Lead struct {
	Token string
	Life  time.Duration // from the last call on
}

// TakeLead takes the lead, or keeps it, and tells whether this mover has it.
func (s *Store) TakeLead(ctx context.Context, lead Lead) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver, s.leading(lead, false))
	return value == int64(1), err
}

func (s *Store) leading(lead Lead, keeps bool) redisconn.Call {
	return redisconn.Call{Script: leadScript, Keys: []string{s.keys.mover},
		Args: []any{lead.Token, millis(lead.Life), keeps}}
}

// KeepLead makes the lead last on, for who reads for long and moves nothing. It is [ErrLed] where it was lost.
func (s *Store) KeepLead(ctx context.Context, lead Lead) error {
	value, err := redisconn.Do(ctx, s.driver, s.leading(lead, true))
	if err == nil && value != int64(1) {
		return ErrLed
	}
	return err
}

// Led returns the same namespace for the mover that leads there: each page of a [Store.Walk] keeps the lead, so that it
// lasts while much is read and nothing is moved. Where it is lost the walk ends with [ErrLed].
func (s *Store) Led(lead Lead) *Store {
	led := *s
	led.lead = &lead
	return &led
}

// GiveUpLead lets another mover have it at once.
func (s *Store) GiveUpLead(ctx context.Context, lead Lead) error {
	_, err := s.TakeLead(ctx, Lead{Token: lead.Token})
	return err
}

// Tracked removes the first entries of the list of what was stored while it is to be moved, as many as the caller has
// read before, and returns those that come then, at most [MaxBatch].
func (s *Store) Tracked(ctx context.Context, lead Lead, read int) ([]MoveItem, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: trackedScript,
		Keys: []string{s.keys.mover, s.keys.tracked}, Args: []any{lead.Token, millis(lead.Life), read, MaxBatch}})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read(trackedScript.Name, value)
	if r.Text() == "led" {
		return nil, ErrLed
	}
	var items []MoveItem
	for r.More() {
		fields := strings.SplitN(r.Text(), "\x00", 4)
		if len(fields) >= 3 {
			item := MoveItem{Kind: MoveBound, ID: fields[0], Digest: fields[1], Queue: fields[2]}
			if len(fields) == 4 {
				item.Key = fields[3]
			}
			items = append(items, item)
		} else {
			items = append(items, MoveItem{}) // it counts, so that the next call removes it
		}
	}
	return items, r.Err()
}

// MoveKind says what is to be moved.
type MoveKind string

// The kinds.
const (
	MoveBound    MoveKind = "bound"    // a job, wherever it is: it becomes a straggler where somebody holds it
	MoveLoose    MoveKind = "loose"    // a job that lives anywhere: only from a shelf
	MoveKnown    MoveKind = "known"    // a straggler, if something has changed
	MoveLock     MoveKind = "lock"     // a lock whose owner has no record
	MoveSchedule MoveKind = "schedule" // with its last tick
)

// MoveItem is something that is to leave a partition.
type MoveItem struct {
	Kind   MoveKind
	ID     string // of a lock its digest
	Digest string // of the lock of a job; "" where it has none
	Queue  string
	Key    string // of a job; "" where it has none
}

// What became of something that was to leave.
const (
	MovedJob      = "job"      // it is frozen
	MovedHeld     = "held"     // a worker of the source holds it
	MovedGone     = "gone"     // a straggler that has ended
	MovedLock     = "lock"     // it stands until it is handed over
	MovedSchedule = "schedule" // it is frozen
)

// Moved is something on its way.
type Moved struct {
	What, ID  string
	Place     string // scheduled, retry, morgue, stalled, queue or turns; home of one that is held where it goes
	Score     string // on its shelf
	Queue     string
	Cancelled bool
	Record    []byte // of a schedule its definition
	Trail     []byte // of a schedule its last tick
	Crashes   []byte
	Waited    []byte
	Digest    string
	Turn      string   // "<weight> <key>"; "" where it has none
	Key       string   // of one that is held, or has ended
	Holds     bool     // it has a place of its key
	Paced     string   // what its key has used of its rate; "" where that is nothing
	Lock      string   // as it stands; "" where the job does not have it, or no more
	Objects   []string // that the record refers to: the mover reads that
	Contents  bool     // it may have a log, a state, steps or a mailbox
	Freed     bool     // of one that is held: its lock was freed
	nth       int      // in the batch it was frozen with, from 0
}

// Target is where something goes.
type Target struct {
	Partition int
	Front     bool // what waited goes before what waits there
}

// Batch is how the target knows what was frozen together.
type Batch struct {
	Number int64  // it grows
	Name   string // tells it from another one that a failover has given the same number
}

// Frozen is what has left its place, or is told of what has not.
type Frozen struct {
	Outstanding bool // it is the batch of an earlier call: nothing else was done
	Batch
	Target Target
	Looked int // how many of the items the call got to
	Moved  []Moved
}

const (
	maxFrozenBytes = 1 << 20
	freezeReach    = 1_000 // how far from the front of a queue an id is looked for
)

// Freeze takes what is named, at most [MaxBatch], out of its places, for the target to receive.
func (s *Store) Freeze(ctx context.Context, lead Lead, to Target, items []MoveItem) (Frozen, error) {
	k := s.keys
	keys := []string{k.mover, k.frozen, k.jobs, k.claimed, k.trail, k.crashes, k.cancelled, k.waited, k.names, k.unique,
		k.scheduled, k.retry, k.morgue, k.stalled, k.departed, k.stragglers, k.foreign, k.schedules, k.ticks,
		k.revision}
	keys = k.lines(keys)
	names := nameIndex{}
	var tail []any
	for _, item := range items {
		tail = append(tail, string(item.Kind), item.ID, item.Digest, names.of(item.Queue), item.Key)
	}
	args := []any{lead.Token, millis(lead.Life), to.Partition, maxFrozenBytes, freezeReach, len(names.names),
		to.Front}
	for _, name := range names.names {
		keys, args = append(keys, k.queue(name).queue, k.queue(name).wake), append(args, name)
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: freezeScript, Keys: keys,
		Args: append(args, tail...)})
	if err != nil {
		return Frozen{}, err
	}
	r := redisconn.Read(freezeScript.Name, value)
	state := r.Text()
	if state == "led" {
		return Frozen{}, ErrLed
	}
	f := Frozen{Outstanding: state == "outstanding", Batch: Batch{Number: r.Number()},
		Target: Target{Partition: int(r.Number())}, Looked: int(r.Number())}
	f.Name, f.Target.Front = r.Text(), r.Number() == 1
	for r.More() && r.Err() == nil {
		moved, ok := parseMoved(r.Text(), r.Text(), r.Text())
		if !ok {
			r.Fail()
			break
		}
		f.Moved = append(f.Moved, moved)
	}
	if f.Outstanding { // a hash has no order
		slices.SortStableFunc(f.Moved, func(a, b Moved) int { return a.nth - b.nth })
	}
	return f, r.Err()
}

// Thaw notes that the batch which is outstanding goes back to this partition, whose number is here. It is to be
// received here, and handed over, as it would be by its target.
func (s *Store) Thaw(ctx context.Context, lead Lead, number int64, here int) error {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: thawScript,
		Keys: []string{s.keys.mover, s.keys.frozen}, Args: []any{lead.Token, millis(lead.Life), number, here}})
	if state := Word(value); err == nil && state != "ok" {
		return ErrLed // also where another one has handed it over
	}
	return err
}

// nameIndex numbers names, from 1 on; 0 is that of none.
type nameIndex struct {
	names []string
	by    map[string]int
}

func (n *nameIndex) of(name string) int {
	if name == "" {
		return 0
	}
	if at, known := n.by[name]; known {
		return at
	}
	if n.by == nil {
		n.by = map[string]int{}
	}
	n.names = append(n.names, name)
	n.by[name] = len(n.names)
	return len(n.names)
}

// parseMoved reads what partition/freeze has written of one entry.
func parseMoved(what, id, text string) (m Moved, ok bool) {
	m = Moved{What: what, ID: id}
	switch what {
	case MovedLock:
		m.Lock = text
		return m, true
	case MovedHeld, MovedGone:
		fields := strings.SplitN(text, "\x00", 6)
		if len(fields) < 5 {
			return m, false
		}
		m.Queue, m.Digest, m.Lock, m.Place, m.Key = fields[0], fields[1], fields[2], fields[3], fields[4]
		if len(fields) == 6 {
			m.Paced = fields[5]
		}
		m.Freed = what == MovedHeld && m.Digest != "" && m.Lock == ""
		return m, true
	}
	flagged, parts, ok := unpack(text)
	m.Cancelled = flagged
	switch {
	case !ok:
	case what == MovedSchedule && len(parts) == 2:
		m.Record, m.Trail = []byte(parts[0]), []byte(parts[1])
	case what == MovedJob && len(parts) == 13:
		m.Place, m.Score, m.Queue, m.Record, m.Trail = parts[0], parts[1], parts[2], []byte(parts[3]), []byte(parts[4])
		m.Crashes, m.Waited, m.Digest, m.Lock = []byte(parts[5]), []byte(parts[6]), parts[7], parts[8]
		m.Turn, m.nth, m.Holds, m.Paced = parts[9], int(toNumber(parts[10])), parts[11] == "1", parts[12]
	default:
		ok = false
	}
	return m, ok
}

// unpack reads "<target> <number> <flagged> <length> ...\n" and the texts of these lengths.
func unpack(text string) (flagged bool, parts []string, ok bool) {
	head, rest, _ := strings.Cut(text, "\n")
	fields := strings.Fields(head)
	if len(fields) < 4 {
		return false, nil, false
	}
	for _, field := range fields[3:] {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > len(rest) {
			return false, nil, false
		}
		parts, rest = append(parts, rest[:n]), rest[n:]
	}
	return fields[2] == "1", parts, rest == ""
}
