package inspect

import (
	"context"
	"errors"

	"github.com/265d0351/work"
)

// seeking is how one job is looked for in partitions. The answer of a partition that does not have it is
// [work.ErrNotFound].
type seeking[T any] struct {
	question func(*view, context.Context) (T, error)
	// whether nobody else can know better; nil is always. What is not settled is the answer if nobody does.
	settled func(T) bool
}

// seek asks the partition that most likely has a job; and if it does not have it, or does not answer, all others in one
// round. That there is no such job, all must have said, and none may have it on its way to another one, which is waited
// for. Where some did not answer the error is a [PartialError].
func seek[T any](ctx context.Context, i *Inspector, id string, s seeking[T]) (*view, T, error) {
	if s.settled == nil {
		s.settled = func(T) bool { return true }
	}
	var none T
	if i.unusable != nil {
		return nil, none, i.unusable
	}
	absence := i.partitions.Absence()
	for {
		v, value, err := seekOnce(ctx, i, id, s)
		if err == nil && s.settled(value) || err != nil && !errors.Is(err, work.ErrNotFound) || partial(err) {
			return v, value, err
		}
		if again, failed := absence.Again(ctx, []string{id}); failed != nil {
			return nil, none, failed
		} else if !again {
			return v, value, err
		}
	}
}

func partial(err error) bool {
	var missing *PartialError
	return errors.As(err, &missing)
}

func seekOnce[T any](ctx context.Context, i *Inspector, id string, s seeking[T]) (*view, T, error) {
	var none T
	of := i.everywhere(ctx)
	if of.err != nil {
		return nil, none, of.err
	}
	likely := i.view(i.partitions.Map().Likely(id))
	answers := ask(ctx, []*view{likely}, s.question)
	if a := answers[0]; of.single() || a.err == nil && s.settled(a.value) || impossible(a.err) {
		return a.from, a.value, a.err
	}
	answers = append(answers, ask(ctx, of.without(likely.partition), s.question)...)
	var found *answer[T]
	var missing []MissingPartition
	for n := range answers {
		switch a := &answers[n]; {
		case a.err == nil && (found == nil || s.settled(a.value)):
			found = a
		case a.err != nil && !errors.Is(a.err, work.ErrNotFound):
			missing = append(missing, MissingPartition{Partition: a.from.partition, Err: a.err})
		}
	}
	switch {
	case found != nil:
		return found.from, found.value, nil
	case len(missing) == len(answers):
		return nil, none, missing[0].Err
	case len(missing) > 0:
		return nil, none, incomplete(len(answers), missing)
	}
	return nil, none, answers[0].err
}
