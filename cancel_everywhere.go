package work

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
)

// someNotFound tells whether some of the jobs are to be looked for elsewhere.
func someNotFound(results []CancelResult) bool {
	return slices.ContainsFunc(results, func(r CancelResult) bool { return elsewhere(r.Effect) })
}

func elsewhere(effect CancelEffect) bool { return effect == CancelNotFound || effect == cancelLeaving }

// cancelling is one call of Cancel over several partitions.
type cancelling struct {
	core    *enqueuerCore
	results []CancelResult
	open    []int        // of the results: those of jobs that are not found yet
	leaving map[int]bool // of the results: those of jobs that were flagged as they left a partition
	failed  []error
}

// cancel cancels jobs where they are: those that are not where they most likely are, in all other partitions. One that
// is being moved is cancelled where it arrives: it is flagged as it leaves, but may have begun where it goes, and end
// as done, before the mover has brought the flag. That a job is not found is said where all partitions say so.
func (c *enqueuerCore) cancel(ctx context.Context, ids []string) ([]CancelResult, error) {
	call := &cancelling{core: c, leaving: map[int]bool{}}
	absence := c.parts.Absence()
	if c.parts.Map().Single() {
		results, err := cancelJobs(ctx, c.store, ids)
		if results == nil || err == nil && !someNotFound(results) || err != nil && !c.parts.Discover(ctx) {
			return flagged(results), err
		}
		if call.results = results; err == nil {
			_ = c.parts.Refresh(ctx) // it has just answered
		}
		if now := c.parts.Map(); now.Single() {
			return flagged(results), err
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
			return call.results, call.stranded(err)
		}
		if !again {
			for _, i := range call.open {
				call.results[i].Effect = CancelNotFound
			}
			return call.results, nil
		}
	}
}

// flagged are results for who cannot look where jobs go that were on their way.
func flagged(results []CancelResult) []CancelResult {
	for i := range results {
		if results[i].Effect == cancelLeaving {
			results[i].Effect, results[i].State = CancelFlagged, StateCancelled
		}
	}
	return results
}

// stranded is the error of a call whose jobs do not arrive where they go. Those that are flagged end as cancelled when
// somebody brings them, as none of them is there yet.
func (c *cancelling) stranded(err error) error {
	var stranded *partition.StrandedError
	if !errors.As(err, &stranded) {
		return err
	}
	c.open = slices.DeleteFunc(c.open, func(i int) bool {
		if c.leaving[i] {
			c.results[i].Effect, c.results[i].State = CancelFlagged, StateCancelled
		}
		return c.leaving[i]
	})
	if len(c.open) == 0 {
		return nil
	}
	return err
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
		if result.ID = id; elsewhere(result.Effect) {
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
			i := at[number][k]
			switch {
			case result.Effect == cancelLeaving:
				c.leaving[i] = true
			case result.Effect == CancelTooLate && result.State == StateCancelled && c.leaving[i]:
				result.Effect = CancelEnded // the mover was faster
				c.results[i] = result
			case result.Effect != CancelNotFound && result.Effect != "":
				c.results[i] = result
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
