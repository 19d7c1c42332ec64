package intake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/retry"
)

// resends is how often jobs are sent again whose objects vanished between the upload and the script that stores them.
const resends = 3

// delivery is what one caller wants stored by one call, or by one for each partition where it belongs.
type delivery struct {
	all   []Job
	jobs  []rdb.NewJob // of the same; their ids are the final ones once they are stored
	until time.Time    // the zero time: as long as a call may take
}

// pick is the delivery of some of the jobs.
func (d *delivery) pick(which []int) *delivery {
	some := &delivery{until: d.until}
	for _, i := range which {
		some.all, some.jobs = append(some.all, d.all[i]), append(some.jobs, d.jobs[i])
	}
	return some
}

// putOne is put for one job. Nearly all have all they need with them, and go the short way.
func (in *Intake) putOne(ctx context.Context, job *Job) answer {
	if m := in.lanes.current(); m.Single() && job.Contents == nil && job.Replicas == 0 {
		p := in.lanes.newRequest(nil, job.bytes(), route{version: m.Version})
		p.one[0] = job.NewJob
		p.jobs = p.one[:]
		Share(m, &p.one[0])
		if a := in.lanes.send(ctx, p); a.outcome != returned {
			return a
		}
	}
	d := &delivery{all: []Job{*job}, jobs: []rdb.NewJob{job.NewJob}}
	a := in.put(ctx, d)
	job.NewJob.ID = d.jobs[0].ID
	return a
}

// request is a request of which it is said whether it is told of once replicas have it.
func (l *lanes) request(jobs []rdb.NewJob, bytes int, confirmed bool, by route) *pendingRequest {
	p := l.newRequest(jobs, bytes, by)
	p.confirmed = confirmed
	return p
}

// put stores jobs, those of each home by one call, and what they need of objects before it. It does not wait for
// replicas. What comes back since it belongs elsewhere by now goes there, as long as there is time.
func (in *Intake) put(ctx context.Context, d *delivery) answer {
	if d.until.IsZero() {
		d.until = time.Now().Add(in.lanes.Timeout)
	}
	within, cancel := context.WithDeadlineCause(ctx, d.until, in.lanes.timedOut())
	defer cancel()
	var failures backoff.Failures
	for tries := 0; ; tries++ {
		m := in.lanes.current()
		d.share(m)
		if groups := d.groups(m); len(groups) > 1 {
			return in.putGroups(ctx, d, groups)
		}
		a := in.putTogether(ctx, within, m, d)
		if a.outcome != returned {
			return a
		}
		if a.newer > 0 {
			if err := in.lanes.learn(within, &a); err != nil {
				return answer{outcome: NotStored, err: err}
			}
		}
		if within.Err() != nil || tries >= m.Len() && in.lanes.current() == m && !failures.Pause(within) {
			return answer{outcome: NotStored, err: retry.JoinCause(context.Cause(within), a.err)}
		}
	}
}

// groups are the jobs by where they live, as their indices: in the order in which the first of each comes.
func (d *delivery) groups(m *partition.Map) [][]int {
	if m.Single() {
		return nil
	}
	var groups [][]int
	var ways []way
	for i := range d.jobs {
		to := way{unholdable: Unholdable(m, &d.all[i]) != nil}
		if home := m.Home(placeOf(&d.jobs[i])); home.Bound {
			to.bound, to.partition = true, home.Partition
			if home.Moving { // each bucket arrives by itself
				to.moving = home.Bucket
			}
		}
		at := slices.Index(ways, to)
		if at < 0 {
			at, ways, groups = len(ways), append(ways, to), append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// way tells jobs apart that do not go together.
type way struct {
	bound, unholdable bool
	partition, moving int
}

// placeOf is what decides where a job lives.
func placeOf(job *rdb.NewJob) partition.Job {
	of := partition.Job{Name: job.Name(), Key: job.Turn.Key, Lock: job.Lock.Digest}
	if job.Chosen {
		of.Given = job.ID
	}
	return of
}

// putGroups stores the jobs of each group by themselves, at the same time.
func (in *Intake) putGroups(ctx context.Context, d *delivery, groups [][]int) answer {
	parts, answers := make([]*delivery, len(groups)), make([]answer, len(groups))
	var putting sync.WaitGroup
	for g, which := range groups {
		parts[g] = d.pick(which)
		putting.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					answers[g] = answer{err: in.lanes.Steps.Panicked(value)}
				}
			}()
			answers[g] = in.put(ctx, parts[g])
		})
	}
	putting.Wait()
	whole := answer{outcome: Stored, later: map[int]answer{}}
	for g, which := range groups {
		for k, i := range which {
			d.jobs[i] = parts[g].jobs[k]
			whole.later[i] = answers[g].one(k)
		}
		if answers[g].outcome != Stored {
			whole.outcome = answers[g].outcome
		}
	}
	return whole
}

