package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/nearest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/schedule"
)

// UnknownNameError says that nothing in the namespace has a name, so that it may be misspelt. Nothing was done.
type UnknownNameError struct {
	Name    string
	Nearest string // what may have been meant; "" where nothing is near
}

func (e *UnknownNameError) Error() string {
	text := fmt.Sprintf("no queue, worker, schedule or limit has the name %s", excerpt.Brief(e.Name))
	if e.Nearest != "" {
		text += fmt.Sprintf(" (did you mean %s?)", excerpt.Brief(e.Nearest))
	}
	return text
}

// CheckNames returns an *[UnknownNameError] for the first of the names that nothing in the namespace has: no job was
// enqueued under it in the last 30 days and none waits, no worker has served it in the last 90, and there is no
// schedule and no limit of it. It is for those who ask a person once more: what a program sets up may come before the
// first job. A known name costs one or two round trips.
func (i *Inspector) CheckNames(ctx context.Context, names ...string) error {
	if i.unusable != nil {
		return i.unusable
	}
	for _, name := range names {
		if err := inside.AsInvalid(invalid.JobName(name)); err != nil {
			return err
		}
		meant, known, err := i.nameKnown(ctx, name)
		if err != nil {
			return fmt.Errorf("it cannot be told whether there is the name %s: %w", excerpt.Brief(name), err)
		}
		if !known {
			return &UnknownNameError{Name: name, Nearest: meant}
		}
	}
	return nil
}

// Names returns the names that [Inspector.CheckNames] knows, in order: of jobs that wait or were enqueued, that workers
// have served, and of schedules and limits. It costs what grows with their number, so ask for them once.
func (i *Inspector) Names(ctx context.Context) ([]string, error) {
	all, err := readAll(ctx, i.everywhere(ctx), (*view).allNames, func(all *[]string, one []string) {
		*all = append(*all, one...)
	})
	slices.Sort(all)
	return slices.Compact(all), err
}

func (v *view) allNames(ctx context.Context) ([]string, error) {
	others, err := v.otherNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("the names cannot be read: %w", err)
	}
	served, err := v.store.LastServed(ctx, nearest.Most)
	if err != nil {
		return nil, fmt.Errorf("the names cannot be read: %w", err)
	}
	queues, err := v.store.QueueNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("the names cannot be read: %w", err)
	}
	return slices.Concat(namesOf(slices.Collect(maps.Keys(queues))), others, served), nil
}

// nameKnown tells whether anything in any partition has the name, and else which is nearest.
func (i *Inspector) nameKnown(ctx context.Context, name string) (meant string, known bool, err error) {
	type told struct {
		nearest []string
		known   bool
	}
	all, err := gather(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) (told, error) {
		meant, known, err := v.nameKnown(ctx, name)
		return told{[]string{meant}, known}, err
	}, func(sum *told, one told) {
		sum.nearest, sum.known = append(sum.nearest, one.nearest...), sum.known || one.known
	})
	switch {
	case all.known:
		return "", true, nil // whatever those know that were not reached
	case err != nil:
		return "", false, err
	case len(all.nearest) > 1:
		candidates := slices.DeleteFunc(all.nearest, func(name string) bool { return name == "" })
		return nearest.Word(name, slices.Compact(slices.Sorted(slices.Values(candidates)))), false, nil
	}
	return all.nearest[0], false, nil
}

// nameKnown tells whether anything has the name, and else which is nearest.
func (v *view) nameKnown(ctx context.Context, name string) (meant string, known bool, err error) {
	if _, is, err := v.store.QueueSeen(ctx, name); is || err != nil {
		return "", is, err
	}
	if never, err := v.store.NeverServed(ctx, []string{name}); err != nil || len(never) == 0 {
		return "", err == nil, err
	}
	all, err := v.allNames(ctx)
	if err != nil || slices.Contains(all, name) {
		return "", err == nil, err
	}
	slices.Sort(all)
	return nearest.Word(name, slices.Compact(all)), false, nil
}

// otherNames are those that schedules and limits have, and those that share queues.
func (v *view) otherNames(ctx context.Context) ([]string, error) {
	rules, err := v.store.Rules(ctx)
	if err != nil {
		return nil, err
	}
	delete(rules, rdb.Everything)
	names := slices.AppendSeq(slices.Collect(maps.Keys(rules)), maps.Keys(v.by.Queues))
	schedules, _, err := v.store.Schedules(ctx)
	for _, one := range schedules {
		if s, err := schedule.Read(one.ID, one.Definition); err == nil {
			names = append(names, s.Definition.Name)
		}
	}
	return names, err
}
