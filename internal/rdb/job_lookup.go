package rdb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var lookupScript = redisconn.Load("inspect/lookup")

// MaxLookup is how many jobs one Lookup is asked about at the most.
const MaxLookup = 64

// The bounds of a Lookup.
const (
	maxAskedWorkers = 500  // more are not asked whether they serve a queue
	maxLookupKeys   = 8192 // of one pipeline: about half a MiB
	maxLookups      = 3    // for an id that changes its queue each time
)

// Where is where a job was found, as lua/inspect/lookup.lua calls it: a [Shelf] or one of these.
type Where string

// The places that are no shelf.
const (
	WhereClaimed Where = "claimed"
	WhereQueue   Where = "queue"
	WhereNowhere Where = "nowhere" // it has a record and is in no place that it may be in
	WhereEnded   Where = "ended"   // only its outcome is there
	WhereGone    Where = "gone"
)

// Found is what is known of a job, as of one moment.
type Found struct {
	ID                     string
	Where                  Where
	Time                   time.Time // that moment, by Redis' clock
	Record, Trail, Outcome []byte
	Crashes                string // words about workers that died with it: see release.lua
	Details                []byte // of WhereEnded, where they are kept
	Flagged                bool   // its cancellation is wanted
	Queue                  string // by its claim or its shelf; the record knows otherwise

	Due   time.Time // of a shelf: the score
	Claim Holding   // of WhereClaimed, as the next two
	Said  string    // "<ms> <message>" of the last check-in; "" where there was none
	Alive bool      // whoever claims it has a heartbeat

	Waits Waits  // of WhereQueue
	Pass  string // of the same: of one that waits by turns; else ""

	Err error // with which Redis refused to look: nothing else is known then
}

// Waits is what a job in a queue waits for.
type Waits struct {
	Before  int           // jobs that go before it; -1 when there are more than are counted
	All     bool          // all queues are paused
	Rule    string        // of its queue, as it stands in limits; "" where there is none
	Running int           // jobs that count towards the limit of the queue
	Rate    time.Duration // until the rate leaves room; 0 where it is not in the way
	Served  bool          // by a worker, or that could not be seen
	Parked  *Restraint    // of its key, which has no room for it; nil where it may be drawn
	Quotas  Quotas        // of the pools that serve it, where they are used up
}

// Lookup finds up to [MaxLookup] jobs, each as of one moment, in two round trips: one reads which queues and workers
// are concerned, one sends a script for each job. Of jobs in queues it asks in one or two more what pools have told of
// quotas. nameOf reads the name in a record, and is "" where it cannot. The answers are in the order of the ids.
func (s *Store) Lookup(ctx context.Context, ids []string, nameOf func(record []byte) string) ([]Found, error) {
	return s.lookup(ctx, ids, nameOf, positionReach)
}

// LookupWithoutPosition is Lookup of jobs that were just seen where they are: positions in queues are not searched for,
// which would cost more than all the rest. Waits.Before is -1 then.
func (s *Store) LookupWithoutPosition(ctx context.Context, ids []string, nameOf func(record []byte) string) ([]Found,
	error) {
	return s.lookup(ctx, ids, nameOf, 1)
}

// lookup goes in two steps, since a script must be given all its keys: hints say which queue and worker are the job's,
// the script says where it stands. A job that moved to another queue in between is looked for again, a few times.
func (s *Store) lookup(ctx context.Context, ids []string, nameOf func(record []byte) string, reach int) ([]Found,
	error) {
	l := lookup{store: s, ids: ids, nameOf: nameOf, reach: reach, found: make([]Found, len(ids)),
		hints: make([]hint, len(ids))}
	for i := range ids {
		l.open = append(l.open, i)
	}
	for range maxLookups {
		if err := l.hint(ctx); err != nil {
			return nil, err
		}
		if err := l.look(ctx); err != nil {
			return nil, err
		}
		if len(l.open) == 0 {
			break
		}
	}
	for _, i := range l.open {
		l.found[i] = Found{ID: ids[i], Err: errElsewhere}
	}
	if err := l.details(ctx); err != nil {
		return nil, err
	}
	if err := l.restrained(ctx); err != nil {
		return nil, err
	}
	return l.found, l.quotas(ctx)
}

var errElsewhere = errors.New(
	"each time that it was looked for, a job of this id was stored in another queue: ask again")

// lookup is one Lookup under way.
type lookup struct {
	store  *Store
	ids    []string
	nameOf func(record []byte) string
	reach  int // how far from the ends of a queue is looked

	open    []int // indices of the ids that are not found yet
	hints   []hint
	workers []string // that are registered
	crowd   bool     // there are more
	found   []Found
}

// hint is what was known of a job before the script was sent.
type hint struct {
	queue, worker string
	waiting       bool // it seemed to be in its queue
}

