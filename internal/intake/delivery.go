package intake

import (
	"context"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// resends is how often jobs are sent again whose objects vanished between the upload and the script that stores them.
const resends = 3

// putOne is put for one job.
func (in *Intake) putOne(ctx context.Context, job *Job) answer {
	jobs := []rdb.NewJob{job.NewJob}
	if job.Contents != nil {
		return in.put(ctx, []Job{*job}, jobs, job.bytes())
	}
	a := in.lanes.send(ctx, jobs, job.bytes(), job.Replicas > 0)
	in.lanes.confirm(&a, jobs, job.Replicas, job.Wait)
	return a
}

// put stores jobs by one call, and what they need of objects before it. Jobs whose object vanished in between are sent
// again, behind the others. It does not wait for replicas.
func (in *Intake) put(ctx context.Context, all []Job, jobs []rdb.NewJob, bytes int) answer {
	if err := in.upload(ctx, all); err != nil {
		return answer{outcome: NotStored, err: err}
	}
	whole := in.sendAll(ctx, all, jobs, bytes)
	last, sent := whole, make([]int, len(all))
	for i := range sent {
		sent[i] = i
	}
	for range resends {
		if sent = in.missingObjects(&last, all, sent); len(sent) == 0 {
			break
		}
		last = in.putAgain(ctx, all, sent)
		if whole.later == nil {
			whole.later = map[int]answer{}
		}
		for k, i := range sent {
			whole.later[i] = last.part(k, 1)
		}
	}
	return whole
}

// missingObjects returns which of the jobs that were answered were not stored because an object has vanished that can
// be stored again, and forgets that it was there. sent says which job each was.
func (in *Intake) missingObjects(a *answer, all []Job, sent []int) []int {
	var again []int
	for k, i := range sent {
		if a.outcome != Stored || a.problems[k] != rdb.NoObject {
			continue
		}
		if all[i].Contents[a.missing[k]] != nil {
			in.uploads.Forget(a.missing[k])
			again = append(again, i)
		}
	}
	return again
}

func (in *Intake) putAgain(ctx context.Context, all []Job, which []int) answer {
	some, bytes := make([]Job, len(which)), 0
	for k, i := range which {
		some[k] = all[i]
		bytes += all[i].bytes()
	}
	if err := in.upload(ctx, some); err != nil {
		return answer{outcome: NotStored, err: err}
	}
	return in.sendAll(ctx, some, newJobs(some), bytes)
}

// sendAll makes one call, and begins to wait for replicas.
func (in *Intake) sendAll(ctx context.Context, all []Job, jobs []rdb.NewJob, bytes int) answer {
	most, wait := wanted(all)
	a := in.lanes.send(ctx, jobs, bytes, most > 0)
	in.lanes.confirm(&a, jobs, most, wait)
	return a
}

// upload stores what the jobs bring along, unless it is there.
func (in *Intake) upload(ctx context.Context, all []Job) error {
	for i := range all {
		for hash, content := range all[i].Contents {
			ensure := func(ctx context.Context) error { return in.uploads.Ensure(ctx, hash, content) }
			if err := in.lanes.move(ctx, len(content), ensure); err != nil {
				return fmt.Errorf("an argument of job %s with %d bytes cannot be stored as object %s: %w",
					excerpt.Brief(all[i].Queue), len(content), hash, err)
			}
		}
	}
	return nil
}
