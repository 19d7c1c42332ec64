package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partly"
)

// How often the map of the partitions is read by an Inspector in use, and how long it waits for that.
const (
	mapInterval = time.Second
	mapPatience = time.Second
)

// scope is which partitions are asked: at least one, or the error says why none can be.
type scope struct {
	views []*view
	err   error
}

// everywhere are all partitions that there are or were: those that are closed still know what has ended there.
func (i *Inspector) everywhere(ctx context.Context) scope {
	return i.scope(ctx, partition.Open, partition.Draining, partition.Closed)
}

// served are the partitions in which there may be workers, and jobs that live.
func (i *Inspector) served(ctx context.Context) scope {
	return i.scope(ctx, partition.Open, partition.Draining)
}

func (i *Inspector) scope(ctx context.Context, states ...partition.State) scope {
	if i.unusable != nil {
		return scope{err: i.unusable}
	}
	i.refresh(ctx)
	var s scope
	m := i.partitions.Map()
	for _, n := range m.In(states...) {
		s.views = append(s.views, i.viewBy(m, n))
	}
	return s
}

func (i *Inspector) view(partition int) *view { return i.viewBy(i.partitions.Map(), partition) }

// viewBy is a partition for who goes by a map: what is stored by an older one than is known there is refused. Who asks
// several does so by the map that says which there are, however new the map is that somebody has met meanwhile.
func (i *Inspector) viewBy(m *partition.Map, partition int) *view {
	store := i.partitions.Guarded(partition)
	if m.Version > 0 {
		store = store.AtMap(m.Version)
	}
	return &view{store: store, partition: partition, by: m}
}

// refresh reads the map of the partitions, if that was not done within the last second. Where it cannot be read what is
// known goes on to count: whoever is asked then says what is wrong.
func (i *Inspector) refresh(ctx context.Context) {
	now := time.Since(i.begun).Nanoseconds()
	next := now + mapInterval.Nanoseconds()
	if due := i.refreshed.Load(); due != 0 && (now < due || !i.refreshed.CompareAndSwap(due, next)) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, mapPatience)
	defer cancel()
	_ = i.partitions.Refresh(ctx) // before the first has ended nobody goes on
	i.refreshed.Store(next)
}

// single tells whether there is nothing to merge.
func (s *scope) single() bool { return len(s.views) == 1 }

// without are the others.
func (s *scope) without(partition int) []*view {
	return slices.DeleteFunc(slices.Clone(s.views), func(v *view) bool { return v.partition == partition })
}

// answer is what one partition has said.
type answer[T any] struct {
	from  *view
	value T
	err   error
}

// ask asks partitions side by side. One alone is asked by the caller's goroutine.
func ask[T any](ctx context.Context, views []*view, question func(*view, context.Context) (T, error)) []answer[T] {
	answers := make([]answer[T], len(views))
	one := func(n int) {
		answers[n].from = views[n]
		answers[n].value, answers[n].err = question(views[n], ctx)
	}
	if len(views) == 1 {
		one(0)
		return answers
	}
	var asking sync.WaitGroup
	for n := range views {
		asking.Go(func() { one(n) })
	}
	asking.Wait()
	return answers
}

// askInTime is ask for who has something to do about those that do not answer: it does not wait long for them once one
// has answered.
func askInTime[T any](ctx context.Context, views []*view, question func(*view, context.Context) (T, error),
) []answer[T] {
	asking, hurry := context.WithCancel(ctx)
	defer hurry()
	answers := ask(asking, views, func(v *view, ctx context.Context) (T, error) {
		said, err := question(v, ctx)
		if err == nil {
			time.AfterFunc(silence, hurry)
		}
		return said, err
	})
	for n := range answers {
		if a := &answers[n]; a.err != nil && asking.Err() != nil && ctx.Err() == nil {
			a.err = fmt.Errorf("no answer within %s of another one: %w", silence, a.err)
		}
	}
	return answers
}

// silence is how long askInTime waits for the others.
const silence = time.Second

// gather asks all partitions of the scope and adds up what they say. It is a [PartialError] where only some have
// answered, and their sum; with one partition it is what that one returns.
func gather[T any](ctx context.Context, of scope, question func(*view, context.Context) (T, error),
	add func(sum *T, one T)) (T, error) {
	var sum T
	if of.err != nil {
		return sum, of.err
	}
	answers := ask(ctx, of.views, question)
	if of.single() {
		return answers[0].value, answers[0].err
	}
	first := true
	for _, a := range answers {
		switch {
		case a.err != nil:
		case first:
			sum, first = a.value, false
		default:
			add(&sum, a.value)
		}
	}
	return sum, failure(answers)
}

// readAll is gather for what people are shown: who wants to has it note what is missing, instead of an error.
func readAll[T any](ctx context.Context, of scope, question func(*view, context.Context) (T, error),
	add func(sum *T, one T)) (T, error) {
	sum, err := gather(ctx, of, question, add)
	return sum, noted(ctx, err)
}

// noted is the error of a read, unless it was noted what is missing.
func noted(ctx context.Context, err error) error {
	var partial *PartialError
	if !errors.As(err, &partial) {
		return err
	}
	why := make(map[int]error, len(partial.Missing))
	for _, missing := range partial.Missing {
		why[missing.Partition] = missing.Err
	}
	if partly.Note(ctx, partial.Asked, why) {
		return nil
	}
	return err
}

// each has all partitions of the scope do something.
func each(ctx context.Context, of scope, do func(*view, context.Context) error) error {
	_, err := gather(ctx, of, func(v *view, ctx context.Context) (struct{}, error) { return struct{}{}, do(v, ctx) },
		func(*struct{}, struct{}) {})
	return err
}

// failure is the error of answers: that of the first where all have failed, or where the question cannot be answered by
// anybody; else a [PartialError], and nil where all have answered.
func failure[T any](answers []answer[T]) error {
	missing := missingOf(answers)
	for n, m := range missing {
		if impossible(m.Err) || len(missing) == len(answers) && n == 0 {
			return m.Err
		}
	}
	return incomplete(len(answers), missing)
}

// missingOf are the partitions that have not answered.
func missingOf[T any](answers []answer[T]) (missing []MissingPartition) {
	for _, a := range answers {
		if a.err != nil {
			missing = append(missing, MissingPartition{Partition: a.from.partition, Err: a.err})
		}
	}
	return missing
}

// incomplete is the error of so many that were asked; nil where none is missing.
func incomplete(asked int, missing []MissingPartition) error {
	if len(missing) == 0 {
		return nil
	}
	return &PartialError{Asked: asked, Missing: missing}
}

// impossible tells an error of what was asked from one of a partition.
func impossible(err error) bool {
	var invalid *work.InvalidError
	var limit *work.LimitError
	return errors.As(err, &invalid) || errors.As(err, &limit) || errors.Is(err, ErrServed)
}

// inTurn has one partition after the other do something that takes long and tells how far it is. What fails in one does
// not keep it from the others.
func inTurn(ctx context.Context, of scope, do func(*view) error) error {
	if of.err != nil {
		return of.err
	}
	answers := make([]answer[struct{}], len(of.views))
	for n, v := range of.views {
		answers[n].from, answers[n].err = v, do(v)
		if ctx.Err() != nil && answers[n].err != nil {
			for m := n + 1; m < len(answers); m++ {
				answers[m].from, answers[m].err = of.views[m], answers[n].err
			}
			break
		}
	}
	return failure(answers)
}
