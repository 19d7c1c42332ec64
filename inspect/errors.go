package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// ErrorGroup is one kind of failure of the jobs of one name.
type ErrorGroup struct {
	Digest  string    `json:"digest"`  // names the group, see Selection.ErrorGroup
	Name    string    `json:"name"`    // of the jobs
	Message string    `json:"message"` // without what differs from job to job: see docs/history.md
	Count   int64     `json:"count"`   // attempts that failed so, and jobs that died for that reason
	Sample  string    `json:"sample"`  // id of the last such job; it may have ended since
	First   time.Time `json:"first"`   // when it was first and last counted, by Redis' clock
	Last    time.Time `json:"last"`
}

// Errors returns the groups of errors of one name, or of all where the name is empty, the most frequent first. There
// are at most 1,000 of one name and 10,000 in all, in each partition: beyond that, the janitor of the workers removes
// those that came last the longest time ago, and new ones are counted in one group of the name, "(other errors: there
// are too many kinds)", until it has. Groups that nothing was added to for 90 days go too.
func (i *Inspector) Errors(ctx context.Context, name string) ([]ErrorGroup, error) {
	return readAll(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) ([]ErrorGroup, error) {
		return v.errors(ctx, name)
	}, addErrors)
}

func (v *view) errors(ctx context.Context, name string) ([]ErrorGroup, error) {
	known := map[string]ErrorGroup{} // a walk may show a group twice
	err := v.store.ErrorGroups(ctx, func(page []rdb.ErrorGroup) error {
		for _, g := range page {
			if g.Name != "" && (name == "" || g.Name == name) {
				known[g.Digest] = ErrorGroup{Digest: g.Digest, Name: g.Name, Message: g.Message, Count: g.Count,
					Sample: g.Sample,
					First:  g.First, Last: g.Last}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the groups of errors cannot be read: %w", err)
	}
	groups := make([]ErrorGroup, 0, len(known))
	for _, g := range known {
		groups = append(groups, g)
	}
	sortErrors(groups)
	return groups, nil
}

func sortErrors(groups []ErrorGroup) {
	slices.SortFunc(groups, func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), strings.Compare(a.Digest, b.Digest))
	})
}

// addErrors adds groups of another partition. The same group has the same digest everywhere.
func addErrors(all *[]ErrorGroup, ones []ErrorGroup) {
	by := make(map[string]int, len(*all))
	for n := range *all {
		by[(*all)[n].Digest] = n
	}
	for _, one := range ones {
		n, known := by[one.Digest]
		if !known {
			*all = append(*all, one)
			continue
		}
		sum := &(*all)[n]
		sum.Count, sum.First = sum.Count+one.Count, earlier(sum.First, one.First)
		if one.Last.After(sum.Last) {
			sum.Last, sum.Sample = one.Last, one.Sample
		}
	}
	sortErrors(*all)
}

// ErrorHours returns how often errors of these groups came in each of the last 24 hours of Redis' clock, by digest and
// oldest first: the last one is under way. Groups of which none came are there with zeros. Workers of older programs do
// not count by the hour, so that the sum may be less than Count even of a group that began today.
func (i *Inspector) ErrorHours(ctx context.Context, digests ...string) (map[string][]int64, error) {
	return readAll(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) (map[string][]int64, error) {
		return v.errorHours(ctx, digests)
	}, func(all *map[string][]int64, one map[string][]int64) {
		for digest, counts := range one {
			for n, count := range counts {
				(*all)[digest][n] += count
			}
		}
	})
}

func (v *view) errorHours(ctx context.Context, digests []string) (map[string][]int64, error) {
	now, err := v.store.Time(ctx)
	all := make(map[string][]int64, len(digests))
	for part := range slices.Chunk(digests, rdb.MaxBatch) {
		var counts map[string][]int64
		if err == nil {
			counts, err = v.store.ErrorCounts(ctx, now, part)
		}
		maps.Copy(all, counts)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be read when errors came: %w", err)
	}
	return all, nil
}

// ClearErrors forgets the groups of errors of one name, or all where the name is empty. Jobs keep their errors, and
// those that fail later are counted anew.
func (i *Inspector) ClearErrors(ctx context.Context, name string) error {
	return each(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) error { return v.clearErrors(ctx, name) })
}

func (v *view) clearErrors(ctx context.Context, name string) error {
	var digests []string
	if name != "" {
		groups, err := v.errors(ctx, name)
		if err != nil || len(groups) == 0 {
			return err
		}
		for _, g := range groups {
			digests = append(digests, g.Digest)
		}
	}
	if err := v.store.ForgetErrorGroups(ctx, digests); err != nil {
		return fmt.Errorf("the groups of errors cannot be cleared: %w", err)
	}
	return nil
}
