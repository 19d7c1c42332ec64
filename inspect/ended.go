package inspect

import (
	"context"
	"fmt"
	"strconv"

	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// EndedCounts is how many jobs of a name are listed that have ended, by how they did.
type EndedCounts struct {
	Succeeded int `json:"succeeded"`
	Cancelled int `json:"cancelled"`
	Discarded int `json:"discarded"`
	Expired   int `json:"expired"`
	Deleted   int `json:"deleted"`
}

// EndedCounts counts the jobs of a name that have ended and are kept: those with a Retention, of each state the last
// 10,000 at the most. It takes one request of each partition.
func (i *Inspector) EndedCounts(ctx context.Context, name string) (EndedCounts, error) {
	if err := inside.AsInvalid(invalid.JobName(name)); err != nil {
		return EndedCounts{}, err
	}
	return readAll(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) (EndedCounts, error) {
		return v.endedCounts(ctx, name)
	}, (*EndedCounts).add)
}

func (c *EndedCounts) add(one EndedCounts) {
	c.Succeeded += one.Succeeded
	c.Cancelled += one.Cancelled
	c.Discarded += one.Discarded
	c.Expired += one.Expired
	c.Deleted += one.Deleted
}

func (v *view) endedCounts(ctx context.Context, name string) (EndedCounts, error) {
	shelves := make([]rdb.EndedShelf, len(endedStates))
	for n, state := range endedStates {
		shelves[n] = endedShelf(state, name)
	}
	counts, err := v.store.EndedCounts(ctx, shelves)
	if err != nil {
		return EndedCounts{}, fmt.Errorf("the ended jobs of %s cannot be counted: %w", name, err)
	}
	return EndedCounts{Succeeded: counts[0], Cancelled: counts[1], Discarded: counts[2], Expired: counts[3],
		Deleted: counts[4]}, nil
}

// describeEnded reads of jobs in such a place what is needed to tell whether they match.
func (v *view) describeEnded(ctx context.Context, at *place, jobs []rdb.SeenJob) (now int64, bytes int, err error) {
	kept, now, bytes, err := v.store.Ended(ctx, endedShelf(at.state, at.name), idsOf(jobs), false)
	if err != nil {
		return 0, 0, err
	}
	for n := range jobs {
		details, err := ended.Decode(kept[n].Details)
		if err != nil {
			continue // it matches nothing
		}
		jobs[n].Record, jobs[n].Trail = details.Record, errorsIn(&details).Encode()
	}
	return now, bytes, nil
}

// errorsIn is a trail with the errors of the attempts.
func errorsIn(details *ended.Details) *record.Trail {
	t := record.Trail{Reason: details.Reason, Failure: details.Failure}
	for _, a := range details.Attempts {
		if a.Error != "" {
			t.Errors = append(t.Errors, record.Failure{Error: a.Error})
		}
	}
	return &t
}

func idsOf(jobs []rdb.SeenJob) []string {
	ids := make([]string, len(jobs))
	for n := range jobs {
		ids[n] = jobs[n].ID
	}
	return ids
}

// describedEnded tells all of jobs that were seen in one place where jobs have ended. Those that are not kept any more
// are left out.
func (v *view) describedEnded(ctx context.Context, of *place, seen []listedJob) ([]*JobInfo, error) {
	infos := make([]*JobInfo, 0, len(seen))
	for size := minLookup; len(seen) > 0; {
		part := seen[:min(size, len(seen))]
		ids := make([]string, len(part))
		for n := range part {
			ids[n] = part[n].id
		}
		kept, now, bytes, err := v.store.Ended(ctx, endedShelf(of.state, of.name), ids, true)
		if err != nil {
			return infos, err
		}
		for n := range kept {
			kept[n].Score = part[n].score
			if info := newEndedInfo(of, &kept[n], now); info != nil {
				infos = append(infos, v.placed(info))
			}
		}
		seen, size = seen[len(part):], nextLookup(size, bytes)
	}
	return infos, nil
}

// newEndedInfo makes sense of what is kept of a job that has ended; nil where it is not kept any more.
func newEndedInfo(of *place, kept *rdb.EndedJob, now int64) *JobInfo {
	if kept.Details == nil && kept.Outcome == nil {
		return nil
	}
	at, _ := strconv.ParseFloat(kept.Score, 64)
	info := &JobInfo{ID: kept.ID, Name: of.name, State: of.state, AsOf: timeOf(now), EndedAt: timeOf(int64(at))}
	outcome, err := record.DecodeOutcome(kept.Outcome)
	if is := endedShelf(of.state, of.name); err != nil || outcome.State != is.State || outcome.Name != is.Name {
		info.Former = true
	} else if err := info.readOutcome(kept.Outcome); err != nil {
		info.Problem = err.Error()
	}
	info.readDetails(kept.Details)
	return info
}
