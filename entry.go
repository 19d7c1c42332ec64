package work

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// Entry is one job of [Enqueuer.EnqueueMany]. Name is needed, all else may be left out.
type Entry struct {
	Name    string
	Args    []any           // encoded as a JSON array, each by encoding/json
	At      time.Time       // when it is due; the zero time is at once, and one that has passed as well
	In      time.Duration   // in how long it is due, by the clock of Redis; not together with At
	Source  int64           // what it is about, for the handler: Job.SourceID; 0 leaves it to the options
	Options []EnqueueOption // beat those of With

	kind entryKind // of an entry that a Kind made
}

// entryKind is what a Kind knows of its jobs beside their name and args.
type entryKind struct {
	unique *UniqueOptions // unless the enqueue gives others; nil is none
	codecs *codec.Chain   // of its own; nil is none
	err    error          // what is wrong with the kind
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

// prepare checks an entry and encodes its record. Nothing is sent. The id is made here and not when the call is made,
// so that a call that is repeated stores the same job, and what an error names is what may have been stored.
func (e *Enqueuer) prepare(entry *Entry) (p intake.Job, err error) {
	if entry.kind.err != nil {
		return intake.Job{}, entry.kind.err
	}
	if err := validateName(entry.Name); err != nil {
		return intake.Job{}, err
	}
	settings := e.settings
	if len(entry.Options) > 0 {
		settings = settings.with(entry.Options)
	}
	if settings.err != nil {
		return intake.Job{}, fmt.Errorf("job %s: %w", excerpt.Brief(entry.Name), settings.err)
	}
	now := e.core.clock.Now()
	if err := placeJob(&p.NewJob, entry, settings.front, now); err != nil {
		return intake.Job{}, err
	}
	settings.name(&p, entry.Name, now)
	options := e.uniqueOf(entry, settings.unique)
	room := argsRoom.Get().(*[]byte)
	args, err := e.encodeArgs((*room)[:0], entry, options.limits(e.core.limits), settings.codecs)
	if err != nil {
		return intake.Job{}, err
	}
	r := record.Record{
		ID: p.ID, Name: entry.Name, Args: args.stored, EnqueuedAt: now.UnixMilli(),
		Source: cmp.Or(entry.Source, settings.source), Parent: settings.parent,
		Retries: settings.retries, Timeout: span.Millis(settings.timeout), Retention: span.Millis(settings.retention),
		Meta: settings.meta,
	}
	r.Completion, r.Given = settings.completion, settings.chosen
	noteWhere(&p, &r, args.apart)
	if err := settings.extend(&r); err != nil {
		return intake.Job{}, err
	}
	p.Turn = settings.turn
	if options != nil {
		if err := options.makeUnique(&p, &r, &args); err != nil {
			return intake.Job{}, err
		}
	}
	if err := e.core.holdable(&p); err != nil {
		return intake.Job{}, err
	}
	p.Record = r.Append(make([]byte, 0, len(r.ID)+len(r.Name)+len(r.Args)+64))
	if options == nil { // else another job of the kind may be to have the args
		args.free(room)
	}
	return p, nil
}

// noteWhere notes when a job is due, and which of its args are objects.
func noteWhere(p *intake.Job, r *record.Record, apart *jobargs.Apart) {
	if apart != nil {
		p.Contents, p.Objects, r.Objects = apart.Contents, apart.Hashes, apart.At
	}
	switch p.Place {
	case rdb.At:
		r.RunAt = p.When
	case rdb.In:
		r.RunAt = r.EnqueuedAt + p.When
	}
}

// free lets others have the room of the args. A codec may keep what it was given.
func (a *encodedArgs) free(room *[]byte) {
	if cap(a.open) <= maxArgsRoom && !a.codecs.Encodes() {
		*room = a.open
		argsRoom.Put(room)
	}
}

// argsRoom is where args are encoded before they become part of a record. What is larger than maxArgsRoom is not kept.
var argsRoom = sync.Pool{New: func() any { return new([]byte) }}

const maxArgsRoom = 64 << 10

// encodeArgs encodes the args of an entry, behind what dst has, and checks them.
func (e *Enqueuer) encodeArgs(dst []byte, entry *Entry, limits jobargs.Limits, codecs *codec.Chain) (args encodedArgs,
	err error) {
	args.codecs = e.core.codecsOf(entry, codecs)
	if args.codecs.Encodes() {
		limits.Seal = args.codecs.Encoding(codec.Argument(entry.Name))
	}
	if args.open, args.apart, err = limits.Encode(dst, entry.Name, entry.Args); err != nil {
		return args, codecError("an argument of job "+excerpt.Brief(entry.Name), asInvalid(err))
	}
	if e.core.check != nil { // that of a pool knows the handlers: a mistake is better told now than when the job runs
		if err := e.core.check(entry.Name, args.whole()); err != nil {
			return args, fmt.Errorf("args of job %s do not fit its handler: %w", excerpt.Brief(entry.Name), err)
		}
	}
	args.stored, err = sealArgs(args.codecs, entry.Name, args.open)
	return args, err
}

// codecsOf are the codecs of an entry: those of its kind, of the job's own options, or of the Enqueuer.
func (c *enqueuerCore) codecsOf(entry *Entry, codecs *codec.Chain) *codec.Chain {
	if own := entry.kind.codecs; own != nil {
		return own
	}
	if c.codec != nil {
		if own := c.codec(entry.Name); own != nil {
			return own
		}
	}
	return codecs
}

// name gives a job its name and its id, and says how many replicas it waits for.
func (s *jobSettings) name(p *intake.Job, name string, now time.Time) {
	p.Replicas, p.Wait = s.replicas, s.replicaWait
	p.Queue, p.ID, p.Chosen = needs.Queue(name, s.needs), s.id, s.chosen
	if !s.chosen {
		p.ID = ids.Job(now)
	}
}

// holdable refuses a job that is bound by two things which may be in different partitions.
func (c *enqueuerCore) holdable(job *intake.Job) error {
	if !job.Request || c.parts == nil {
		return nil
	}
	return asInvalid(intake.Unholdable(c.parts.Map(), job))
}

// prepareMany prepares entries of which all must be good. Jobs that bring the same contents along hold each once.
func (e *Enqueuer) prepareMany(ctx context.Context, entries []Entry) (jobs []intake.Job, err error) {
	jobs, known := make([]intake.Job, len(entries)), map[string][]byte{}
	names := make([]string, len(entries))
	refused := func(i int, err error) error {
		if len(entries) > 1 {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		return err
	}
	for i := range entries {
		if jobs[i], err = e.prepare(&entries[i]); err != nil {
			return nil, refused(i, err)
		}
		jobargs.Share(jobs[i].Contents, known)
		names[i] = entries[i].Name
	}
	if at, err := e.core.checkNames(ctx, names...); err != nil {
		return nil, refused(at, err)
	}
	return jobs, nil
}

// checkNames refuses names that the Enqueuer is not to accept: the index is that of the first one.
func (c *enqueuerCore) checkNames(ctx context.Context, names ...string) (at int, err error) {
	if c.names == nil {
		return 0, nil
	}
	at, err = c.names.Check(ctx, names...)
	return at, asInvalid(err)
}

// uniqueOf are the options given at the enqueue, those of the entry's kind, or the job's own; nil where it has none.
func (e *Enqueuer) uniqueOf(entry *Entry, given *UniqueOptions) *UniqueOptions {
	own := entry.kind.unique
	if own == nil && e.core.unique != nil {
		own = e.core.unique(entry.Name)
	}
	switch {
	case given == nil:
		return own
	case own == nil:
		return given
	}
	return given.withFields(own.fields)
}

// placeJob decides where the job goes: to an end of its queue, or to the jobs that are due later. now is by the clock
// of Redis, as far as it is known, and only tells mistakes and what has passed: In is added by Redis itself.
func placeJob(new *rdb.NewJob, entry *Entry, front bool, now time.Time) error {
	job := func(what string) string { return what + excerpt.Brief(entry.Name) } // called for errors only
	later := entry.At.After(now) || entry.In > 0                                // one that has passed is at once
	switch {
	case entry.In < 0:
		return &InvalidError{What: job("delay of job "), Value: entry.In.String(), Remedy: "use zero or more"}
	case entry.In > 0 && !entry.At.IsZero():
		return &InvalidError{What: job("job "), Value: "given both At and In", Remedy: "use one of them"}
	case later && front:
		return &InvalidError{What: job("job "), Value: "due later but has the option Front",
			Remedy: "leave Front out: a job goes to the back of its queue when it falls due"}
	case !entry.At.IsZero() && (entry.At.UnixMilli() <= 0 || entry.At.Sub(now) > span.Longest):
		return &InvalidError{What: job("time of job "), Value: entry.At.Format(time.RFC3339),
			Remedy: "use one after 1970 and at most 100 years ahead"}
	case entry.In > span.Longest:
		return &InvalidError{What: job("delay of job "), Value: entry.In.String(), Remedy: "use at most 100 years"}
	case front:
		new.Place = rdb.Front
	case !entry.At.IsZero():
		new.Place, new.When = rdb.At, entry.At.Add(time.Millisecond-1).UnixMilli() // never before the time given
	case entry.In > 0:
		new.Place, new.When = rdb.In, span.Millis(entry.In)
	default:
		new.Place = rdb.Back
	}
	return nil
}

// receipt is what to tell of the entry's job. The error says why it is not stored, or how less well than it was to be:
// with a *ReplicasError the job is stored and the receipt full. A job of which it is not known whether it was stored
// has the zero Receipt; the error of the whole call names it.
func (e *Entry) receipt(job *intake.Job, result *intake.Result) (Receipt, error) {
	refused := result.Outcome == intake.NotStored && result.Duplicate
	switch {
	case result.Err != nil:
		return Receipt{}, asPartition(asInvalid(result.Err))
	case refused:
		return Receipt{}, &DuplicateError{Name: job.Name(), ID: result.Owner, Held: result.Held}
	case result.Outcome != intake.Stored:
		return Receipt{}, nil
	case result.Duplicate:
		return Receipt{ID: result.Owner, Name: job.Name(), Duplicate: true}, nil
	}
	r := Receipt{ID: job.ID, Name: job.Name(), RunAt: result.At.Add(e.In)}
	if !e.At.IsZero() {
		r.RunAt = e.At
	}
	if result.Confirmed < job.Replicas {
		few := &ReplicasError{Wanted: job.Replicas, Confirmed: result.Confirmed, Err: result.Few}
		if result.Divided {
			return r, &PartitionError{Partition: result.Partition, Err: few}
		}
		return r, few
	}
	return r, nil
}

// EntrySettings are the options of one job, as plain values for middleware and tests to look at. What was not given is
// the zero value, and left to the options with which the job's handler was registered.
type EntrySettings struct {
	ID         string
	Retries    *int // nil was not given
	Timeout    time.Duration
	Retention  time.Duration
	OmitArgs   bool
	Meta       map[string]string
	Tags       []string
	Front      bool
	Unique     *UniqueOptions // nil was not given
	ExpireIn   time.Duration
	ExpireAt   time.Time
	Deadline   time.Time
	RetryFor   time.Duration
	Completion string
	Key        string
	Weight     int // 0 was not given
	Needs      []string
	Replicas   int
	Source     int64  // that of the entry itself beats it
	Parent     string // the id of the job whose handler enqueues it: see EnqueuerFromContext
}

// Settings are what the options of the entry come to, each the last that was given. In an [EnqueueMiddleware] those of
// [Enqueuer.With] are among them. Options that the enqueue would refuse are in it as well. It is the caller's own.
func (e Entry) Settings() EntrySettings {
	s := jobSettings{}.with(e.Options)
	settings := EntrySettings{
		ID: s.id, Timeout: s.timeout, Retention: s.retention, OmitArgs: s.omitArgs, Meta: maps.Clone(s.meta),
		Tags: slices.Clone(s.tags), Front: s.front,
		ExpireIn: s.times.expireIn, ExpireAt: s.times.expireAt, Deadline: s.times.deadline, RetryFor: s.times.retryFor,
		Completion: s.completion, Key: s.turn.Key, Weight: s.turn.Weight, Needs: slices.Clone(s.needs),
		Replicas: s.replicas, Source: s.source,
		Parent: s.parent,
	}
	if s.retries != nil {
		retries := *s.retries
		settings.Retries = &retries
	}
	if s.unique != nil {
		unique := *s.unique
		settings.Unique = &unique
	}
	return settings
}
