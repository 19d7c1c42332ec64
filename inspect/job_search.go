package inspect

import (
	"context"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/ids"
)

// jobs looks for jobs: for each in the partition that most likely has it, and for those that were not there in all
// others, in one more round. Where a job is listed twice, as one of an id that was given again, the one that lives is
// told, else the one that has ended last. One that is on its way from one partition to another is waited for.
func (i *Inspector) jobs(ctx context.Context, of scope, asked []string) ([]*JobInfo, error) {
	s := jobSearch{asked: asked, found: make([]*JobInfo, len(asked))}
	absence := i.partitions.Absence()
	for open := everyOne(len(asked)); ; {
		if err := s.look(ctx, i, of, open); err != nil {
			return s.found, err
		}
		if open = s.unsettled(); len(open) == 0 {
			return s.found, nil
		}
		if again, err := absence.Again(ctx, s.ids(open)); err != nil || !again {
			return s.found, err
		}
		if of = i.everywhere(ctx); of.err != nil {
			return s.found, of.err
		}
	}
}

func everyOne(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// jobSearch is what is known of jobs so far.
type jobSearch struct {
	asked  []string
	found  []*JobInfo
	failed map[int][]MissingPartition // of those that are not found
}

// look looks once for some of the jobs.
func (s *jobSearch) look(ctx context.Context, i *Inspector, of scope, open []int) error {
	s.failed = map[int][]MissingPartition{}
	if of.single() {
		infos, err := of.views[0].jobs(ctx, s.ids(open))
		for k, n := range open {
			s.found[n] = infos[k]
		}
		return err
	}
	m, sought := i.partitions.Map(), make([]bool, len(s.asked))
	for _, n := range open {
		sought[n] = true
	}
	likely := func(v *view, n int) bool { return m.Likely(s.asked[n]) == v.partition }
	s.round(ctx, of.views, func(v *view, n int) bool { return sought[n] && likely(v, n) })
	left := make([]bool, len(s.asked))
	for _, n := range s.unsettled() {
		left[n] = sought[n]
	}
	s.round(ctx, of.views, func(v *view, n int) bool { return left[n] && !likely(v, n) })
	return s.failure(len(of.views))
}

// unsettled are the jobs of which others may know better: those that are not found, and those that have ended, since
// another one of a given id may live elsewhere.
func (s *jobSearch) unsettled() (open []int) {
	for n, id := range s.asked {
		if _, made := ids.PartitionOf(id); s.found[n] == nil || !made && s.found[n].State.Ended() {
			open = append(open, n)
		}
	}
	return open
}

func (s *jobSearch) ids(of []int) []string {
	some := make([]string, len(of))
	for k, n := range of {
		some[k] = s.asked[n]
	}
	return some
}

// round asks each partition for those jobs that it may have.
func (s *jobSearch) round(ctx context.Context, views []*view, may func(v *view, n int) bool) {
	of := map[*view][]int{}
	var asked []*view
	for _, v := range views {
		for n := range s.asked {
			if may(v, n) {
				of[v] = append(of[v], n)
			}
		}
		if len(of[v]) > 0 {
			asked = append(asked, v)
		}
	}
	for _, a := range ask(ctx, asked, func(v *view, ctx context.Context) ([]*JobInfo, error) {
		return v.jobs(ctx, s.ids(of[v]))
	}) {
		for k, n := range of[a.from] {
			switch info := a.value[k]; {
			case info != nil && (s.found[n] == nil || info.newerThan(s.found[n])):
				s.found[n] = info
			case info == nil && a.err != nil:
				s.failed[n] = append(s.failed[n], MissingPartition{Partition: a.from.partition, Err: a.err})
			}
		}
	}
}

// newerThan tells whether a job is the one that counts, of two with the same id.
func (j *JobInfo) newerThan(other *JobInfo) bool {
	if j.State.Ended() != other.State.Ended() {
		return other.State.Ended()
	}
	return j.EndedAt.After(other.EndedAt)
}

// failure says where jobs that are not found may be.
func (s *jobSearch) failure(partitions int) error {
	why := map[int]error{}
	for n, missing := range s.failed {
		for _, m := range missing {
			if s.found[n] == nil {
				why[m.Partition] = m.Err
			}
		}
	}
	missing := make([]MissingPartition, 0, len(why))
	for _, n := range slices.Sorted(maps.Keys(why)) {
		missing = append(missing, MissingPartition{Partition: n, Err: why[n]})
	}
	if len(missing) == partitions {
		return missing[0].Err
	}
	return incomplete(partitions, missing)
}
