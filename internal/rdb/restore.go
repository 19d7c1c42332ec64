package rdb

import (
	"context"
	"strings"
)

var restoreScript = Load("job/restore")

// Held is a job that a worker holds, with what it needs to be known again.
type Held struct {
	Claim
	ID     string
	Record []byte
	Trail  []byte // nil when nothing happened to it yet
	Lock   string // digest of the lock that it owns; "" for none
	Kind   LockKind
}

// Restore stores jobs that the worker holds in a Redis that has lost its data: at most [MaxBatch], and about 1 MiB of
// records. number is that of the worker's last fetch. It returns how many Redis did not know.
func (w *Worker) Restore(ctx context.Context, number int64, jobs []Held) (int, error) {
	k := w.store.keys
	keys := []string{w.keys.info, k.workers, k.jobs, k.claimed, k.trail, k.unique, k.limits}
	indices := map[string]int{}
	var names, rest []any
	for _, job := range jobs {
		queue, known := indices[job.Queue]
		if !known {
			keys = append(keys, w.keys.inprocess(job.Queue), k.queue(job.Queue).running)
			names = append(names, job.Queue)
			queue = len(names)
			indices[job.Queue] = queue
		}
		n, _, _ := strings.Cut(job.Element, ":")
		rest = append(rest, queue, job.ID, job.Element, n, job.Record, job.Trail, job.Lock, string(job.Kind))
	}
	args := append([]any{w.ID, number, len(names)}, names...)
	value, err := Do(ctx, w.store.driver, Call{Script: restoreScript, Keys: keys, Args: append(args, rest...)})
	if err != nil {
		return 0, err
	}
	n, _ := value.(int64)
	return int(n), nil
}
