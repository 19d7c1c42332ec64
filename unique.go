package work

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
	"github.com/265d0351/work/internal/unique"
)

// UniqueOptions says which jobs of one name count as the same, until when, and what happens to one that comes while
// another lives. The zero value: jobs with the same args are the same, until the first one has finished, and the
// enqueue of another one answers with the id of the first. Jobs of different names are never the same, nor are those
// whose option [Key] differs.
type UniqueOptions struct {
	Key  string // jobs with this key are the same, whatever their args; at most 200 bytes
	Args []int  // positions of the args that count, the first is 0; none is all of them. Not together with Key
	// instead of both: a key that is made of the first arg, see KeyOf. Where none of the three is given, fields of the
	// args that are tagged with work:"unique" are what counts, if there are any
	By UniqueKey

	Until Until // when another one may be stored; default UntilFinished
	// instead: when this time has passed since the enqueue, even if the job is done; 0 is not used
	For          time.Duration
	KeepInMorgue bool // a job in the morgue counts as living; default: its place is free once it is buried

	OnConflict Conflict // what happens to one that comes while another lives; default KeepExisting

	once   bool       // the key is that of a request, see Once
	fields [][]string // of each arg, those that are tagged
}

// UniqueKey makes the key of a job out of its args: see [KeyOf]. The zero value makes none.
type UniqueKey struct{ maker *unique.KeyMaker }

// KeyOf is a key for [UniqueOptions].By. fn gets the first arg of a job, as its handler would; jobs for which it
// returns the same text, of any length but not empty, are the same. It is called by each enqueue, many at a time. A
// panic in it is an error of the enqueue.
func KeyOf[A any](fn func(args A) string) UniqueKey {
	return UniqueKey{unique.NewKeyMaker(fn, recovered)}
}

// Until says when another job of the same kind may be stored. In any case it may once the job was cancelled, deleted,
// dropped or has expired.
type Until int

// When another one may be stored.
const (
	UntilFinished Until = 0 // when the job has finished: it is done, dropped or buried
	UntilStarted  Until = 1 // just before the handler of its first attempt is called
)

// Conflict says what happens to a job that comes while another one of its kind lives. ReplaceArgs|Postpone does both.
type Conflict int

// What may happen. Whatever it is, there is one job of the kind.
const (
	// KeepExisting: the Receipt has the id of the one that lives, and says Duplicate.
	KeepExisting Conflict = 0
	// ReplaceArgs: so it does, and the one that lives gets the new args.
	ReplaceArgs Conflict = 1
	// Postpone: so it does, and the one that lives becomes due when the new one would, if that is later. One that is
	// due already is not held up. The enqueue must give a time or a delay.
	Postpone Conflict = 2
	// RefuseDuplicate: the enqueue fails with a *[DuplicateError].
	RefuseDuplicate Conflict = 4
)

// Unique makes a job the only one of its kind: see [UniqueOptions]. It beats the job's own JobOptions.Unique.
func Unique(options UniqueOptions) EnqueueOption {
	options.Args = slices.Clone(options.Args) // the caller's may change
	return func(s *jobSettings) {
		s.unique = &options
		s.refuse(options.validate())
	}
}

// DuplicateError says that a job was not stored, because another one of its kind lives: see [UniqueOptions]. With
// RefuseDuplicate that is all; with ReplaceArgs and Postpone it says that the other one was running all the while, so
// it could not be changed. Of a dead job that was to be retried it says that it stays dead, since another one of its
// kind lives by now.
type DuplicateError struct {
	Name string
	ID   string // of the one that lives
	Held bool   // it could not be changed, because a worker has it
	// the job that was refused is stored, and was to be retried
	Stored bool
}

func (e *DuplicateError) Error() string {
	if e.Held {
		return fmt.Sprintf("job %s of the same kind (%s) is with a worker, so it cannot be changed: "+
			"enqueue again later, or use UntilStarted",
			excerpt.Brief(e.ID), excerpt.Brief(e.Name))
	}
	if e.Stored {
		return fmt.Sprintf("job %s of the same kind (%s) lives: wait for its end, or delete one of the two",
			excerpt.Brief(e.ID), excerpt.Brief(e.Name))
	}
	return fmt.Sprintf("job %s of the same kind (%s) lives: wait for its end, or use KeepExisting", excerpt.Brief(e.ID),
		excerpt.Brief(e.Name))
}

