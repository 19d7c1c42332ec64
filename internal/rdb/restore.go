package rdb

import (
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

var restoreScript = redisconn.Load("job/restore")

const (
	// MaxRestored is how many jobs one call stores again: each may be looked for in a queue.
	MaxRestored = 100
	// restoreReach is how far from the front of a queue a job is looked for that may wait again.
	restoreReach = 10_000
)

// FreedLock is the kind of a lock that a job has freed when it began.
const FreedLock LockKind = "-"

// Held is a job that a worker holds, with what it needs to be known again.
type Held struct {
	Claim
	ID     string
	Record []byte
	Trail  []byte   // nil when nothing happened to it yet
	Lock   string   // digest of the lock that it owns; "" for none
	Kind   LockKind // or FreedLock
	Turn   Turn     // the zero value where it has no key
}

// Restored is what became of held jobs.
type Restored struct {
	Stored    int      // Redis did not know them
	Reclaimed int      // they waited again
	Known     int      // they are claimed so: by an earlier call
	Others    []string // elements of those that belong to somebody else by now, or were run by somebody else since
}

// Restore makes a Redis that has lost data know again what the worker holds: at most [MaxRestored] jobs, and about
// 1 MiB of records. number is that of the worker's last fetch; that of the call must be larger than those of all calls
// before. A call that was not answered is to be sent again under its number, with all or some of its jobs, before any
// other: if it was executed before, none is stored that has ended since. The state is Stale for a call that is
// overtaken, and Fenced where the worker is not registered; then, and after a refusal, nothing was done.
func (w *Worker) Restore(ctx context.Context, number, call int64, jobs []Held) (Restored, State, error) {
	k := w.store.keys
	keys := []string{w.keys.info, k.workers, k.jobs, k.claimed, k.trail, k.unique, k.limits, k.names,
		k.scheduled, k.retry, k.morgue, k.stalled}
	keys = k.lines(keys)
	indices := map[string]int{}
	var names, rest []any
	for _, job := range jobs {
		queue, known := indices[job.Queue]
		if !known {
			of := k.queue(job.Queue)
			keys = append(keys, w.keys.inprocess(job.Queue), of.running, of.queue)
			names = append(names, job.Queue)
			queue = len(names)
			indices[job.Queue] = queue
		}
		rest = append(rest, queue, job.ID, job.Element, job.Number(), job.Record, job.Trail, job.Lock, string(job.Kind),
			job.Turn.text())
	}
	args := append([]any{w.ID, number, call, restoreReach, len(names)}, names...)
	value, err := redisconn.Do(ctx, w.store.driver,
		redisconn.Call{Script: restoreScript, Keys: keys, Args: append(args, rest...)})
	if err != nil {
		return Restored{}, "", err
	}
	r := redisconn.Read("job/restore", value)
	state := State(r.Text())
	if state != Registered {
		return Restored{}, state, r.Err()
	}
	restored := Restored{Stored: int(r.Number()), Reclaimed: int(r.Number()), Known: int(r.Number()), Others: r.Texts()}
	return restored, state, r.Err()
}