// putTogether stores jobs that live in the same partition, or anywhere. Jobs whose object vanished after the upload are
// sent again, behind the others. within ends when there is no time left for others to go elsewhere.
func (in *Intake) putTogether(ctx, within context.Context, m *partition.Map, d *delivery) answer {
	by := route{version: m.Version, until: d.until}
	var home partition.Home
	if !m.Single() {
		var err error
		if m, home, err = in.lanes.arrival(within, placeOf(&d.jobs[0])); err != nil {
			return answer{outcome: NotStored, err: err}
		}
		by.version = m.Version
		if err := Unholdable(m, &d.all[0]); err != nil {
			return answer{outcome: NotStored, err: err}
		}
	}
	switch contents := slices.ContainsFunc(d.all, func(job Job) bool { return job.Contents != nil }); {
	case home.Bound:
		by.to = in.lanes.siteOf(home.Partition)
	case contents && !m.Single():
		by.to, by.loose = in.lanes.turnOf(m, len(d.jobs)), true
	}
	for i := range d.jobs {
		d.jobs[i].Tracked = m.Tracking && home.Bound
	}
	if back, err := in.upload(ctx, d.all, by); err != nil {
		if back {
			return answer{outcome: returned, err: err}
		}
		return answer{outcome: NotStored, err: err}
	}
	whole := in.sendAll(ctx, d, by)
	last, sent := whole, make([]int, len(d.all))
	for i := range sent {
		sent[i] = i
	}
	for range resends {
		if sent = in.missingObjects(ctx, &last, d.all, sent); len(sent) == 0 {
			break
		}
		again := d.pick(sent)
		again.until = time.Time{} // a call of its own
		last = in.putAgain(ctx, again, by)
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
// be stored again, and forgets that it was there. sent says which job each was. An object that a program has stored
// itself is in partition 0, and brought from there to where its job goes.
func (in *Intake) missingObjects(ctx context.Context, a *answer, all []Job, sent []int) []int {
	var again []int
	for k, i := range sent {
		if a.outcome != Stored || a.problems[k] != rdb.NoObject {
			continue
		}
		hash, at := a.missing[k], a.of.lane.site
		if all[i].Contents[hash] == nil && at.number > 0 && in.lanes.Fetch != nil {
			if content, err := in.lanes.Fetch(ctx, hash); err == nil {
				all[i].Contents = maps.Clone(all[i].Contents)
				if all[i].Contents == nil {
					all[i].Contents = map[string][]byte{}
				}
				all[i].Contents[hash] = content
			}
		}
		if all[i].Contents[hash] != nil {
			at.Uploads.Forget(hash)
			again = append(again, i)
		}
	}
	return again
}

// putAgain sends some jobs once more to where they were sent. What comes back then is not stored.
func (in *Intake) putAgain(ctx context.Context, d *delivery, by route) answer {
	by.until = time.Time{}
	if _, err := in.upload(ctx, d.all, by); err != nil {
		return answer{outcome: NotStored, err: err}
	}
	a := in.sendAll(ctx, d, by)
	if a.outcome == returned {
		a.outcome = NotStored
	}
	return a
}

// sendAll makes one call, and begins to wait for replicas.
func (in *Intake) sendAll(ctx context.Context, d *delivery, by route) answer {
	most, wait := wanted(d.all)
	bytes := 0
	for i := range d.all {
		bytes += d.all[i].bytes()
	}
	a := in.lanes.send(ctx, in.lanes.request(d.jobs, bytes, most > 0, by))
	in.lanes.confirm(&a, d.jobs, most, wait)
	return a
}

// upload stores what the jobs bring along, unless it is there. With an error it says whether the jobs may go to another
// partition instead.
func (in *Intake) upload(ctx context.Context, all []Job, by route) (back bool, err error) {
	l, at := in.lanes, by.to
	for i := range all {
		for hash, content := range all[i].Contents {
			if at == nil {
				at = l.siteOf(0)
			}
			ensure := func(ctx context.Context) error { return at.Uploads.Ensure(ctx, hash, content) }
			steps := l.Steps
			if by.loose {
				steps.Classify = func(err error) retry.Class {
					class := retry.Classify(err)
					back = back || class.Again && l.goesOn(at)
					class.Again = class.Again && !back
					return class
				}
			}
			if err := l.move(ctx, len(content), steps, ensure); err != nil {
				return back, fmt.Errorf("an argument of job %s with %d bytes cannot be stored as object %s: %w",
					excerpt.Brief(all[i].Name()), len(content), hash, l.located(err, at))
			}
		}
	}
	return false, nil
}

// turnOf chooses the partition of jobs that need something there before they are stored.
func (l *lanes) turnOf(m *partition.Map, jobs int) *site {
	l.mu.Lock()
	defer l.mu.Unlock()
	best, _ := l.best(m, nil)
	if best == nil {
		best = l.site(m.Open()[0]) // all have much to do
	}
	l.turn = best.number + 1
	l.charge(best, jobs)
	return best
}

// goesOn notes that a partition has failed, and tells whether another one may do instead.
func (l *lanes) goesOn(failed *site) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	failed.note(false)
	return l.elsewhere(l.current(), failed)
}
