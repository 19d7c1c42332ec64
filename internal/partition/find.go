package partition

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// Still tells whether nothing is on its way from one partition to another, as far as the map says.
func (m *Map) Still() bool {
	return len(m.Moving) == 0 && len(m.Binding) == 0 && len(m.In(Draining)) == 0
}

// Each asks partitions side by side, and returns an *[Error] of each that could not be asked, by its place. Once enough
// is true of an answer the others are not waited for.
func Each[T any](ctx context.Context, partitions []int, ask func(ctx context.Context, partition int) (T, error),
	enough func(T) bool) (answers []T, failed []error) {
	answers, failed = make([]T, len(partitions)), make([]error, len(partitions))
	if len(partitions) == 1 {
		answers[0], failed[0] = askOne(ctx, partitions[0], ask)
		return answers, failed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var asking sync.WaitGroup
	for i, at := range partitions {
		asking.Go(func() {
			answers[i], failed[i] = askOne(ctx, at, ask)
			if failed[i] == nil && enough != nil && enough(answers[i]) {
				cancel()
			}
		})
	}
	asking.Wait()
	return answers, failed
}

func askOne[T any](ctx context.Context, at int, ask func(ctx context.Context, partition int) (T, error)) (T, error) {
	answer, err := ask(ctx, at)
	if err != nil {
		err = &Error{Partition: at, Err: err}
	}
	return answer, err
}

// likelyFirst is how long the likely partition is asked alone.
const likelyFirst = 500 * time.Millisecond

// Find asks for a job of which only the id is known: the partition that most likely has it, then all others at once. It
// returns where it is; -1 says that no partition has it. It is an error where that is not known, as one of them could
// not be asked: an *[Error] of each of these, where there are several partitions.
func (d *Directory) Find(ctx context.Context, id string, has func(ctx context.Context, partition int) (bool, error)) (
	at int, err error) {
	for round := 1; ; round++ {
		m := d.Map()
		if at, err = m.find(ctx, id, has); at >= 0 || err != nil {
			if err != nil && d.Discover(ctx) {
				continue
			}
			return at, err
		}
		_ = d.Refresh(ctx) // all have just answered: one that fails now knows no more
		if now := d.Map(); now.Version == m.Version && (now.Still() || round > 1) {
			return -1, nil
		}
	}
}

// find asks one round.
func (m *Map) find(ctx context.Context, id string, has func(ctx context.Context, partition int) (bool, error)) (int,
	error) {
	if m.Single() {
		if found, err := has(ctx, 0); err != nil || !found {
			return -1, err
		}
		return 0, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	likely := m.Likely(id)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	first := make(chan error, 1)
	found := false
	asking.Go(func() {
		has, err := askOne(ctx, likely, has)
		found = has && err == nil
		first <- err
	})
	timer := time.NewTimer(likelyFirst)
	defer timer.Stop()
	asked := false
	var err error
	select {
	case err = <-first:
		if asked = true; found {
			return likely, nil
		}
	case <-timer.C:
	}
	others := m.but(likely)
	answers, failed := Each(ctx, others, has, func(found bool) bool { return found })
	for i, found := range answers {
		if found && failed[i] == nil {
			return others[i], nil
		}
	}
	if !asked {
		if err = <-first; found {
			return likely, nil
		}
	}
	return -1, excerpt.Join(append([]error{err}, failed...)...)
}

// but are all partitions but one.
func (m *Map) but(one int) (others []int) {
	for i := range m.Len() {
		if i != one {
			others = append(others, i)
		}
	}
	return others
}
