package doctor

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// seenTwice are ids that were seen twice, as hashes, and the queues in which they were. On a busy queue most have only
// been pushed on while it was read from its back.
type seenTwice struct {
	ids    map[uint64]*queuePlace // nil until the second walk meets it
	queues map[int32]bool
}

// queuePlace is where an id stands in a queue, by how many are before it.
type queuePlace struct {
	queue int32
	ahead int
}

func (d *seenTwice) add(id uint64, queues ...int32) {
	if d.ids == nil {
		d.ids, d.queues = map[uint64]*queuePlace{}, map[int32]bool{}
	}
	d.ids[id] = nil
	for _, number := range queues {
		d.queues[number] = true
	}
}

// checkSeenTwice walks over the queues with ids that were seen twice once more, now from the front: there what waits
// comes nearer while others are taken, so that this walk passes some by and meets none twice that is there once, unless
// it was given back meanwhile. What it meets twice is confirmed by a script. It costs a reading of these queues in
// steps, wherever in them the ids are.
func (d *doctor) checkSeenTwice(ctx context.Context, names []string) error {
	for _, number := range slices.Sorted(maps.Keys(d.seenTwice.queues)) {
		if d.partly[names[number]] {
			continue // it would be read to its end
		}
		for ahead := 0; ; {
			ids, err := d.store.QueueAhead(ctx, names[number], ahead)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			out := 0
			for i, id := range ids {
				taken, err := d.meet(ctx, names, id, queuePlace{number, ahead + i - out})
				if err != nil {
					return err
				}
				if taken {
					out++ // what is behind it comes nearer
				}
			}
			ahead += len(ids) - out
		}
	}
	d.seenTwice = seenTwice{}
	return nil
}

// meet notes where the walk has met an id, and confirms that one stands twice. It is true when this one was taken out
// of the queue.
func (d *doctor) meet(ctx context.Context, names []string, id string, at queuePlace) (taken bool, err error) {
	key := maphash.String(d.seed, id)
	before, is := d.seenTwice.ids[key]
	switch {
	case !is:
		return false, nil
	case before == nil:
		d.seenTwice.ids[key] = &at
		return false, nil
	}
	from, taken, err := d.checkTwice(ctx, names, id, *before, at)
	return taken && from == at.queue, err
}

// checkTwice confirms that an id waits twice, and leaves it in the queue that its record names, or there nearest to the
// front. The other one may have moved since it was met. It says which queue one was taken out of, if it was.
func (d *doctor) checkTwice(ctx context.Context, names []string, id string, stays, goes queuePlace) (from int32,
	taken bool, err error) {
	name, _, err := record.QueueOf(ctx, d.store, id)
	if err != nil {
		return 0, false, err
	}
	if needs.Home(names[goes.queue]) == name && needs.Home(names[stays.queue]) != name {
		stays, goes = goes, stays
	}
	const tries = 3
	for range tries {
		found, err := d.relocate(ctx, names, id, &stays, &goes)
		if err != nil || !found {
			return 0, false, err
		}
		twice, replaced, err := d.mend.RemoveDuplicate(ctx,
			rdb.Twice{ID: id, From: names[goes.queue], At: goes.ahead, Other: names[stays.queue], Stays: stays.ahead})
		if err != nil {
			return 0, false, err
		}
		if twice {
			d.findTwice(names, id, stays, goes)
			return goes.queue, d.repair && !replaced, nil
		}
		if stays == goes {
			break // it is one
		}
	}
	return 0, false, nil
}

// relocate looks where both stand now, which is where they were met or nearer to the front.
func (d *doctor) relocate(ctx context.Context, names []string, id string, both ...*queuePlace) (bool, error) {
	for _, at := range both {
		found, err := d.seek(ctx, names[at.queue], id, at)
		if err != nil || !found {
			return false, err
		}
	}
	return true, nil
}

func (d *doctor) seek(ctx context.Context, queue, id string, at *queuePlace) (bool, error) {
	from := max(0, at.ahead-rdb.MaxBatch/2)
	for {
		ids, err := d.store.QueueAhead(ctx, queue, from)
		if err != nil {
			return false, err
		}
		if i := slices.Index(ids, id); i >= 0 {
			at.ahead = from + i
			return true, nil
		}
		if from == 0 {
			return false, nil
		}
		from = max(0, from-rdb.MaxBatch)
	}
}

func (d *doctor) findTwice(names []string, id string, stays, goes queuePlace) {
	key := maphash.String(d.seed, id)
	d.waiting[key], d.seenTwice.ids[key] = stays.queue, &stays
	f := Finding{Check: CheckTwice, Key: d.store.FullName("queue:" + names[goes.queue]), ID: id,
		Queue: names[stays.queue], Repaired: d.repair,
		Detail: "it waits twice in this queue"}
	if stays.queue != goes.queue {
		f.Detail = "it waits in this queue, and in that of " + needs.Text(names[stays.queue])
	}
	d.find(f)
}
