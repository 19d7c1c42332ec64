package doctor

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// examination is that of all partitions.
type examination struct {
	of        inside.Of
	opts      Options
	diagnosis *Diagnosis

	newest *partition.Map
	seed   maphash.Seed
	ids    map[uint64]uint8 // of a namespace with partitions: hash of the id of each job -> where it was seen first
	before int              // entries of the partitions before this one
}

// run examines one partition after the other. What it finds out about each is in one Diagnosis.
func (e *examination) run(ctx context.Context) error {
	behind := e.readMaps(ctx)
	numbers := e.newest.In(partition.Open, partition.Draining, partition.Closed)
	if !e.newest.Single() {
		e.ids = map[uint64]uint8{}
	}
	partial := &inspect.PartialError{Asked: len(numbers)}
	for _, n := range numbers {
		d := e.doctor(n)
		if version, is := behind[n]; is {
			d.find(Finding{Check: CheckMap, Key: d.store.FullName("map"), Repaired: true,
				Detail: fmt.Sprintf("its map of the partitions was of version %d, and the newest is %d", version,
					e.newest.Version)})
		}
		if err := d.examine(ctx); err != nil {
			partial.Missing = append(partial.Missing, inspect.MissingPartition{Partition: n, Err: err})
		}
		e.add(d)
	}
	switch len(partial.Missing) {
	case 0:
		return nil
	case len(numbers):
		return partial.Missing[0].Err
	}
	return partial
}

// readMaps learns the newest map, and returns the versions of those who knew an older one. To read it gives it to them.
func (e *examination) readMaps(ctx context.Context) map[int]int64 {
	parts := e.of.Partitions
	behind := map[int]int64{}
	for n := 0; n < parts.Map().Len(); n++ { // it may grow on the way
		text, err := parts.Store(n).ReadMap(ctx)
		if err != nil {
			continue // the examination of that partition says so
		}
		m := &partition.Map{}
		if text != nil {
			if m, err = partition.Decode(text); err != nil {
				continue
			}
		}
		behind[n] = m.Version
		parts.Learn(m)
	}
	_ = parts.Refresh(ctx) // by this those that are behind get it
	e.newest = parts.Map()
	for n, version := range behind {
		if version >= e.newest.Version {
			delete(behind, n)
		}
	}
	return behind
}

// progress counts on from the partitions before.
func (e *examination) progress() func(done, total int) {
	if e.opts.Progress == nil {
		return nil
	}
	before := e.before
	return func(done, total int) { e.opts.Progress(before+done, before+total) }
}

// add takes over what was found in a partition.
func (e *examination) add(d *doctor) {
	all, one := e.diagnosis, d.diagnosis
	all.Findings = append(all.Findings, one.Findings...)
	for check, more := range one.More {
		all.More[check] += more
	}
	all.Jobs, all.Queues, all.Workers = all.Jobs+one.Jobs, all.Queues+one.Queues, all.Workers+one.Workers
	all.Unread += one.Unread
	all.unmended = all.unmended || one.unmended
	e.before += d.done
}

// stray is a job that does not seem to be where it belongs.
type stray struct {
	id, name string
	home     partition.Home // where it belongs; not bound: it was seen in another partition
	twin     int            // that one
}

// locate notes what is to be looked at once more: that a job belongs to another partition, or was seen there.
func (d *doctor) locate(id string, r *record.Record) {
	if d.ids == nil || len(d.strays) >= 2*maxFindings {
		return
	}
	job := partition.Job{Name: r.Name, Key: r.Key, Lock: r.Lock}
	if r.Given {
		job.Given = id
	}
	if home := d.newest.Home(job); home.Bound && !home.Moving && home.Partition != d.partition {
		d.strays = append(d.strays, stray{id: id, name: r.Name, home: home})
	}
	hash := maphash.String(d.seed, id)
	if first, seen := d.ids[hash]; seen && int(first) != d.partition {
		d.strays = append(d.strays, stray{id: id, name: r.Name, twin: int(first)})
	} else if !seen {
		d.ids[hash] = uint8(d.partition)
	}
}

// checkStrays looks at them once more. A job that a worker holds stays where it is until its attempt has ended, and is
// listed there; while anything is moved nothing is said of where jobs belong.
func (d *doctor) checkStrays(ctx context.Context) error {
	if len(d.strays) == 0 {
		return nil
	}
	listed, err := d.store.Stragglers(ctx)
	if err != nil {
		return err
	}
	waits := map[string]bool{}
	for _, job := range listed {
		waits[job.ID] = true
	}
	_ = d.of.Partitions.Refresh(ctx) // as far as it can be told
	still := d.of.Partitions.Map().Version == d.newest.Version
	for _, s := range d.strays {
		f := Finding{Key: d.store.FullName("jobs"), ID: s.id, Queue: s.name}
		there := d.store
		switch {
		case s.home.Bound && (waits[s.id] || !still):
			continue
		case s.home.Bound:
			f.Check, f.Detail = CheckHome, fmt.Sprintf("it belongs into partition %d: %s", s.home.Partition, s.home.By)
		default:
			there = d.of.Partitions.Guarded(s.twin)
			f.Check, f.Detail = CheckTwins, fmt.Sprintf("there is a job of that id in partition %d as well", s.twin)
		}
		is, err := both(ctx, d.store, there, s.id)
		if err != nil {
			return err
		}
		if is {
			d.find(f)
		}
	}
	return nil
}

// both tells whether both have a job.
func both(ctx context.Context, here, there *rdb.Store, id string) (bool, error) {
	for _, store := range []*rdb.Store{here, there} {
		if raw, err := store.Record(ctx, id); err != nil || raw == nil {
			return false, err
		}
	}
	return true, nil
}
