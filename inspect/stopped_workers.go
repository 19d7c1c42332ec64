package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/stopped"
)

// Why a worker is gone, as [StoppedWorker] says it.
const (
	WorkerStopped        = stopped.Stopped // its program stopped it
	WorkerStoppedByOrder = stopped.Ordered // somebody did, by [Inspector.StopWorker], the command line, ...
	WorkerRetired        = stopped.Retired // its pool had nothing for it to do
	WorkerIdle           = stopped.Idle    // its pool had nothing to do for as long as its IdleTimeout, and stopped
	WorkerDied           = stopped.Died    // its heartbeat had lapsed, and others took its jobs back
	WorkerFenced         = stopped.Fenced  // it was taken for dead and was alive: it went on under another id
)

// StoppedWorker is a worker that has stopped, or died and was taken apart.
type StoppedWorker struct {
	ID string `json:"id"`
	// the partition in which it was registered: of each a worker of its own is listed, also of one pool
	Partition int       `json:"partition,omitzero"`
	Why       string    `json:"why"` // WorkerStopped, ... or what a newer program says
	Host      string    `json:"host,omitzero"`
	PID       int       `json:"pid,omitzero"`
	Service   string    `json:"service,omitzero"`
	Version   string    `json:"version,omitzero"`
	Go        string    `json:"go,omitzero"`
	Started   time.Time `json:"started,omitzero"` // by the clock of its machine
	Ended     time.Time `json:"ended"`            // by Redis' clock; of one that died about when that was
	// attempts whose outcome Redis has acknowledged. One that died had told of them up to about five seconds before
	Ran AttemptCounts `json:"ran"`
	// the same of each name, most first, at most 20, and how many names are left out
	Names        []NameCounts `json:"names"`
	NamesLeftOut int          `json:"names_left_out,omitzero"`
	// how many jobs it held when it died, and the 20 that it had fetched first; others have run them since. Also what
	// it had fetched and not begun. A name is "" where it is not known
	Held     int       `json:"held,omitzero"`
	HeldJobs []HeldJob `json:"held_jobs,omitempty"`
}

// Uptime is for how long it ran; 0 where it did not tell when it began.
func (w StoppedWorker) Uptime() time.Duration { return since(w.Started, w.Ended) }

// AttemptCounts are attempts by how they ended. One that ended with an error and was the last counts as failed, and its
// job as dead.
type AttemptCounts struct {
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"` // with an error or a panic, whatever became of the job
	Dead   int64 `json:"dead"`   // of those: jobs that died, also before they began
}

// NameCounts are those of one name of jobs.
type NameCounts struct {
	Name string `json:"name"`
	AttemptCounts
}

// HeldJob is a job that a worker held when it died.
type HeldJob struct {
	ID   string `json:"id"`
	Name string `json:"name,omitzero"`
}

// StoppedWorkers returns workers that have stopped or died, the last one first: at most so many, and 100 where limit is
// 0 or less. Redis keeps the last 1,000 of each partition, for seven days. Those that never began are not among them,
// nor those of programs that do not know of the list yet.
func (i *Inspector) StoppedWorkers(ctx context.Context, limit int) ([]StoppedWorker, error) {
	if limit <= 0 {
		limit = 100
	}
	return readAll(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) ([]StoppedWorker, error) {
		return v.stoppedWorkers(ctx, limit)
	}, func(all *[]StoppedWorker, ones []StoppedWorker) {
		*all = append(*all, ones...)
		slices.SortStableFunc(*all, func(a, b StoppedWorker) int { return b.Ended.Compare(a.Ended) })
		*all = (*all)[:min(limit, len(*all))]
	})
}

func (v *view) stoppedWorkers(ctx context.Context, limit int) ([]StoppedWorker, error) {
	listed, err := v.store.Stopped(ctx, min(limit, rdb.MaxStopped))
	if err != nil {
		return nil, fmt.Errorf("the workers that have stopped cannot be read: %w", err)
	}
	workers := make([]StoppedWorker, 0, len(listed))
	for _, l := range listed {
		told, err := stopped.Decode(l.Text)
		if err != nil { // it was removed meanwhile
			continue
		}
		worker := stoppedWorker(l, told)
		worker.Partition = v.partition
		workers = append(workers, worker)
	}
	return workers, nil
}

func stoppedWorker(listed rdb.StoppedWorker, told stopped.Worker) StoppedWorker {
	w := StoppedWorker{ID: listed.ID, Why: told.Why, Host: told.Host, PID: told.PID, Service: told.Service,
		Version: told.Version, Go: told.Go, Started: timeOf(told.Started), Ended: listed.At,
		Ran: AttemptCounts(told.Ran.Counts), Names: make([]NameCounts, len(told.Ran.Names)),
		NamesLeftOut: told.Ran.LeftOut, Held: told.Held.Jobs}
	if told.Ended > 0 {
		w.Ended = timeOf(told.Ended)
	}
	for n, of := range told.Ran.Names {
		w.Names[n] = NameCounts{of.Name, AttemptCounts(of.Counts)}
	}
	for _, job := range told.Held.Some {
		w.HeldJobs = append(w.HeldJobs, HeldJob(job))
	}
	return w
}
