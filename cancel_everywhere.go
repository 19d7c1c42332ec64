package work

import (
	"context"
	"fmt"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
)

// someNotFound tells whether some of the jobs were not found.
func someNotFound(results []CancelResult) bool {
	return slices.ContainsFunc(results, func(r CancelResult) bool { return r.Effect == CancelNotFound })
}

// cancelling is one call of Cancel over several partitions.
type cancelling struct {
	core    *enqueuerCore
	results []CancelResult
	open    []int // of the results: those of jobs that are not found yet
	failed  []error
}

// cancel cancels jobs where they are: those that are not where they most likely are, in all other partitions. One that
// is being moved is cancelled where it arrives. That a job is not found is said where all partitions say so.
func (c *enqueuerCore) cancel(ctx context.Context, ids []string) ([]CancelResult, error) {
	call := &cancelling{core: c}
	absence := c.parts.Absence()
	if c.parts.Map().Single() {
		results, err := cancelJobs(ctx, c.store, ids)
		if results == nil || err == nil && !someNotFound(results) || err != nil && !c.parts.Discover(ctx) {
			return results, err
		}
		if call.results = results; err == nil {
			_ = c.parts.Refresh(ctx) // it has just answered
		}
		if now := c.parts.Map(); now.Single() {
			return results, err
		}
	}
	if err := call.begin(ids); err != nil {
		return nil, err
	}
	for {
		m := c.parts.Map()
		call.failed = nil
		call.where(ctx, m, true)
		call.where(ctx, m, false)
		if len(call.open) == 0 || len(call.failed) > 0 {
			return call.results, asPartition(excerpt.Join(call.failed...))
		}
		again, err := absence.Again(ctx, call.ids(call.open))
		if err != nil {
			return call.results, err
		}
		if !again {
			for _, i := range call.open {
				call.results[i].Effect = CancelNotFound
			}
			return call.results, nil
		}
	}
}

// begin lists the jobs of which nothing is known yet, or that the first partition has not found.
func (c *cancelling) begin(ids []string) error {
	if c.results == nil {
		c.results = make([]CancelResult, len(ids))
	}
	for i, id := range ids {
		if err := validateID(id); err != nil {
			return fmt.Errorf("no job was cancelled: %w", err)
		}
		result := &c.results[i]
		if result.ID = id; result.Effect == CancelNotFound {
			result.Effect = ""
		}
		if result.Effect == "" {
			c.open = append(c.open, i)
		}
	}
	return nil
}

// where cancels the jobs that are not found yet in the partition where each most likely is, or else in all others.
func (c *cancelling) where(ctx context.Context, m *partition.Map, likely bool) {
	at := make([][]int, m.Len())
	for _, i := range c.open {
		for number := range m.Len() {
			if (m.Likely(c.results[i].ID) == number) == likely {
				at[number] = append(at[number], i)
			}
		}
	}
	var asked []int
	for number, jobs := range at {
		if len(jobs) > 0 {
			asked = append(asked, number)
		}
	}
	if len(asked) == 0 {
		return
	}
	answers, failed := partition.Each(ctx, asked, func(ctx context.Context, number int) ([]CancelResult, error) {
		return cancelJobs(ctx, c.core.places.store(number), c.ids(at[number]))
	}, nil)
	for a, number := range asked {
		for k, result := range answers[a] {
			if result.Effect != CancelNotFound && result.Effect != "" {
				c.results[at[number][k]] = result
			}
		}
		if failed[a] != nil {
			c.failed = append(c.failed, failed[a])
		}
	}
	c.open = slices.DeleteFunc(c.open, func(i int) bool { return c.results[i].Effect != "" })
}

// ids are those of some of the results.
func (c *cancelling) ids(of []int) []string {
	ids := make([]string, len(of))
	for k, i := range of {
		ids[k] = c.results[i].ID
	}
	return ids
}
