package resize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/objects"
)

// leadLife is how long a mover that has died keeps others from going on.
const leadLife = 5 * time.Second

// mover takes what belongs elsewhere out of one partition. It leads there: each of its scripts and of the pages that it
// walks over keeps the lead. Who has lost it all the same, as it stood still for too long, fails with [rdb.ErrLed] and
// begins anew.
type mover struct {
	directory *partition.Directory
	source    int
	store     *rdb.Store
	lead      rdb.Lead
	moved     func(jobs int) // it may be nil
	held      bool           // keys that leave get no places here
	keys      *keyRules      // nil until they were read
}

// aMover is one that does not lead yet.
func aMover(directory *partition.Directory, source int) *mover {
	lead := rdb.Lead{Token: ids.Random(8), Life: leadLife}
	return &mover{directory: directory, source: source, store: directory.Store(source).Led(lead), lead: lead}
}

// newMover waits until it leads at the source. Close it.
func newMover(ctx context.Context, directory *partition.Directory, source int) (*mover, error) {
	m := aMover(directory, source)
	for {
		leads, err := m.store.TakeLead(ctx, m.lead)
		if err != nil {
			return nil, at(source, err)
		}
		if leads {
			return m, nil
		}
		if !backoff.Pause(ctx, 50*time.Millisecond) {
			return nil, at(source, rdb.ErrLed)
		}
	}
}

// tryMover is newMover for who does not wait: nil where another one leads.
func tryMover(ctx context.Context, directory *partition.Directory, source int) (*mover, error) {
	m := aMover(directory, source)
	leads, err := m.store.TakeLead(ctx, m.lead)
	if err != nil || !leads {
		return nil, at(source, err)
	}
	return m, nil
}

// close lets another mover lead at once.
func (m *mover) close(ctx context.Context) {
	_ = m.store.GiveUpLead(context.WithoutCancel(ctx), m.lead) // else it ends by itself
}

// errBusy says that jobs are on their way in the other direction.
var errBusy = fmt.Errorf("jobs are still on their way from there to here")

// transfer brings what is named to another partition. With front, what waited goes before what waits there.
func (m *mover) transfer(ctx context.Context, target int, items []rdb.MoveItem, front bool) error {
	for waits := 0; len(items) > 0; {
		batch := items[:min(len(items), rdb.MaxBatch)]
		f, err := m.store.Freeze(ctx, m.lead, rdb.Target{Partition: target, Front: front}, batch)
		if err != nil {
			return at(m.source, err)
		}
		busy, err := m.deliver(ctx, f)
		if err != nil && !(f.Outstanding && errors.Is(err, rdb.ErrNotTaken)) {
			return err
		}
		if f.Outstanding {
			continue
		}
		again := slices.Clone(items[f.Looked:])
		for _, item := range batch[:f.Looked] {
			if slices.Contains(busy, item.ID) {
				again = append(again, item)
			}
		}
		if items = again; len(busy) > 0 {
			if err := m.finishThere(ctx, target); err != nil {
				return err
			}
			if waits++; waits > 100 || !backoff.Pause(ctx, 20*time.Millisecond) {
				return at(target, errBusy)
			}
		}
	}
	return nil
}

// finishThere delivers the batch that keeps this mover waiting, as whoever sent it from there to here may be dead. If
// that one lives it leads there, and does so itself.
func (m *mover) finishThere(ctx context.Context, target int) error {
	other, err := tryMover(ctx, m.directory, target)
	if err != nil || other == nil {
		return err
	}
	defer other.close(ctx)
	return other.finish(ctx)
}

// finish delivers a batch that somebody has left behind, or takes it back.
func (m *mover) finish(ctx context.Context) error {
	f, err := m.store.Freeze(ctx, m.lead, rdb.Target{Partition: m.source}, nil)
	if err == nil && f.Outstanding {
		if _, err = m.deliver(ctx, f); errors.Is(err, rdb.ErrNotTaken) {
			err = nil
		}
	}
	return at(m.source, err)
}

