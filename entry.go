package work

import (
	"fmt"
	"maps"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Entry is one job of [Enqueuer.EnqueueMany]. Name is needed, all else may be left out.
type Entry struct {
	Name    string
	Args    []any           // encoded as a JSON array, each by encoding/json
	At      time.Time       // when it is due; the zero time is at once, and one that has passed as well
	In      time.Duration   // in how long it is due, by the clock of Redis; not together with At
	Source  int64           // what it is about, for the handler: Job.SourceID
	Options []EnqueueOption // beat those of With
}

// Meta is what the options give as [Job].Meta; nil when nothing. The map is the caller's own.
func (e Entry) Meta() map[string]string {
	return maps.Clone(jobSettings{}.with(e.Options).meta)
}

// Receipt says what was stored for one entry. The zero value says that nothing is known to be.
type Receipt struct {
	ID    string
	Name  string
	RunAt time.Time // when it is due: by the clock of Redis, or as it was given to EnqueueAt
	// a job of the id given with ID, or of the same kind (Unique), lives already: ID is its id, RunAt is zero
	Duplicate bool
}

// prepared is an entry that was found good.
type prepared struct {
	job    rdb.NewJob
	runAt  time.Time     // as given
	in     time.Duration // as given
	apart  *objectArgs   // nil for nearly all
	unique *uniqueness   // nil for nearly all
}

// prepare checks an entry and encodes its record. Nothing is sent.
func (e *Enqueuer) prepare(entry *Entry) (prepared, error) {
	if err := validateName(entry.Name); err != nil {
		return prepared{}, err
	}
	settings := e.settings
	if len(entry.Options) > 0 {
		settings = settings.with(entry.Options)
	}
	if settings.err != nil {
		return prepared{}, fmt.Errorf("job %s: %w", quoted(entry.Name), settings.err)
	}
	p := prepared{runAt: entry.At, in: entry.In}
	now := e.core.clock.now()
	if err := p.place(entry, settings.front, now); err != nil {
		return prepared{}, err
	}
	p.job.Replicas, p.job.Wait = settings.replicas, settings.replicaWait
	p.job.Queue, p.job.ID, p.job.Chosen = entry.Name, settings.id, settings.chosen
	if !settings.chosen {
		p.job.ID = newID(now)
	}
	unique := e.uniqueOf(entry.Name, settings.unique)
	args, apart, err := unique.limits(e.core.limits).encode(nil, entry.Name, entry.Args)
	if err != nil {
		return prepared{}, err
	}
	if e.core.check != nil {
		if err := e.core.check(entry.Name, apart.whole(args)); err != nil {
			return prepared{}, fmt.Errorf("args of job %s do not fit its handler: %w", quoted(entry.Name), err)
		}
	}
	r := record{
		ID: p.job.ID, Name: entry.Name, Args: args, EnqueuedAt: now.UnixMilli(), Source: entry.Source,
		Retries: settings.retries, Timeout: millis(settings.timeout), Retention: millis(settings.retention),
		Meta: settings.meta,
	}
	r.Completion = settings.completion
	if apart != nil {
		p.apart, p.job.Objects, r.Objects = apart, apart.hashes, apart.at
	}
	switch p.job.Place {
	case rdb.At:
		r.RunAt = p.job.When
	case rdb.In:
		r.RunAt = r.EnqueuedAt + p.job.When
	}
	if err := settings.extend(&r); err != nil {
		return prepared{}, err
	}
	if unique != nil {
		if err := p.makeUnique(unique, &r); err != nil {
			return prepared{}, err
		}
	}
	p.job.Record = r.encode(make([]byte, 0, len(r.ID)+len(r.Name)+len(args)+64))
	return p, nil
}

// uniqueOf are the options given at the enqueue, or the job's own; nil where it has none.
func (e *Enqueuer) uniqueOf(name string, given *UniqueOptions) *UniqueOptions {
	if given == nil && e.core.unique != nil {
		return e.core.unique(name)
	}
	return given
}

// place decides where the job goes.
func (p *prepared) place(entry *Entry, front bool, now time.Time) error {
	job := func(what string) string { return what + quoted(entry.Name) } // called for errors only
	later := entry.At.After(now) || entry.In > 0                         // one that has passed is at once
	switch {
	case entry.In < 0:
		return &InvalidError{What: job("delay of job "), Value: entry.In.String(), Remedy: "use zero or more"}
	case entry.In > 0 && !entry.At.IsZero():
		return &InvalidError{What: job("job "), Value: "given both At and In", Remedy: "use one of them"}
	case later && front:
		return &InvalidError{What: job("job "), Value: "due later but has the option Front",
			Remedy: "leave Front out: a job goes to the back of its queue when it falls due"}
	case !entry.At.IsZero() && (entry.At.UnixMilli() <= 0 || entry.At.Sub(now) > maxAhead):
		return &InvalidError{What: job("time of job "), Value: entry.At.Format(time.RFC3339),
			Remedy: "use one after 1970 and at most 100 years ahead"}
	case entry.In > maxAhead:
		return &InvalidError{What: job("delay of job "), Value: entry.In.String(), Remedy: "use at most 100 years"}
	case front:
		p.job.Place = rdb.Front
	case !entry.At.IsZero():
		p.job.Place, p.job.When = rdb.At, entry.At.Add(time.Millisecond-1).UnixMilli() // never before the time given
	case entry.In > 0:
		p.job.Place, p.job.When = rdb.In, millis(entry.In)
	default:
		p.job.Place = rdb.Back
	}
	return nil
}

// maxAhead is how far ahead a job may be scheduled: what is further is a mistake in a unit. It is the longest duration
// as well.
const maxAhead = 100 * 365 * 24 * time.Hour

// capped is the duration that is used for one that a program gave: a longer one means for ever, and reckoning with it
// would leave time.Duration.
func capped(d time.Duration) time.Duration { return min(max(d, -maxAhead), maxAhead) }

// bytes is about how much of a call the job takes.
func (p *prepared) bytes() int {
	return len(p.job.Record) + len(p.job.ID) + len(p.job.Queue) + objectBytes*len(p.job.Objects)
}

// receipt is what to tell of an entry that Redis answered for at that time.
func (p *prepared) receipt(at time.Time) Receipt {
	r := Receipt{ID: p.job.ID, Name: p.job.Queue, RunAt: at.Add(p.in)}
	if !p.runAt.IsZero() {
		r.RunAt = p.runAt
	}
	return r
}

// millis is a duration as Redis gets it; a part of a millisecond counts as one.
func millis(d time.Duration) int64 {
	return int64((capped(d) + time.Millisecond - 1) / time.Millisecond)
}