func (o *UniqueOptions) validate() error {
	refuse := func(field string, value any, remedy string) error {
		return &InvalidError{What: "UniqueOptions." + field, Value: fmt.Sprint(value), Remedy: remedy}
	}
	changes := o.OnConflict&(ReplaceArgs|Postpone) != 0
	switch {
	case len(o.Key) > unique.MaxKey: // a key may be made of args, and is shown as little
		return refuse("Key", fmt.Sprintf("%d bytes long", len(o.Key)), "use at most 200, such as a hash of it")
	case o.Key != "" && len(o.Args) > 0:
		return refuse("Key", "given beside Args", "use one of them")
	case o.By.maker != nil && o.identified():
		return refuse("By", "given beside Key or Args", "use one of them")
	case !o.By.maker.Usable():
		return refuse("By", "made of a nil function", "give KeyOf one, or leave By out")
	case len(o.Args) > 0 && slices.Min(o.Args) < 0:
		return refuse("Args", o.Args, "use positions from 0")
	case o.Until != UntilFinished && o.Until != UntilStarted:
		return refuse("Until", int(o.Until), "use UntilFinished or UntilStarted")
	case o.For < 0 || o.For > span.Longest:
		return refuse("For", o.For, "use a duration above zero and at most 100 years, or 0 for none")
	case o.For > 0 && (o.Until != UntilFinished || o.KeepInMorgue):
		return refuse("For", o.For.String()+" beside Until or KeepInMorgue",
			"use one of them: the time ends whatever becomes of the job")
	case o.For > 0 && changes:
		return refuse("For", o.For.String()+" beside ReplaceArgs or Postpone",
			"use one of them: within the time the job may be done, and then nothing can be changed")
	case o.KeepInMorgue && o.Until == UntilStarted:
		return refuse("KeepInMorgue", "given with UntilStarted", "use one of them")
	case o.OnConflict < 0 || o.OnConflict > RefuseDuplicate:
		return refuse("OnConflict", int(o.OnConflict),
			"use KeepExisting, ReplaceArgs, Postpone, ReplaceArgs|Postpone or RefuseDuplicate")
	}
	return nil
}

// identified tells that the options say by themselves which jobs are the same, beside By.
func (o *UniqueOptions) identified() bool { return o.Key != "" || len(o.Args) > 0 }

// taking is o for jobs of that name with such args: with the fields that are tagged. It is nil where o is nil and there
// are none. The error says that the two do not go together, so that every enqueue would be refused.
func (o *UniqueOptions) taking(name string, args unique.Args) (*UniqueOptions, error) {
	fields, err := args.Fields()
	switch {
	case err != nil || o == nil:
	case o.By.maker != nil:
		err = o.By.maker.Fits(args)
	default:
		err = unique.Kind{Name: name, Args: o.Args}.FitsArgs(args)
	}
	if err != nil {
		return o, asInvalid(err)
	}
	return o.withFields(fields), nil
}

// withFields is o by those fields, if there are any and it does not say otherwise.
func (o *UniqueOptions) withFields(fields [][]string) *UniqueOptions {
	switch {
	case fields == nil:
		return o
	case o == nil:
		return &UniqueOptions{fields: fields}
	case o.identified() || o.By.maker != nil || o.once:
		return o
	}
	tagged := *o
	tagged.fields = fields
	return &tagged
}

// limits are those of the args: what may replace the args of another job stays in its record. o may be nil.
func (o *UniqueOptions) limits(l jobargs.Limits) jobargs.Limits {
	if o != nil && o.OnConflict&ReplaceArgs != 0 {
		l.Large = math.MaxInt
	}
	return l
}

