package work

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// uniqueness is what is known of an entry that is to be the only one of its kind.
type uniqueness struct {
	onConflict Conflict
	args       []byte
	at         int64 // ms when it would be due; 0 is at once
}

// limits are those of the args: what may replace the args of another job stays in its record. o may be nil.
func (o *UniqueOptions) limits(l argsLimits) argsLimits {
	if o != nil && o.OnConflict&ReplaceArgs != 0 {
		l.large = math.MaxInt
	}
	return l
}

// makeUnique gives the entry its lock.
func (p *prepared) makeUnique(o *UniqueOptions, r *record) error {
	lock, err := o.lock(r.Name, p.apart.whole(r.Args))
	if err != nil {
		return err
	}
	if o.OnConflict&ReplaceArgs != 0 && p.apart != nil {
		return &InvalidError{What: "job " + quoted(r.Name), Value: "given ReplaceArgs and args that refer to objects",
			Remedy: "pass what identifies the objects, or leave ReplaceArgs out"}
	}
	if o.OnConflict&Postpone != 0 && r.RunAt == 0 {
		return &InvalidError{What: "job " + quoted(r.Name), Value: "to postpone another one, but is due at once",
			Remedy: "give a time or a delay, or leave Postpone out"}
	}
	p.job.Lock = lock
	if !o.once { // the end of a job frees the lock that its record names
		r.Lock, r.LockKind = lock.Digest, string(lock.Kind)
	}
	p.unique = &uniqueness{onConflict: o.OnConflict, args: r.Args, at: r.RunAt}
	return nil
}

// conflictTries is how often the job that lives is tried to be changed, or another one stored when it has just ended.
// The waits between them, 5 ms and doubling, outlast the moment in which a worker has a job and has not begun it.
const (
	conflictTries = 8
	conflictWait  = 5 * time.Millisecond
)

// settle says what became of the i-th entry of a call, once its conflict, if it has one, is resolved.
func (c *enqueuerCore) settle(ctx context.Context, p *prepared, a answer, i int) (Receipt, fate, error) {
	if later, ok := a.later[i]; ok {
		return c.settle(ctx, p, later, 0)
	}
	if a.fate != stored || a.problems[i] != rdb.Unique || p.unique.onConflict&(ReplaceArgs|Postpone) == 0 {
		return p.outcome(a, i)
	}
	owner := a.owners[i]
	for try := range conflictTries {
		answer, fate, err := c.amend(ctx, p, owner)
		switch {
		case err != nil:
			return Receipt{}, fate, err
		case answer == rdb.AmendDone:
			return p.duplicate(owner), stored, nil
		}
		if answer != rdb.AmendGone && !backoff.Pause(ctx, conflictWait<<try) {
			break
		}
		again := c.deliverOne(ctx, p)
		if again.fate != stored || again.problems[0] != rdb.Unique {
			return p.outcome(again, 0)
		}
		owner = again.owners[0]
	}
	return Receipt{}, notStored, &DuplicateError{Name: p.job.Queue, ID: owner, Held: true}
}

func (p *prepared) duplicate(owner string) Receipt {
	return Receipt{ID: owner, Name: p.job.Queue, Duplicate: true}
}

// amend changes the job that lives as the entry wants it. With an error it says whether that may have happened.
func (c *enqueuerCore) amend(ctx context.Context, p *prepared, owner string) (answer rdb.Amended, f fate, err error) {
	f = notStored
	var broken error
	err = c.lanes.read(ctx, func(ctx context.Context) error {
		read, err := c.store.Record(ctx, owner)
		if err != nil || read == nil {
			answer = rdb.AmendGone
			return err
		}
		var a rdb.Amendment
		if a, broken = p.amendment(owner, read); broken != nil {
			return nil // the same the next time
		}
		f = unknown
		answer, err = c.store.Amend(ctx, a)
		if err == nil && answer == rdb.AmendDue { // it comes soon enough
			a.Place = ""
			if a.New, broken = p.newArgs(read); broken == nil {
				answer, err = c.store.Amend(ctx, a)
			}
		}
		return err
	})
	if err = excerpt.Join(err, broken); err != nil {
		err = fmt.Errorf("job %s has its lock and cannot be changed: %w", quoted(owner), err)
	}
	return answer, f, err
}

// amendment is the change of the job that lives, whose record was read.
func (p *prepared) amendment(owner string, read []byte) (rdb.Amendment, error) {
	a := rdb.Amendment{ID: owner, Read: read}
	changed, err := p.newArgs(read)
	if err != nil {
		return a, err
	}
	old, err := decodeRecord(changed)
	if err == nil && p.unique.onConflict&Postpone != 0 && p.unique.at > old.RunAt {
		a.Place, a.When = p.job.Place, p.job.When
		changed, err = setField(changed, "at", strconv.AppendInt(nil, p.unique.at, 10))
	}
	a.New = changed
	return a, err
}

// newArgs returns the record with the args of the entry, where they are to replace its own.
func (p *prepared) newArgs(read []byte) ([]byte, error) {
	old, err := decodeRecord(read)
	if err != nil || p.unique.onConflict&ReplaceArgs == 0 {
		return read, err
	}
	if len(old.Objects) > 0 {
		return nil, &InvalidError{What: "job " + quoted(old.ID),
			Value:  "stored with args that are objects, so they cannot be replaced",
			Remedy: "give ReplaceArgs at every enqueue of this kind"}
	}
	return setField(read, "args", p.unique.args)
}

// setField puts a value into a JSON object, in place of the one that the last field of that name has, or behind all
// others. All else stays byte for byte: other programs may have written fields that this one does not know.
func setField(object []byte, name string, value []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	from, to, fields := -1, -1, 0
	for ; decoder.More(); fields++ {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var old json.RawMessage
		if err := decoder.Decode(&old); err != nil {
			return nil, err
		}
		if key == name {
			to = int(decoder.InputOffset())
			from = to - len(old)
		}
	}
	if from < 0 {
		from = int(decoder.InputOffset())
		to = from
		value = append([]byte(`,"`+name+`":`), value...)
		if fields == 0 {
			value = value[1:]
		}
	}
	return append(append(append(make([]byte, 0, len(object)+len(value)), object[:from]...), value...), object[to:]...),
		nil
}
