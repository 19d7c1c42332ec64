package maintain

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/rdb"
)

// ErrorGroupLife is how long a group of errors is kept that does not grow, errorsInterval how often it is looked for
// such ones.
const (
	ErrorGroupLife = 90 * 24 * time.Hour
	errorsInterval = time.Hour
)

// trimErrors removes groups of errors: those that have not grown for long, of the names that have too many and of all.
// It leaves room for new ones.
func (j *Janitor) trimErrors(ctx context.Context) error {
	store := j.env.Store
	n, err := store.CountErrorGroups(ctx)
	if err != nil || n <= history.MaxGroups && time.Since(j.errorsTrimmed) < errorsInterval {
		return err
	}
	byName := map[string][]rdb.ErrorGroup{}
	err = store.ErrorGroups(ctx, func(page []rdb.ErrorGroup) error {
		for _, g := range page {
			byName[g.Name] = append(byName[g.Name], g)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := store.RemoveStaleErrorGroups(ctx, surplusErrors(byName, j.env.Now())); err != nil {
		return err
	}
	j.errorsTrimmed = time.Now()
	return nil
}

// surplusErrors are the groups that are to go.
func surplusErrors(byName map[string][]rdb.ErrorGroup, now time.Time) (surplus []rdb.ErrorGroup) {
	newest := func(a, b rdb.ErrorGroup) int { return b.Last.Compare(a.Last) }
	var kept []rdb.ErrorGroup
	for _, groups := range byName {
		slices.SortFunc(groups, newest)
		kept = append(kept, groups[:min(len(groups), history.MaxGroups)]...)
		surplus = append(surplus, groups[min(len(groups), history.MaxGroups):]...)
	}
	slices.SortFunc(kept, newest)
	fit := min(len(kept), rdb.MaxErrorGroups*9/10)
	for fit > 0 && now.Sub(kept[fit-1].Last) > ErrorGroupLife {
		fit--
	}
	return append(surplus, kept[fit:]...)
}
