package doctor

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// checkPlaces looks at every id that anything is known of, beginning with those that have a record.
func (d *doctor) checkPlaces(ctx context.Context) error {
	if err := d.checkRecords(ctx); err != nil {
		return err
	}
	for _, name := range walked {
		switch name {
		case "jobs", "outcomes", "outcomes:until", "lanes":
			continue
		}
		err := d.walkInBatches(ctx, name, func(page []rdb.Field) error {
			jobs := make([]rdb.Named, len(page))
			for i, field := range page {
				jobs[i].ID = field.Name
			}
			_, err := d.agreePlaces(ctx, jobs)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRecords looks at every record and where its job is. Jobs that should wait were seen in a queue before, or have
// come since; where they were not, a script finds out.
func (d *doctor) checkRecords(ctx context.Context) error {
	lost := lostJobs{}
	flush := func(most int) error {
		if len(lost) <= most {
			return nil
		}
		err := d.requeueLost(ctx, lost)
		clear(lost)
		return err
	}
	names := d.queueNames()
	err := d.walkInBatches(ctx, "jobs", func(page []rdb.Field) error {
		jobs, records := make([]rdb.Named, len(page)), make(map[string][]byte, len(page))
		for i, field := range page {
			jobs[i] = rdb.Named{ID: field.Name, Queue: d.readRecord(field)}
			records[field.Name] = field.Value
		}
		waiting, err := d.agreePlaces(ctx, jobs)
		if err != nil {
			return err
		}
		for _, job := range waiting {
			if d.explained[job.ID] && !d.repair {
				continue
			}
			number, seen := d.waiting[maphash.String(d.seed, job.ID)]
			switch {
			case !seen && job.Queue != "" && !d.broken["queue:"+job.Queue] && !d.partly[job.Queue]:
				lost[job.ID] = rdb.LostJob{Named: job, Digest: rdb.Digest(records[job.ID])}
			case seen && job.Queue != "" && needs.Home(names[number]) != job.Queue:
				if err := d.checkQueueOf(ctx, job, names[number], records[job.ID]); err != nil {
					return err
				}
			}
		}
		return flush(rdb.MaxBatch)
	})
	if err != nil {
		return err
	}
	return flush(0)
}

// readRecord returns the queue that a record names, "" where it cannot be read.
func (d *doctor) readRecord(field rdb.Field) string {
	r, err := record.Decode(field.Value)
	switch {
	case err != nil:
	case r.Name == "":
		err = fmt.Errorf("the record has no name")
	case r.ID != field.Name:
		err = fmt.Errorf("the record says that the id of its job is %s", excerpt.Brief(r.ID))
	}
	if r.Member() != "" {
		d.members[r.Flow] = r.ID
	}
	if err != nil {
		d.find(Finding{Check: CheckRecord, Key: d.store.FullName("jobs"), ID: field.Name, Queue: r.Name,
			Detail: err.Error()})
	} else {
		d.locate(field.Name, &r)
	}
	return r.Queue()
}

// agreePlaces looks where jobs are, and returns those that should wait in a queue.
func (d *doctor) agreePlaces(ctx context.Context, jobs []rdb.Named) ([]rdb.Named, error) {
	faults, err := d.mend.AgreePlaces(ctx, jobs)
	if err != nil {
		return nil, err
	}
	named := make(map[string]string, len(jobs))
	for _, job := range jobs {
		named[job.ID] = job.Queue
	}
	var waiting []rdb.Named
	for _, fault := range faults {
		job := rdb.Named{ID: fault.ID, Queue: named[fault.ID]}
		switch fault.What {
		case "waiting":
			waiting = append(waiting, job)
		case "misnamed":
			if needs.Home(fault.Where) != job.Queue {
				err = d.checkNames(ctx, job, fault.Where)
			}
		default:
			d.findFault(job, fault)
		}
		if err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

func (d *doctor) findFault(job rdb.Named, fault rdb.Fault) {
	if d.explained[job.ID] && !d.repair {
		return // it was mended before, had it been a repair
	}
	f := Finding{Key: d.store.FullName(fault.Where), ID: job.ID, Queue: job.Queue, Repaired: d.repair}
	switch fault.What {
	case "twice":
		f.Check, f.Detail = CheckTwoPlaces, "it is here, and in a place where it runs before"
	case "astray":
		f.Check, f.Detail = CheckWrongQueue, "it waits by turns of no queue, or of another one"
	case "idle":
		f.Check, f.Detail = CheckName, "its queue is kept here, and it is on no shelf"
	case "nameless":
		f.Check, f.Detail = CheckName, "it is here, and the name of its queue is kept nowhere but in its record"
		if job.Queue == "" {
			f.Repaired, f.Remedy = false, "correct the record, or delete the job"
		}
	case "unrecorded":
		f.Check, f.Detail, f.Repaired = CheckGhost, "a worker holds it, and it has no record", false
		f.Remedy = "wait until it has ended; if it fails it is lost, and to be enqueued again"
	case "ghost":
		f.Check, f.Detail = CheckGhost, "it is here, and has no record"
		if slices.Contains([]string{"trail", "crashes", "keyed"}, fault.Where) {
			f.Check, f.Detail = CheckLeftover, "this is kept of a job that has no record"
		}
	}
	d.find(f)
}

// checkNames confirms that a job is held or on a shelf under another name than that of its record. An id that its
// enqueuer chose may have ended meanwhile, and be that of another job: then its record has changed.
func (d *doctor) checkNames(ctx context.Context, job rdb.Named, queue string) error {
	return d.unchanged(ctx, job, nil, func() (bool, error) {
		faults, err := d.look.AgreePlaces(ctx, []rdb.Named{job})
		for _, fault := range faults {
			if fault.What == "misnamed" && fault.Where == queue {
				return true, err
			}
		}
		return false, err
	}, queue)
}

// checkQueueOf confirms that a job waits in another queue than that of its record.
func (d *doctor) checkQueueOf(ctx context.Context, job rdb.Named, queue string, raw []byte) error {
	return d.unchanged(ctx, job, raw, func() (bool, error) { return d.store.InQueue(ctx, job.ID, queue) }, queue)
}

// unchanged reports a job in a wrong queue, if that is confirmed while its record stays the same.
func (d *doctor) unchanged(ctx context.Context, job rdb.Named, raw []byte, confirm func() (bool, error),
	queue string) error {
	before, err := d.store.Record(ctx, job.ID)
	if err != nil || before == nil || raw != nil && !bytes.Equal(before, raw) {
		return err
	}
	if decoded, err := record.Decode(before); err != nil || decoded.Queue() != job.Queue {
		return nil // it is another job now
	}
	wrong, err := confirm()
	if err != nil || !wrong {
		return err
	}
	after, err := d.store.Record(ctx, job.ID)
	if err == nil && bytes.Equal(before, after) {
		d.find(Finding{Check: CheckWrongQueue, Key: d.store.FullName("jobs"), ID: job.ID, Queue: queue,
			Detail: fmt.Sprintf("it is a job of queue %s, and its record says %s", excerpt.Brief(needs.Text(queue)),
				excerpt.Brief(needs.Text(job.Queue)))})
	}
	return err
}

// checkFlags reports flags of cancellation that belong to no job.
func (d *doctor) checkFlags(ctx context.Context) error {
	for cursor := ""; cursor != "0"; {
		next, stray, _, err := d.mend.Flags(ctx, cursor)
		if err != nil {
			return err
		}
		cursor = next
		for _, id := range stray {
			d.find(Finding{Check: CheckLeftover, Key: d.store.FullName("cancelled"), ID: id, Repaired: d.repair,
				Detail: "it is to be cancelled, and has no record"})
		}
	}
	return nil
}

// contents are the keys that a job has to itself which remembers how far it came. They go away with it, since its trail
// notes that there are some.
var contents = []string{"steps:", "mail:"}

// checkContents finds steps and mailboxes of jobs that are gone: a worker or a mover of a version that knows of neither
// has left them. A mailbox that is noted is the janitor's.
func (d *doctor) checkContents(ctx context.Context) error {
	for names := range slices.Chunk(d.keys.contents, rdb.MaxBatch) {
		left, err := d.jobless(ctx, names)
		if err != nil {
			return err
		}
		if left, err = d.still(ctx, left); err != nil {
			return err
		}
		if left, err = d.jobless(ctx, left); err != nil { // an id may be used again
			return err
		}
		for _, name := range left {
			what, id, _ := strings.Cut(name, ":")
			noun := map[string]string{"steps": "steps", "mail": "messages"}[what]
			d.find(Finding{Check: CheckLeftover, Severity: SeverityInfo, Key: d.store.FullName(name), ID: id,
				Detail: noun + " are kept of a job that has no record here",
				Remedy: "nobody reads it, and it goes by itself within a year: remove the key if that is too long"})
		}
	}
	return nil
}

// jobless are those of the keys whose job has no record here and is not on its way to another partition.
func (d *doctor) jobless(ctx context.Context, names []string) (left []string, err error) {
	ids := make([]string, len(names))
	for i, name := range names {
		_, ids[i], _ = strings.Cut(name, ":")
	}
	records, err := d.store.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	leaving, err := d.store.OnItsWay(ctx, ids)
	if err != nil {
		return nil, err
	}
	mailed, err := d.store.Mailed(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		_, leaves := leaving[ids[i]]
		if records[i] == nil && !leaves && !(strings.HasPrefix(name, "mail:") && mailed[ids[i]]) {
			left = append(left, name)
		}
	}
	return left, nil
}

// still are those of the keys that are there.
func (d *doctor) still(ctx context.Context, names []string) (left []string, err error) {
	keys := make([]rdb.Key, len(names))
	for i, name := range names {
		keys[i] = rdb.Key{Name: name, Type: wantedType(name)}
	}
	sizes, err := d.store.Sizes(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if sizes[i] > 0 {
			left = append(left, name)
		}
	}
	return left, nil
}
