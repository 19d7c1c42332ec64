package work

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/unquoted"
)

// UniqueOptions says which jobs of one name count as the same, until when, and what happens to one that comes while
// another lives. The zero value: jobs with the same args are the same, until the first one has finished, and the
// enqueue of another one answers with the id of the first. Jobs of different names are never the same.
type UniqueOptions struct {
	Key  string // jobs with this key are the same, whatever their args; at most 200 bytes
	Args []int  // positions of the args that count, the first is 0; none is all of them. Not together with Key

	Until Until // when another one may be stored; default UntilFinished
	// instead: when this time has passed since the enqueue, even if the job is done; 0 is not used
	For          time.Duration
	KeepInMorgue bool // a job in the morgue counts as living; default: its place is free once it is buried

	OnConflict Conflict // what happens to one that comes while another lives; default KeepExisting

	once bool // the key is that of a request, see Once
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

// maxKeyBytes is how long a key of UniqueOptions may be.
const maxKeyBytes = 200

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

	stored bool // the job that was refused is stored, and was to be retried
}

func (e *DuplicateError) Error() string {
	if e.Held {
		return fmt.Sprintf("job %s of the same kind (%s) is with a worker, so it cannot be changed: enqueue again later, "+
			""+
			""+
			""+
			""+
			""+
			"or use UntilStarted",
			quoted(e.ID), quoted(e.Name))
	}
	if e.stored {
		return fmt.Sprintf("job %s of the same kind (%s) lives: wait for its end, or delete one of the two",
			quoted(e.ID), quoted(e.Name))
	}
	return fmt.Sprintf("job %s of the same kind (%s) lives: wait for its end, or use KeepExisting", quoted(e.ID),
		quoted(e.Name))
}

func (o *UniqueOptions) validate() error {
	refuse := func(field string, value any, remedy string) error {
		return &InvalidError{What: "UniqueOptions." + field, Value: fmt.Sprint(value), Remedy: remedy}
	}
	changes := o.OnConflict&(ReplaceArgs|Postpone) != 0
	switch {
	case len(o.Key) > maxKeyBytes: // a key may be made of args, and is shown as little
		return refuse("Key", fmt.Sprintf("%d bytes long", len(o.Key)), "use at most 200, such as a hash of it")
	case o.Key != "" && len(o.Args) > 0:
		return refuse("Key", "given beside Args", "use one of them")
	case len(o.Args) > 0 && slices.Min(o.Args) < 0:
		return refuse("Args", o.Args, "use positions from 0")
	case o.Until != UntilFinished && o.Until != UntilStarted:
		return refuse("Until", int(o.Until), "use UntilFinished or UntilStarted")
	case o.For < 0 || o.For > maxAhead:
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

// lock is what Redis is told.
func (o *UniqueOptions) lock(name string, args []byte) (rdb.Lock, error) {
	digest, err := o.digest(name, args)
	lock := rdb.Lock{Digest: digest, Kind: rdb.UntilEnded, Life: o.For}
	switch {
	case o.For > 0:
		lock.Kind = rdb.ForATime
	case o.Until == UntilStarted:
		lock.Kind = rdb.UntilBegun
	case o.KeepInMorgue:
		lock.Kind = rdb.UntilGone
	}
	return lock, err
}

// digest is equal for jobs of the same kind, and for no others. Each part has its length in front of it.
func (o *UniqueOptions) digest(name string, args []byte) (string, error) {
	var text []byte
	add := func(part []byte) {
		text = append(append(append(text, strconv.Itoa(len(part))...), ':'), part...)
	}
	if o.once {
		name = "" // of which no job is
	}
	add([]byte(name))
	switch {
	case o.Key != "":
		add([]byte("key"))
		add([]byte(o.Key))
	default:
		list, err := decodeList(args)
		if err != nil {
			return "", err
		}
		add([]byte("args"))
		positions := slices.Compact(slices.Sorted(slices.Values(o.Args)))
		for i, arg := range list {
			if len(positions) > 0 && !slices.Contains(positions, i) {
				continue
			}
			add([]byte(strconv.Itoa(i)))
			add(canonical(arg))
		}
		if n := len(positions); n > 0 && positions[n-1] >= len(list) {
			return "", o.beyond(name, len(list))
		}
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

func decodeList(args []byte) (list []any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.UseNumber() // large integers stay what they are
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("the args cannot be compared: %w", unquoted.Error(err))
	}
	return list, nil
}

// canonical is the same JSON for the same value: members in order, no spaces.
func canonical(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil { // it was decoded from JSON: cannot happen
		return nil
	}
	return encoded
}

// checkUnique refuses positions of args that the handler never has: every enqueue would be refused.
func (h *handler) checkUnique(name string, o *UniqueOptions) error {
	if h.tail != nil || len(o.Args) == 0 || slices.Max(o.Args) < len(h.args) {
		return nil
	}
	return o.beyond(name, len(h.args))
}

func (o *UniqueOptions) beyond(name string, args int) error {
	return &InvalidError{What: "UniqueOptions.Args", Value: fmt.Sprint(o.Args),
		Remedy: fmt.Sprintf("job %s has %d args: use positions below that", quoted(name), args)}
}
