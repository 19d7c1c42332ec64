package rdb

import (
	"context"
	"strconv"
	"strings"
)

// Verdict is what became of a claim that is gone.
type Verdict int

// The verdicts.
const (
	VerdictUnknown Verdict = iota
	VerdictCounted         // its worker's own outcome has ended it
	VerdictTaken           // it was taken from its worker, or Redis has lost it: no outcome of that worker counted
)

// Verdicts tells what became of claims of this worker that are gone. From a registered one nothing is taken. What was
// taken from one that was declared dead is noted for an hour.
func (w *Worker) Verdicts(ctx context.Context, elements []string) ([]Verdict, error) {
	verdicts := make([]Verdict, 0, len(elements))
	for len(elements) > 0 {
		n := min(len(elements), MaxBatch)
		some, err := w.verdicts(ctx, elements[:n])
		if err != nil {
			return nil, err
		}
		verdicts, elements = append(verdicts, some...), elements[n:]
	}
	return verdicts, nil
}

func (w *Worker) verdicts(ctx context.Context, elements []string) ([]Verdict, error) {
	replies, err := w.store.driver.Pipeline(ctx,
		Call{Command: "SISMEMBER", Args: []any{w.store.keys.workers, w.ID}},
		Call{Command: "HGET", Args: []any{w.keys.info, "n"}},
		Call{Command: "HMGET", Args: appendTexts([]any{w.keys.taken, "n"}, elements)})
	if err != nil {
		return nil, err
	}
	values := make([]any, len(replies))
	for i, reply := range replies {
		if reply.Err != nil {
			return nil, reply.Err
		}
		values[i] = reply.Value
	}
	r := &Reader{script: "HMGET", rest: values, whole: values}
	registered, reached := r.Number() == 1, toNumber(r.Text())
	taken := r.List()
	noted := taken.Text()
	if !registered {
		reached = toNumber(noted)
	}
	verdicts := make([]Verdict, len(elements))
	for i, element := range elements {
		number, _, _ := strings.Cut(element, ":")
		switch was := taken.Text(); {
		case !registered && noted == "":
			verdicts[i] = VerdictUnknown // it was taken apart long ago, by an older version, or not yet
		case !registered && was != "", toNumber(number) > reached: // of a fetch that Redis has forgotten
			verdicts[i] = VerdictTaken
		default:
			verdicts[i] = VerdictCounted
		}
	}
	return verdicts, r.err
}

// toNumber reads a number; what is none, or is not there, is 0.
func toNumber(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