// hint reads what the scripts must be told. What has no record is answered at once; outcomes are read after the
// records, so that a job which ends between the two is seen.
func (l *lookup) hint(ctx context.Context) error {
	k := l.store.keys
	ids := make([]any, 1, 1+len(l.open))
	for _, i := range l.open {
		ids = append(ids, l.ids[i])
	}
	of := func(key string) redisconn.Call {
		args := slices.Clone(ids)
		args[0] = key
		return redisconn.Call{Command: "HMGET", Args: args}
	}
	values, err := l.store.many(ctx, []redisconn.Call{
		of(k.jobs), of(k.outcomes), of(k.claimed), of(k.names),
		{Command: "SSCAN", Args: []any{k.workers, "0", "COUNT", maxAskedWorkers}}, {Command: "TIME"},
	})
	if err != nil {
		return err
	}
	records, outcomes, claims, names := redisconn.Read("HMGET", values[0]), redisconn.Read("HMGET", values[1]),
		redisconn.Read("HMGET", values[2]), redisconn.Read("HMGET", values[3])
	scanned, clock := redisconn.Read("SSCAN", values[4]), redisconn.Read("TIME", values[5])
	cursor := scanned.Text() // the script counts how many there are
	l.workers = scanned.Texts()
	l.crowd = cursor != "0" || len(l.workers) > maxAskedWorkers
	l.workers = l.workers[:min(len(l.workers), maxAskedWorkers)]
	seconds, micros := clock.Number(), clock.Number()
	for _, i := range l.open {
		record, outcome, claim, name := records.Bytes(), outcomes.Bytes(), claims.Text(), names.Text()
		f := Found{ID: l.ids[i], Time: time.UnixMicro(seconds*1_000_000 + micros), Outcome: outcome}
		switch {
		case record == nil && outcome == nil:
			f.Where = WhereGone
		case record == nil:
			f.Where = WhereEnded
		}
		l.found[i] = f
		l.hints[i] = hint{queue: l.nameOf(record), worker: parseHolding(f.ID, claim).Worker, waiting: claim == "" &&
			name == ""}
	}
	l.close(func(i int) bool { return l.found[i].Where != "" })
	return cmp.Or(records.Err(), outcomes.Err(), claims.Err(), names.Err(), scanned.Err(), clock.Err())
}

// close takes those out of what is open that are found.
func (l *lookup) close(found func(i int) bool) { l.open = slices.DeleteFunc(l.open, found) }

// look sends the scripts.
func (l *lookup) look(ctx context.Context) error {
	batch := max(1, min(maxPipeline, maxLookupKeys/(19+len(l.workers))))
	for part := range slices.Chunk(l.open, batch) {
		calls := make([]redisconn.Call, len(part))
		for n, i := range part {
			calls[n] = l.call(i)
		}
		replies, err := l.store.driver.Pipeline(ctx, calls...)
		if err != nil {
			return err
		}
		for n, i := range part {
			if l.found[i].Err = replies[n].Err; replies[n].Err == nil {
				l.found[i] = parseFound(l.ids[i], replies[n].Value)
			}
		}
	}
	// An id that its enqueuer chose may be that of a job of another queue by now: then that queue is to be asked.
	l.close(func(i int) bool {
		f := &l.found[i]
		inQueue := f.Where == WhereQueue || f.Where == WhereNowhere
		return f.Err != nil || !inQueue || l.nameOf(f.Record) == l.hints[i].queue
	})
	return nil
}

func (l *lookup) call(i int) redisconn.Call {
	k, h := l.store.keys, l.hints[i]
	queue, worker := k.queue(h.queue), k.worker(cmp.Or(h.worker, "nobody")) // who has no keys
	keys := append(make([]string, 0, 19+len(l.workers)), k.jobs, k.trail, k.crashes, k.outcomes, k.claimed, k.names,
		k.scheduled, k.retry, k.morgue, k.stalled, k.cancelled, k.limits, k.workers, queue.queue, queue.running,
		queue.rate, worker.heart, worker.running, k.turns)
	if h.waiting {
		for _, id := range l.workers {
			keys = append(keys, k.worker(id).queues)
		}
	}
	return redisconn.Call{Script: lookupScript, Keys: keys, Args: []any{l.ids[i], h.queue, h.worker, l.reach}}
}

func parseFound(id string, value any) Found {
	r := redisconn.Read("inspect/lookup", value)
	f := Found{
		ID: id, Where: Where(r.Text()), Time: fromMillis(r.Number()), Record: r.Bytes(), Trail: r.Bytes(),
		Crashes: r.Text(), Outcome: r.Bytes(), Flagged: r.Number() == 1, Queue: r.Text(),
	}
	switch f.Where {
	case WhereClaimed:
		f.Claim, f.Said, f.Alive = parseHolding(id, r.Text()), r.Text(), r.Number() == 1
	case Where(ShelfScheduled), Where(ShelfRetry), Where(ShelfMorgue), Where(ShelfStalled):
		f.Due = fromMillis(r.Number())
	case WhereQueue:
		f.Waits = Waits{
			Before: int(r.Number()), All: r.Number() == 1, Rule: r.Text(), Running: int(r.Number()),
			Rate: time.Duration(r.Number()) * time.Millisecond, Served: r.Number() == 1,
		}
		if r.More() {
			f.Pass = r.Text()
		}
	case WhereNowhere, WhereEnded, WhereGone:
	default:
		r.Fail()
	}
	f.Err = r.Err()
	return f
}

// details adds to what was found of jobs that have ended what else is kept of them.
func (l *lookup) details(ctx context.Context) error {
	var of []int
	var calls []redisconn.Call
	for i := range l.found {
		f := &l.found[i]
		beginning := beginningOf(f.Outcome)
		if f.Err != nil || f.Where != WhereEnded || beginning == "" {
			continue
		}
		shelf := shelfIn(beginning)
		_, details := l.store.keys.ended(shelf.State, shelf.Name)
		of = append(of, i)
		calls = append(calls, redisconn.Call{Command: "HGET", Args: []any{details, f.ID}})
	}
	if len(calls) == 0 {
		return nil
	}
	replies, err := l.store.driver.Pipeline(ctx, calls...)
	if err != nil {
		return err
	}
	for n, i := range of {
		l.found[i].Err = replies[n].Err
		l.found[i].Details, _ = replies[n].Value.([]byte)
	}
	return nil
}
