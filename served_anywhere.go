package work

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
)

// servedAnywhere knows which names workers have served in any partition. A pool registers its names in all of them, so
// those that answer know what those know that are away.
type servedAnywhere struct{ core *enqueuerCore }

// NeverServed returns those of the names that no worker has served in any partition.
func (s servedAnywhere) NeverServed(ctx context.Context, names []string) ([]string, error) {
	answers, err := askServed(ctx, s.core, func(ctx context.Context, number int) ([]string, error) {
		return s.core.places.store(number).NeverServed(ctx, names)
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(answers[0], func(name string) bool {
		return slices.ContainsFunc(answers[1:], func(never []string) bool { return !slices.Contains(never, name) })
	}), nil
}

// LastServed returns up to so many names that workers have served.
func (s servedAnywhere) LastServed(ctx context.Context, most int) ([]string, error) {
	answers, err := askServed(ctx, s.core, func(ctx context.Context, number int) ([]string, error) {
		return s.core.places.store(number).LastServed(ctx, most)
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(answers...)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(most, len(all))], nil
}

// askServed asks all partitions in which workers work, and returns what those say that answer: at least one.
func askServed(ctx context.Context, core *enqueuerCore, ask func(ctx context.Context, number int) ([]string, error)) (
	answers [][]string, err error) {
	served := core.parts.Map().Served()
	if len(served) == 1 {
		answer, err := ask(ctx, served[0])
		if err != nil && core.parts.Discover(ctx) {
			return askServed(ctx, core, ask)
		}
		return [][]string{answer}, err
	}
	ctx, cancel := context.WithTimeout(ctx, oneOfSeveral)
	defer cancel()
	all, failed := partition.Each(ctx, served, ask, nil)
	for i, answer := range all {
		if failed[i] == nil {
			answers = append(answers, answer)
		}
	}
	if len(answers) == 0 {
		return nil, excerpt.Join(failed...)
	}
	return answers, nil
}