// deliver brings a batch to its target, and forgets it here. It returns the ids of those that are not noted there yet.
// Where the target does not take it it is an [rdb.ErrNotTaken], and all is here again.
func (m *mover) deliver(ctx context.Context, f rdb.Frozen) (busy []string, err error) {
	if len(f.Moved) == 0 {
		return nil, nil
	}
	target := m.directory.Store(f.Target.Partition)
	received, err := m.present(ctx, target, f)
	if errors.Is(err, rdb.ErrNotTaken) {
		return nil, m.takeBack(ctx, f, err)
	}
	if err != nil {
		return nil, err
	}
	for _, i := range received.Busy {
		busy = append(busy, f.Moved[i].ID)
	}
	batch := rdb.HandedOver{Moved: f.Moved, Received: received, Cancelled: map[string]bool{}}
	flagged, jobs := []string(nil), 0
	for i := range f.Moved {
		if f.Moved[i].What == rdb.MovedJob {
			jobs++
			if f.Moved[i].Cancelled {
				flagged = append(flagged, f.Moved[i].ID)
			}
		}
	}
	for {
		if len(flagged) > 0 { // whoever cancelled them could not end them
			if err := cancelThere(ctx, target, f.Moved, flagged); err != nil {
				return nil, at(f.Target.Partition, err)
			}
			for _, id := range flagged {
				batch.Cancelled[id] = true
			}
		}
		if flagged, err = m.store.HandOver(ctx, m.lead, f.Number, batch); err != nil {
			return nil, at(m.source, err)
		}
		if len(flagged) == 0 {
			break
		}
	}
	if m.moved != nil {
		m.moved(jobs)
	}
	return busy, nil
}

// cancelThere ends jobs at the target that were cancelled on their way. One that has ended there may have been followed
// by another job of its id, which a mover that goes on with a batch must leave alone.
func cancelThere(ctx context.Context, target *rdb.Store, moved []rdb.Moved, ids []string) error {
	records, err := target.Records(ctx, ids)
	if err != nil {
		return err
	}
	stored := map[string]int64{} // when each was
	for i := range moved {
		if rec, err := record.Decode(moved[i].Record); err == nil {
			stored[moved[i].ID] = rec.EnqueuedAt
		}
	}
	var same []string
	for i, id := range ids {
		at, known := stored[id]
		if rec, err := record.Decode(records[i]); records[i] != nil && (err != nil || !known || rec.EnqueuedAt == at) {
			same = append(same, id)
		}
	}
	_, err = ending.Cancel(ctx, target, same)
	return err
}

// complete brings what jobs refer to, their logs, states, steps and messages to the target, before them. Once they are
// frozen nobody adds to these.
func (m *mover) complete(ctx context.Context, target *rdb.Store, moved []rdb.Moved) error {
	mailed, err := m.mailed(ctx, moved)
	if err != nil {
		return at(m.source, err)
	}
	var contents []string
	shas := map[string]bool{}
	for i := range moved {
		job := &moved[i]
		if job.What != rdb.MovedJob {
			continue
		}
		if rec, err := record.Decode(job.Record); err == nil {
			for _, sha := range rec.Objects {
				if !slices.Contains(job.Objects, sha) {
					job.Objects = append(job.Objects, sha)
				}
				shas[sha] = true
			}
		}
		if bytes.Contains(job.Trail, []byte(`"log":true`)) || bytes.Contains(job.Trail, []byte(`"state":true`)) ||
			mailed[job.ID] {
			job.Contents = true
			contents = append(contents, job.ID)
		}
	}
	for sha := range shas {
		if err := m.store.KeepLead(ctx, m.lead); err != nil {
			return at(m.source, err)
		}
		if err := m.copyObject(ctx, target, sha); err != nil {
			return err
		}
	}
	return m.store.CopyContents(ctx, target, contents)
}

// mailed tells which of the jobs may have a mailbox: their trails say nothing of that.
func (m *mover) mailed(ctx context.Context, moved []rdb.Moved) (map[string]bool, error) {
	var jobs []string
	for i := range moved {
		if moved[i].What == rdb.MovedJob {
			jobs = append(jobs, moved[i].ID)
		}
	}
	return m.store.Mailed(ctx, jobs)
}

// copyObject stores an object at the target. Where contents have another home that has it already.
func (m *mover) copyObject(ctx context.Context, target *rdb.Store, sha string) error {
	content, err := rdb.Objects{Store: m.store}.Content(ctx, sha, objects.MaxSize)
	if err != nil {
		return at(m.source, err)
	}
	if !content.Found {
		_, err := rdb.Objects{Store: target, Elsewhere: true}.Reserve(ctx, sha)
		return err
	}
	to, err := objects.New(target, objects.Options{})
	if err == nil {
		_, err = to.Put(ctx, content.Bytes)
	}
	return err
}