// makeUnique gives a job its lock.
func (o *UniqueOptions) makeUnique(job *intake.Job, r *record.Record, args *encodedArgs) error {
	digest, err := o.digest(r, args)
	switch {
	case err != nil:
		return asInvalid(err)
	case o.OnConflict&ReplaceArgs != 0 && args.apart != nil:
		return &InvalidError{What: "job " + excerpt.Brief(r.Name),
			Value:  "given ReplaceArgs and args that refer to objects",
			Remedy: "pass what identifies the objects, or leave ReplaceArgs out"}
	case o.OnConflict&Postpone != 0 && r.RunAt == 0:
		return &InvalidError{What: "job " + excerpt.Brief(r.Name), Value: "to postpone another one, but is due at once",
			Remedy: "give a time or a delay, or leave Postpone out"}
	}
	job.Lock = rdb.Lock{Digest: digest, Kind: o.lockKind(), Life: o.For}
	if job.Request = o.once; !o.once { // the end of a job frees the lock that its record names
		r.Lock, r.LockKind = digest, string(job.Lock.Kind)
	}
	job.Conflict = &intake.Conflict{Refuse: o.OnConflict == RefuseDuplicate}
	if o.OnConflict&(ReplaceArgs|Postpone) != 0 {
		job.Conflict.Change = o.change(job, r)
	}
	return nil
}

// digest is that of the lock of a job with these args. The lock of a job with a key lives where that does.
// Where args are sealed it is a keyed one of the open args, unless the program gave a Key: all who seal find the same,
// whichever key they seal with, and nobody else can guess.
func (o *UniqueOptions) digest(r *record.Record, args *encodedArgs) (string, error) {
	whole := args.whole()
	kind, err := o.kind(r, whole)
	if err != nil {
		return "", err
	}
	digest, err := kind.Digest(whole)
	if err == nil && o.Key == "" {
		digest, err = keyedDigest(args.codecs, r.Name, digest)
	}
	if err == nil && kind.Of != "" {
		digest = partition.LockOfKey(digest, kind.Name, kind.Of)
	}
	return digest, err
}

// kind says which jobs are the same as one with these args.
func (o *UniqueOptions) kind(r *record.Record, args []byte) (unique.Kind, error) {
	kind := unique.Kind{Key: o.Key, Args: o.Args, Fields: o.fields}
	if !o.once { // else the key is of no job
		kind.Name, kind.Of = r.Name, r.Key
	}
	if o.By.maker == nil {
		return kind, nil
	}
	var err error
	kind.Key, err = o.By.maker.Key(args)
	return kind, err
}

func (o *UniqueOptions) lockKind() rdb.LockKind {
	switch {
	case o.For > 0:
		return rdb.ForATime
	case o.Until == UntilStarted:
		return rdb.UntilBegun
	case o.KeepInMorgue:
		return rdb.UntilGone
	}
	return rdb.UntilEnded
}

// change is what the job does to another one of its kind.
func (o *UniqueOptions) change(job *intake.Job, r *record.Record) *unique.Change {
	change := &unique.Change{Postpone: o.OnConflict&Postpone != 0, At: r.RunAt, Place: job.Place, When: job.When}
	if o.OnConflict&ReplaceArgs != 0 {
		change.Args = r.Args
	}
	return change
}

// Once stores one job for all requests that give the same key within d of the first, whatever the names of their jobs
// and whatever became of the first one: also when it was done, cancelled, deleted or buried long ago. So somebody who
// did not hear the answer can ask again. The Receipt then says Duplicate, and has the id of the first. The key has 1 to
// 200 bytes; d is above zero, at most 100 years, counts in whole milliseconds, and goes by the clock of Redis.
//
// It takes the place of [Unique], also of that in the job's own options: a job has one lock, and this one belongs to
// the request and not to the job. An [ID] beside it must not be used a second time.
//
// Where a namespace has several partitions, jobs of a name with a limit are refused with an *[InvalidError]: all of
// them live in one partition, and those of the same key in another.
func Once(key string, d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		options := &UniqueOptions{Key: key, For: d, once: true}
		s.unique = options
		switch {
		case key == "":
			s.refuse(&InvalidError{What: "key of option Once", Value: "empty",
				Remedy: "use 1 to 200 bytes, such as a random UUID"})
		case len(key) > unique.MaxKey:
			s.refuse(&InvalidError{What: "key of option Once",
				Value:  fmt.Sprintf("%s, which has %d bytes", excerpt.Brief(key), len(key)),
				Remedy: "use at most 200, such as a hash of it"})
		case d > span.Longest:
			s.refuse(&InvalidError{What: "option Once", Value: d.String(),
				Remedy: "use a duration of at most 100 years"})
		}
		s.refuse(positive("option Once", d))
	}
}
