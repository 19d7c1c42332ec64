package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/loadavg"
	"github.com/265d0351/work/internal/rdb"
)

// ErrNoWorker is returned where a worker of that id is needed and none is registered.
var ErrNoWorker = errors.New("no such worker is registered: it has stopped, or died and was reaped")

// WorkerInfo is a worker as Redis sees it. A pool is one, or several when its concurrency is above 256.
type WorkerInfo struct {
	ID          string    `json:"id"`
	Host        string    `json:"host,omitzero"`
	PID         int       `json:"pid,omitzero"`
	Service     string    `json:"service,omitzero"`
	Version     string    `json:"version,omitzero"` // of the program's main module
	Go          string    `json:"go,omitzero"`
	Started     time.Time `json:"started,omitzero"` // by the clock of its machine, as Uptime is
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues"` // names that it serves, in order
	// its last heartbeat has not lapsed: see WorkerOptions.HeartbeatLife
	Alive   bool         `json:"alive"`
	Load    Load         `json:"load"`            // as told up to about five seconds ago
	Wanted  string       `json:"wanted,omitzero"` // "pause", "quiet" or "stop", as somebody has asked for; else ""
	Running []RunningJob `json:"running"`         // oldest first
	AsOf    time.Time    `json:"as_of"`           // Redis' clock, as all times here
}

// Load is how many processors were busy on average over the last 1, 5 and 15 minutes: as the load of a Unix system, an
// exponentially damped average that begins with 0. A worker samples it with each heartbeat, and one of an older program
// tells none, which is 0 too.
type Load struct {
	One     float64 `json:"one"`
	Five    float64 `json:"five"`
	Fifteen float64 `json:"fifteen"`
}

// TotalLoad is the load of all workers with a heartbeat among these.
func TotalLoad(workers []WorkerInfo) Load {
	var all Load
	for n := range workers {
		if w := &workers[n]; w.Alive {
			all.One, all.Five, all.Fifteen = all.One+w.Load.One, all.Five+w.Load.Five, all.Fifteen+w.Load.Fifteen
		}
	}
	return all
}

// Uptime is for how long the worker runs; 0 where it did not tell when it began.
func (w WorkerInfo) Uptime() time.Duration { return since(w.Started, w.AsOf) }

// RunningJob is a job that a worker holds.
type RunningJob struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Since    time.Time       `json:"since,omitzero"`     // when it was fetched
	CheckIn  string          `json:"check_in,omitzero"`  // its last message; "" before the first
	Progress json.RawMessage `json:"progress,omitempty"` // JSON, as told with that; nil where it tells none
	CheckAt  time.Time       `json:"check_at,omitzero"`  // when that came; zero before the first
}

// Age is for how long the worker holds the job, at the moment asOf, which is as a rule that of the [WorkerInfo].
func (j RunningJob) Age(asOf time.Time) time.Duration { return since(j.Since, asOf) }

func since(begin, now time.Time) time.Duration {
	if begin.IsZero() {
		return 0
	}
	return max(0, now.Sub(begin))
}

// Workers returns the workers that are registered, by host, process and start.
func (i *Inspector) Workers(ctx context.Context) ([]WorkerInfo, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	ids, err := i.store.Registered(ctx)
	if err != nil {
		return nil, fmt.Errorf("the workers cannot be read: %w", err)
	}
	infos, err := i.workers(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("the workers cannot be read: %w", err)
	}
	slices.SortFunc(infos, func(a, b WorkerInfo) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), a.Started.Compare(b.Started),
			strings.Compare(a.ID, b.ID))
	})
	return infos, nil
}

// Worker returns one worker, or an error that is [ErrNoWorker].
func (i *Inspector) Worker(ctx context.Context, id string) (WorkerInfo, error) {
	if i.unusable != nil {
		return WorkerInfo{}, i.unusable
	}
	infos, err := i.workers(ctx, []string{id})
	if err == nil {
		err = i.registered(ctx, id)
	}
	if err == nil && len(infos) == 0 {
		err = ErrNoWorker
	}
	if err != nil {
		return WorkerInfo{}, fmt.Errorf("worker %s cannot be read: %w", excerpt.Brief(id), err)
	}
	return infos[0], nil
}

