package rdb

import (
	"context"
	"strconv"
	"time"
)

var (
	completeScript = load("complete")
	shelveScript   = load("shelve")
	releaseScript  = load("release")
	suspectScript  = load("suspect")
)

// Ended is a claim whose job is over: done or discarded.
type Ended struct {
	Claim
	ID      string
	Keep    time.Duration // for how long the outcome is kept; 0 keeps none
	Outcome []byte
}

// Shelf is a place for jobs that are not to run now.
type Shelf string

// The shelves.
const (
	ShelfRetry     Shelf = "retry"
	ShelfScheduled Shelf = "scheduled"
	ShelfMorgue    Shelf = "morgue"
)

// Shelved is a claim whose job is put on a shelf.
type Shelved struct {
	Claim
	Shelf Shelf
	Delay time.Duration // until it is due; at least 1 ms for retry and scheduled
	Trail []byte        // nil leaves the one that is there

	KeepCrashes bool // it was put off without an attempt
}

// Released is what is given back to the front of one queue.
type Released struct {
	Queue    string
	Elements []string // oldest first, at most MaxBatch
	Died     string   // the worker that died with them, if one did
	Ended    bool     // their attempts ended in good order, so their crashes are forgotten
}

// Complete makes the call that ends up to [MaxBatch] jobs, each only if its claim stands.
func (w *Worker) Complete(ended []Ended) Call {
	k := w.store.keys
	keys := append(make([]string, 0, 6+8), k.claimed, k.jobs, k.trail, k.crashes, k.outcomes, k.outcomesUntil)
	args := append(make([]any, 0, 1+2*len(ended)), len(ended))
	indices := make(map[string]int, 8)
	for i := range ended {
		queue, known := indices[ended[i].Queue]
		if !known {
			keys = append(keys, w.keys.inprocess(ended[i].Queue))
			queue = len(keys) - 6
			indices[ended[i].Queue] = queue
		}
		args = append(args, queue, ended[i].Element)
	}
	for i := range ended {
		if ended[i].Keep > 0 {
			args = append(args, i+1, millis(ended[i].Keep), ended[i].Outcome)
		}
	}
	return Call{Script: completeScript, Keys: keys, Args: args}
}

// Shelve makes the call that puts one job on a shelf, if its claim stands.
func (w *Worker) Shelve(job Shelved) Call {
	k := w.store.keys
	shelf := map[Shelf]string{ShelfRetry: k.retry, ShelfScheduled: k.scheduled, ShelfMorgue: k.morgue}[job.Shelf]
	delay := int64(0)
	if job.Shelf != ShelfMorgue {
		delay = max(1, millis(job.Delay))
	}
	return Call{
		Script: shelveScript,
		Keys:   []string{k.claimed, k.crashes, k.names, k.trail, k.control, w.keys.inprocess(job.Queue), shelf},
		Args:   []any{job.Element, job.Queue, delay, job.Trail, job.KeepCrashes},
	}
}

// Release makes the call that gives claims of one queue back to the front of it.
func (w *Worker) Release(released Released) Call {
	k := w.store.keys
	of := k.queue(released.Queue)
	args := append(make([]any, 0, 3+len(released.Elements)), released.Queue, released.Died, released.Ended)
	for _, element := range released.Elements {
		args = append(args, element)
	}
	return Call{
		Script: releaseScript,
		Keys:   []string{k.claimed, k.crashes, k.ready, w.keys.inprocess(released.Queue), of.queue, of.wake, w.keys.info},
		Args:   args,
	}
}

// Suspect notes which of the jobs that workers have died with this one is about to begin. It returns false when the
// claim is gone, so that the job must not begin.
func (w *Worker) Suspect(ctx context.Context, claim Claim) (bool, error) {
	value, err := do(ctx, w.store.driver, Call{
		Script: suspectScript, Keys: []string{w.keys.info, w.keys.inprocess(claim.Queue)}, Args: []any{claim.Element},
	})
	if err != nil {
		return false, err
	}
	n, _ := value.(int64)
	return n == 1, nil
}

// Settle sends calls made by Complete, Shelve and Release in one pipeline and returns for each the elements whose
// claim was gone, or the error with which Redis refused it. An error of its own means that some were not answered:
// all are sent again, and a claim that is then gone was settled by the send before.
func (w *Worker) Settle(ctx context.Context, calls []Call) ([]Settled, error) {
	replies, err := w.store.driver.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	settled := make([]Settled, len(replies))
	for i, reply := range replies {
		settled[i] = parseSettled(calls[i], reply)
	}
	return settled, nil
}

// Settled is the answer to one call of a settlement.
type Settled struct {
	Gone []string // elements whose claim was gone
	Err  error    // nothing of the call was done
}

func parseSettled(call Call, reply Reply) Settled {
	if reply.Err != nil {
		return Settled{Err: reply.Err}
	}
	if n, ok := reply.Value.(int64); ok { // shelve
		if n == 0 {
			return Settled{Gone: []string{call.Args[0].(string)}}
		}
		return Settled{}
	}
	r := &reader{script: call.Script.Name, whole: reply.Value}
	gone := texts(r, reply.Value)
	return Settled{Gone: gone, Err: r.err}
}

func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

func elementPrefix(number int64) string { return strconv.FormatInt(number, 10) + ":" }

// formatSeconds writes a timeout as Redis reads it.
func formatSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
