package flow

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/span"
)

// BatchOption is an option of [Batch].
type BatchOption func(*Flow)

// OnDone is [Flow.OnDone] of a batch.
func OnDone(name string, args ...any) BatchOption { return func(f *Flow) { f.OnDone(name, args...) } }

// OnDeath is [Flow.OnDeath] of a batch.
func OnDeath(name string, args ...any) BatchOption { return func(f *Flow) { f.OnDeath(name, args...) } }

// Retention is [Flow.Retention] of a batch.
func Retention(d time.Duration) BatchOption { return func(f *Flow) { f.Retention(d) } }

// Batch stores a flow of any number of jobs that do not wait for each other, as they come, in calls of at most 500 jobs
// and about 1 MiB. Nothing of it runs before the last is stored: then it is sealed, and put into the queues in steps.
// The members are called "1", "2" and so on. See [New] for the id, and [Flow.Entry] for what an entry may be.
//
// A Batch that was cut off is completed by one of the same id with the same entries, in the same order: what is stored
// already stays, and runs nothing. So it is where an entry is unique and another job of its kind lives, in the batch or
// elsewhere: the error is a *[LockError], and those before it keep their locks; complete it when that job has ended, or
// cancel it. One with another number of entries than are stored then is a *[work.InvalidError]. Results of members
// are kept as in any flow; a handler that returns none leaves nothing. Middleware of enq gets the jobs part by part.
func Batch(ctx context.Context, enq *work.Enqueuer, id string, entries iter.Seq[work.Entry],
	opts ...BatchOption) (Receipt, error) {
	f := New(id)
	for _, option := range opts {
		option(f)
	}
	if err := checkID(f.id); err != nil {
		return Receipt{}, err
	}
	if f.keep <= 0 || f.keep > span.Longest {
		return Receipt{}, mistake("Retention of flow "+brief(f.id), f.keep.String(),
			"use above zero and at most 100 years")
	}
	ends, err := endings(enq, f)
	if err != nil {
		return Receipt{}, err
	}
	b := &batch{flow: f, enq: enq, part: ends, queues: map[string]bool{}, passes: inside.Enqueuer(enq).Passes}
	for _, end := range []*work.Entry{f.onDone, f.onDeath} {
		if end != nil && b.passes {
			b.entries = append(b.entries, *end)
		}
	}
	for i := range ends {
		if err := accepted(ctx, enq, &ends[i]); err != nil {
			return Receipt{}, err
		}
		b.last = append(b.last, ends[i].Queue)
	}
	b.storing = newStoring(enq, f, flowdb.Keeping{ID: f.id, Keep: f.keep, Digest: "batch " + f.digest(enq)})
	for entry := range entries {
		if err := b.add(ctx, entry); err != nil {
			return Receipt{}, err
		}
		if b.storing.sealed {
			break
		}
	}
	if err := b.flush(ctx); err != nil {
		return Receipt{}, err
	}
	return b.storing.seal(ctx, b.count, b.names)
}

// batch is a Batch under way.
type batch struct {
	flow    *Flow
	enq     *work.Enqueuer
	storing *storing
	last    []string // queues of what runs at the end
	part    []flowdb.Member
	bytes   int // of the part

	passes  bool            // there is middleware, which gets the entries of each part
	entries []work.Entry    // of the part, if so
	passed  context.Context // that the middleware has given to the first part
	count   int
	queues  map[string]bool
	names   []string // of the first of them
}

// maxPartBytes is about how large a call is.
const maxPartBytes = 1 << 20

// add adds an entry, and stores a part when it is full.
func (b *batch) add(ctx context.Context, entry work.Entry) error {
	b.count++
	m, err := member(b.enq, spot{flow: b.flow.id, name: strconv.Itoa(b.count)}, entry, hints(b.last, nil))
	if err == nil {
		err = accepted(ctx, b.enq, &m)
	}
	if err != nil {
		return fmt.Errorf("entry %d of flow %s, which is not stored to its end: %w", b.count-1, brief(b.flow.id), err)
	}
	m.Free = true
	if !b.queues[m.Queue] && len(b.names) < maxHints {
		b.queues[m.Queue] = true
		b.names = append(b.names, m.Queue)
	}
	b.part = append(b.part, m)
	if b.passes {
		b.entries = append(b.entries, entry)
	}
	if b.bytes += len(m.Record); len(b.part) < flowdb.MaxPart && b.bytes < maxPartBytes {
		return nil
	}
	return b.flush(ctx)
}

// flush stores what was added, and makes sure that there is a flow at all.
func (b *batch) flush(ctx context.Context) error {
	err := b.pass(ctx)
	if held := asLockError(err); held != nil {
		n, _ := strconv.Atoi(held.Member)
		err = fmt.Errorf("entry %d of flow %s, which is not stored to its end: %w", n-1, brief(b.flow.id), held)
	}
	b.part, b.entries, b.bytes = b.part[:0], nil, 0
	return err
}

// pass takes a part through the middleware, if there is any, and stores what came out.
func (b *batch) pass(ctx context.Context) error {
	if !b.passes {
		return b.storing.part(ctx, b.part, nil)
	}
	if b.passed != nil {
		ctx = withValues{ctx, b.passed}
	}
	of := &Storing{Flow: b.flow.id}
	for i := range b.part {
		of.Members = append(of.Members, b.part[i].Name)
	}
	_, err := pass(ctx, b.enq, of, b.entries, func(ctx context.Context, entries []work.Entry) (Receipt, error) {
		if b.passed == nil {
			b.passed = context.WithoutCancel(ctx)
		}
		for i := range entries {
			if err := b.prepareAgain(ctx, &b.part[i], entries[i]); err != nil {
				return Receipt{}, err
			}
		}
		err := b.storing.part(ctx, b.part, nil)
		return Receipt{Duplicate: b.storing.sealed}, err
	})
	return err
}

// prepareAgain makes a member of an entry as the middleware has left it.
func (b *batch) prepareAgain(ctx context.Context, m *flowdb.Member, entry work.Entry) error {
	id, queue := b.flow.id, m.Queue
	var now flowdb.Member
	var err error
	if m.Name == atDone || m.Name == atDeath {
		now, err = atEnd(b.enq, id, m.Name, entry)
	} else {
		now, err = member(b.enq, spot{flow: id, name: m.Name}, entry, hints(b.last, nil))
	}
	if err == nil {
		err = accepted(ctx, b.enq, &now)
	}
	if err == nil && now.Queue != queue {
		err = mistake("member "+brief(m.Name)+" of batch "+brief(id), "given another name by an enqueue middleware",
			"change options and args there only")
	}
	m.Record, m.Terms, m.Lodged, m.Objects = now.Record, now.Terms, now.Lodged, now.Objects
	return err
}

// withValues is a ctx with the values of another one.
type withValues struct {
	context.Context
	values context.Context
}

func (c withValues) Value(key any) any { return c.values.Value(key) }

// Chain stores jobs of which each waits for the one before it. The members are called as their jobs, so that these have
// different names. What New and Flow.Entry say holds for it as well.
func Chain(ctx context.Context, enq *work.Enqueuer, id string, entries ...work.Entry) (Receipt, error) {
	f := New(id)
	var last *Job
	for _, entry := range entries {
		job := f.Entry(entry)
		if last != nil {
			job.After(last)
		}
		last = job
	}
	return Enqueue(ctx, enq, f)
}
