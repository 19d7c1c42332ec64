package doctor

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/rdb"
)

// checkQueues walks over all queues, from the back to the front: jobs move that way, so that none is passed by.
func (d *doctor) checkQueues(ctx context.Context) error {
	names := d.queueNames()
	for number := range names {
		if err := d.checkQueue(ctx, names, int32(number)); err != nil {
			return err
		}
	}
	return d.checkSeenTwice(ctx, names)
}

func (d *doctor) checkQueue(ctx context.Context, names []string, number int32) error {
	name := names[number]
	for from := 0; ; {
		part, err := d.mend.RemoveUnfetchable(ctx, name, from)
		if err != nil || len(part.IDs) == 0 {
			return err
		}
		d.advance(len(part.IDs))
		from += len(part.IDs)
		if d.limit > 0 && from >= d.limit && part.Length > from {
			d.partly[name] = true
		}
		struck := map[string]bool{}
		for _, fault := range part.Faults {
			struck[fault.ID] = fault.What == "ghost" || fault.What == "held"
			if d.findRemoved(name, fault) {
				from--
			}
		}
		waiting := slices.DeleteFunc(part.IDs, func(id string) bool { return struck[id] })
		d.noteWaiting(waiting, number)
		if d.partly[name] {
			return nil
		}
	}
}

// findRemoved reports an id that no fetch would take or that is on a shelf too, and returns true when it was removed
// from the queue.
func (d *doctor) findRemoved(queue string, fault rdb.Fault) bool {
	removed := fault.Where == "1"
	if fault.ID == rdb.Removed {
		return removed // of a repair; the worker that comes to it drops it
	}
	if d.explained[fault.ID] && !d.repair {
		return false
	}
	if fault.What != "ghost" && fault.What != "held" {
		d.find(Finding{Check: CheckTwoPlaces, Key: d.store.FullName(fault.What), ID: fault.ID, Queue: queue,
			Repaired: fault.Where == "2",
			Detail:   "it is here, and waits in its queue"})
		return false
	}
	f := Finding{Check: CheckGhost, Key: d.store.FullName("queue:" + queue), ID: fault.ID, Queue: queue,
		Repaired: removed,
		Detail:   "it waits, and has no record"}
	if fault.What == "held" {
		f.Check, f.Detail = CheckTwoPlaces, "it waits, and a worker holds it"
	}
	if d.repair && !removed {
		f.Severity, f.Remedy = SeverityWarning,
			"nothing: it is too far from the ends of the queue to be removed, and the worker that comes to it drops it"
	}
	d.find(f)
	return removed
}

// noteWaiting notes which ids wait in a queue. One that was seen before may have been pushed on by others, or have come
// back; or it waits twice: that is found out when all queues were seen.
func (d *doctor) noteWaiting(ids []string, number int32) {
	for _, id := range ids {
		key := maphash.String(d.seed, id)
		before, seen := d.waiting[key]
		d.waiting[key] = number
		if seen {
			d.seenTwice.add(key, before, number)
		}
	}
}

// lostJobs are jobs that seem to be in no place, by their ids.
type lostJobs map[string]rdb.LostJob

// requeueLost confirms that jobs are in no place and gives them back. What it cannot see, since it may stand in the
// middle of a long queue, it looks for by walking over the whole queue, until several walks in a row have not met it:
// each time a job would have to leave the queue and come back just then.
func (d *doctor) requeueLost(ctx context.Context, lost lostJobs) error {
	const walks = 3
	for walk := 0; len(lost) > 0; walk++ {
		jobs := make([]rdb.LostJob, 0, len(lost))
		for _, job := range lost {
			job.Sure = walk == walks
			jobs = append(jobs, job)
		}
		slices.SortFunc(jobs, func(a, b rdb.LostJob) int { return strings.Compare(a.ID, b.ID) })
		answers, err := d.mend.RequeueLost(ctx, jobs)
		if err != nil {
			return err
		}
		unsure := map[string]bool{} // queues
		for i, answer := range answers {
			switch answer {
			case "lost":
				d.find(Finding{Check: CheckLostJob, Key: d.store.FullName("jobs"), ID: jobs[i].ID, Queue: jobs[i].Queue,
					Repaired: d.repair,
					Detail:   "it has a record, and is in no queue, on no shelf and with no worker"})
				delete(lost, jobs[i].ID)
			case "unsure":
				unsure[jobs[i].Queue] = true
			default:
				delete(lost, jobs[i].ID)
			}
		}
		for name := range unsure {
			if err := d.lookFor(ctx, name, lost); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookFor walks over a queue and takes what it meets off the list.
func (d *doctor) lookFor(ctx context.Context, queue string, lost lostJobs) error {
	for from := 0; ; from += rdb.MaxBatch {
		ids, err := d.store.QueuePart(ctx, queue, from)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			delete(lost, id)
		}
	}
}
