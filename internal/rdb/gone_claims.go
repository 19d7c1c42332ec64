package rdb

import (
	"context"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// GoneClaim is what became of a claim that is gone.
type GoneClaim int

// What may have become of it.
const (
	GoneUnknown   GoneClaim = iota
	GoneCounted             // its worker's own outcome has ended it
	GoneForgotten           // Redis knows the worker, and not the fetch that brought it: no outcome of it has counted
	GoneTaken               // it was taken from its worker, or Redis has lost it: no outcome of that worker counted
)

// TakenKept is for how long it is noted what was taken from a worker that was declared dead.
const TakenKept = time.Hour

// Unknown tells whether nothing in Redis tells of this worker, not even that it was declared dead: then its
// registration was lost. What was taken from a dead one is noted for [TakenKept]; after that it is unknown as well.
func (w *Worker) Unknown(ctx context.Context) (bool, error) {
	replies, err := w.store.driver.Pipeline(ctx,
		redisconn.Call{Command: "EXISTS", Args: []any{w.keys.info, w.keys.taken}},
		redisconn.Call{Command: "SISMEMBER", Args: []any{w.store.keys.workers, w.ID}},
		redisconn.Call{Command: "SISMEMBER", Args: []any{w.store.keys.dead, w.ID}},
		redisconn.Call{Command: "ZSCORE", Args: []any{w.store.keys.stopped, w.ID}})
	if err != nil {
		return false, err
	}
	values, err := redisconn.Values(replies)
	if err != nil {
		return false, err
	}
	r := redisconn.NewReader("EXISTS", values, values)
	return r.Number()+r.Number()+r.Number() == 0 && r.Next() == nil, r.Err()
}

// GoneClaims tells what became of claims of this worker that are gone. From a registered one nothing is taken. What was
// taken from one that was declared dead is noted for an hour.
func (w *Worker) GoneClaims(ctx context.Context, elements []string) ([]GoneClaim, error) {
	causes := make([]GoneClaim, 0, len(elements))
	for len(elements) > 0 {
		n := min(len(elements), MaxBatch)
		some, err := w.goneClaims(ctx, elements[:n])
		if err != nil {
			return nil, err
		}
		causes, elements = append(causes, some...), elements[n:]
	}
	return causes, nil
}

// goneClaims reads in one pipeline whether the worker is registered, up to which fetch Redis knows of it, and what a
// reaper took. A claim of a later fetch than that was lost with data of Redis, so its outcome cannot have counted.
func (w *Worker) goneClaims(ctx context.Context, elements []string) ([]GoneClaim, error) {
	replies, err := w.store.driver.Pipeline(ctx,
		redisconn.Call{Command: "SISMEMBER", Args: []any{w.store.keys.workers, w.ID}},
		redisconn.Call{Command: "HGET", Args: []any{w.keys.info, "n"}},
		redisconn.Call{Command: "HMGET", Args: appendTexts([]any{w.keys.taken, "n"}, elements)})
	if err != nil {
		return nil, err
	}
	values, err := redisconn.Values(replies)
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("HMGET", values, values)
	registered, reached := r.Number() == 1, toNumber(r.Text())
	taken := r.List()
	noted := taken.Text()
	if !registered {
		reached = toNumber(noted)
	}
	causes := make([]GoneClaim, len(elements))
	for i, element := range elements {
		number, _, _ := strings.Cut(element, ":")
		switch was := taken.Text(); {
		case !registered && noted == "":
			causes[i] = GoneUnknown // it was taken apart long ago, by an older version, or not yet
		case registered && toNumber(number) > reached:
			causes[i] = GoneForgotten
		case !registered && was != "", toNumber(number) > reached: // of a fetch that Redis has forgotten
			causes[i] = GoneTaken
		default:
			causes[i] = GoneCounted
		}
	}
	return causes, r.Err()
}