func (i *Inspector) workers(ctx context.Context, ids []string) ([]WorkerInfo, error) {
	profiles, err := i.store.ProfileOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	now, err := i.store.Time(ctx)
	if err != nil {
		return nil, err
	}
	var infos []WorkerInfo
	for _, profile := range profiles {
		if len(profile.Info) == 0 { // it has left meanwhile
			continue
		}
		info := workerInfo(profile)
		info.AsOf = now
		if info.Running, err = i.running(ctx, profile); err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func workerInfo(p rdb.Profile) WorkerInfo {
	number := func(field string) int {
		n, _ := strconv.Atoi(p.Info[field]) // what cannot be read is shown as 0
		return n
	}
	info := WorkerInfo{
		ID: p.ID, Host: p.Info["host"], PID: number("pid"), Service: p.Info["service"], Version: p.Info["version"],
		Go:          p.Info["go"],
		Concurrency: number("concurrency"), Queues: p.Queues, Alive: p.Alive, Wanted: p.Info["wanted"],
		Load: Load(loadavg.Parse(p.Info[rdb.InfoLoad])),
	}
	if ms := number("started"); ms > 0 {
		info.Started = time.UnixMilli(int64(ms))
	}
	slices.Sort(info.Queues)
	return info
}

// running returns what a worker holds, oldest first.
func (i *Inspector) running(ctx context.Context, p rdb.Profile) ([]RunningJob, error) {
	held, err := i.store.HeldBy(ctx, p.ID, p.Queues)
	if err != nil {
		return nil, err
	}
	jobs := make([]RunningJob, len(held))
	for n, h := range held {
		jobs[n] = RunningJob{ID: h.ID, Name: h.Queue, Since: h.Since}
		if said := readCheckin(p.Said[h.ID]); said != nil {
			jobs[n].CheckIn, jobs[n].Progress, jobs[n].CheckAt = said.Message, said.Progress, said.At
		}
	}
	slices.SortFunc(jobs, func(a,
		b RunningJob) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return jobs, nil
}

// PauseWorker keeps one worker from fetching until [Inspector.ResumeWorker]; what it has goes on, and what waits is for
// others. The worker hears of it at once, or if that message is lost within a second, or two in a fleet of more than
// 1,000, as of all that follows here. Without such a worker the error is [ErrNoWorker].
func (i *Inspector) PauseWorker(ctx context.Context, id string) error {
	return i.want(ctx, id, rdb.CommandPause, "paused")
}

// ResumeWorker ends the pause of a worker. One that was made quiet stays so.
func (i *Inspector) ResumeWorker(ctx context.Context, id string) error {
	return i.want(ctx, id, rdb.CommandResume, "resumed")
}

// QuietWorker keeps one worker from fetching for the rest of its life: the first half of a stop, for a process that is
// about to be replaced.
func (i *Inspector) QuietWorker(ctx context.Context, id string) error {
	return i.want(ctx, id, rdb.CommandQuiet, "made quiet")
}

// StopWorker stops the pool that the worker belongs to, as [work.WorkerPool.Stop] does without a deadline: Run returns.
// It does not wait for that. It cannot be taken back.
func (i *Inspector) StopWorker(ctx context.Context, id string) error {
	return i.want(ctx, id, rdb.CommandStop, "stopped")
}

// StopWorkerNow stops the pool that the worker belongs to at once, as [work.WorkerPool.StopNow] does: handlers have a
// second to return, and jobs go back to their queues. It does not wait for that, and makes a stop under way hurry. A
// worker of an older program stops as by StopWorker.
func (i *Inspector) StopWorkerNow(ctx context.Context, id string) error {
	return i.want(ctx, id, rdb.CommandNow, "stopped")
}

func (i *Inspector) want(ctx context.Context, id string, command rdb.Command, what string) error {
	if i.unusable != nil {
		return i.unusable
	}
	registered, err := i.store.SendCommand(ctx, id, command)
	if err == nil && !registered {
		err = ErrNoWorker
	}
	if err != nil {
		return fmt.Errorf("worker %s was not %s: %w", excerpt.Brief(id), what, err)
	}
	return nil
}

// pongLook is the time between two looks for the answer to a ping.
const pongLook = 10 * time.Millisecond

// Ping asks a worker for a sign of life and returns how long it took: milliseconds as a rule, up to about a second when
// the message was lost or a heartbeat was just under way. It waits until ctx ends. The answer comes from the worker's
// heartbeat, so it says that the process runs and reaches Redis, not that its handlers get on.
func (i *Inspector) Ping(ctx context.Context, id string) (time.Duration, error) {
	begun := time.Now()
	if err := i.want(ctx, id, rdb.CommandPing, "pinged"); err != nil {
		return 0, err
	}
	for {
		waits, err := i.store.Pinged(ctx, id)
		switch {
		case ctx.Err() != nil:
			return 0, fmt.Errorf("worker %s has not answered within %s: %w", excerpt.Brief(id), time.Since(begun).
				Round(time.Millisecond), excerpt.Error(context.Cause(ctx)))
		case err != nil:
			return 0, fmt.Errorf("worker %s was pinged, but the answer cannot be read: %w", excerpt.Brief(id), err)
		case !waits:
			return time.Since(begun), i.stillThere(ctx, id)
		}
		backoff.Pause(ctx, pongLook)
	}
}

// stillThere tells an answer from the end of the worker, with which its keys go as well.
func (i *Inspector) stillThere(ctx context.Context, id string) error {
	if err := i.registered(ctx, id); err != nil {
		return fmt.Errorf("worker %s has not answered: %w", excerpt.Brief(id), err)
	}
	return nil
}

// registered returns ErrNoWorker for a worker that is not.
func (i *Inspector) registered(ctx context.Context, id string) error {
	ids, err := i.store.Registered(ctx)
	if err == nil && !slices.Contains(ids, id) {
		return ErrNoWorker
	}
	return err
}
