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
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// ErrNoWorker is returned where a worker of that id is needed and none is registered.
var ErrNoWorker = errors.New("no such worker is registered: it has stopped, or died and was reaped")

// WorkerInfo is a worker as Redis sees it. A pool is one in each partition, or several when its concurrency is above
// 256.
type WorkerInfo struct {
	ID          string    `json:"id"`
	Partition   int       `json:"partition,omitzero"` // in which it is registered, and has its jobs
	Host        string    `json:"host,omitzero"`
	PID         int       `json:"pid,omitzero"`
	Service     string    `json:"service,omitzero"`
	Version     string    `json:"version,omitzero"` // of the program's main module
	Go          string    `json:"go,omitzero"`
	Started     time.Time `json:"started,omitzero"` // by the clock of its machine, as Uptime is
	Concurrency int       `json:"concurrency"`
	// the same of those workers, in several partitions, that have the same processors: see TotalProcessors. "" of an
	// older program
	Group  string   `json:"group,omitzero"`
	Queues []string `json:"queues"`           // names that it serves, in order
	Labels []string `json:"labels,omitempty"` // that jobs may need: see WorkerOptions.Labels
	// its last heartbeat has not lapsed: see WorkerOptions.HeartbeatLife
	Alive   bool         `json:"alive"`
	Load    Load         `json:"load"`            // as told up to about five seconds ago
	Wanted  string       `json:"wanted,omitzero"` // "pause", "quiet" or "stop", as somebody has asked for; else ""
	Hung    int          `json:"hung,omitzero"`   // processors whose handlers run on beyond their time
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

// Processors are those of several workers.
type Processors struct {
	Busy  int `json:"busy"` // those that hold a job
	Total int `json:"total"`
}

// TotalProcessors are the processors of all workers with a heartbeat among these. Those of a pool are counted once,
// although it has a worker in each partition.
func TotalProcessors(workers []WorkerInfo) Processors {
	groups := map[string]Processors{}
	for n := range workers {
		if w := &workers[n]; w.Alive {
			of := cmp.Or(w.Group, "worker "+w.ID)
			all := groups[of]
			groups[of] = Processors{Total: max(all.Total, w.Concurrency), Busy: all.Busy + len(w.Running)}
		}
	}
	var sum Processors
	for _, of := range groups {
		sum.Total, sum.Busy = sum.Total+of.Total, sum.Busy+min(of.Busy, of.Total) // more are held, and have not begun
	}
	return sum
}

// Hangs reports whether the worker is alive and begins no job, since all of its processors are Hung.
func (w WorkerInfo) Hangs() bool { return w.Alive && w.Hung > 0 && w.Hung >= w.Concurrency }

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
	return readAll(ctx, i.served(ctx), (*view).allWorkers, addWorkers)
}

func (v *view) allWorkers(ctx context.Context) ([]WorkerInfo, error) {
	ids, err := v.store.Registered(ctx)
	if err != nil {
		return nil, fmt.Errorf("the workers cannot be read: %w", err)
	}
	infos, err := v.workers(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("the workers cannot be read: %w", err)
	}
	sortWorkers(infos)
	return infos, nil
}

func sortWorkers(infos []WorkerInfo) {
	slices.SortFunc(infos, func(a, b WorkerInfo) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), a.Started.Compare(b.Started),
			cmp.Compare(a.Partition, b.Partition), strings.Compare(a.ID, b.ID))
	})
}

func addWorkers(all *[]WorkerInfo, ones []WorkerInfo) {
	*all = append(*all, ones...)
	sortWorkers(*all)
}

// Worker returns one worker, or an error that is [ErrNoWorker].
func (i *Inspector) Worker(ctx context.Context, id string) (WorkerInfo, error) {
	infos, err := gather(ctx, i.served(ctx), func(v *view, ctx context.Context) ([]WorkerInfo, error) {
		info, err := v.worker(ctx, id)
		switch {
		case errors.Is(err, ErrNoWorker):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []WorkerInfo{info}, nil
	}, addWorkers)
	switch {
	case len(infos) > 0:
		return infos[0], nil // a worker is in one partition: nobody else knows more
	case err == nil:
		err = fmt.Errorf("worker %s cannot be read: %w", excerpt.Brief(id), ErrNoWorker)
	}
	return WorkerInfo{}, err
}

func (v *view) worker(ctx context.Context, id string) (WorkerInfo, error) {
	infos, err := v.workers(ctx, []string{id})
	if err == nil {
		err = v.registered(ctx, id)
	}
	if err == nil && len(infos) == 0 {
		err = ErrNoWorker
	}
	if err != nil {
		return WorkerInfo{}, fmt.Errorf("worker %s cannot be read: %w", excerpt.Brief(id), err)
	}
	return infos[0], nil
}

func (v *view) workers(ctx context.Context, ids []string) ([]WorkerInfo, error) {
	profiles, err := v.store.ProfileOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	now, err := v.store.Time(ctx)
	if err != nil {
		return nil, err
	}
	var infos []WorkerInfo
	for _, profile := range profiles {
		if len(profile.Info) == 0 { // it has left meanwhile
			continue
		}
		info := workerInfo(profile)
		info.AsOf, info.Partition = now, v.partition
		if info.Running, err = v.running(ctx, profile); err != nil {
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
		Go: p.Info["go"], Concurrency: number("concurrency"), Queues: namesOf(p.Queues), Alive: p.Alive,
		Wanted: p.Info["wanted"], Load: Load(loadavg.Parse(p.Info[rdb.InfoLoad])), Group: p.Info[rdb.InfoGroup],
		Hung: loadavg.ParseHung(p.Info[rdb.InfoLoad]),
	}
	if labels := p.Info[rdb.InfoLabels]; labels != "" {
		info.Labels = strings.Split(labels, ",")
	}
	if ms := number("started"); ms > 0 {
		info.Started = time.UnixMilli(int64(ms))
	}
	return info
}

// namesOf are the names of the jobs of queues, each once and in order.
func namesOf(queues []string) []string {
	names := make([]string, len(queues))
	for n, queue := range queues {
		names[n] = needs.Name(queue)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// running returns what a worker holds, oldest first.
func (v *view) running(ctx context.Context, p rdb.Profile) ([]RunningJob, error) {
	held, err := v.store.HeldBy(ctx, p.ID, p.Queues)
	if err != nil {
		return nil, err
	}
	names, err := v.namesOfHeld(ctx, held)
	if err != nil {
		return nil, err
	}
	jobs := make([]RunningJob, len(held))
	for n, h := range held {
		jobs[n] = RunningJob{ID: h.ID, Name: names[n], Since: h.Since}
		if said, _ := readCheckin(p.Said[h.ID]); said != nil {
			jobs[n].CheckIn, jobs[n].Progress, jobs[n].CheckAt = said.Message, said.Progress, said.At
		}
	}
	slices.SortFunc(jobs, func(a, b RunningJob) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return jobs, nil
}

// PauseWorker keeps one worker from fetching until [Inspector.ResumeWorker]; what it has goes on, and what waits is for
// others. In a namespace with partitions it is said to the workers of all of them that have its processors, and a
// [*PartialError] names those partitions that could not be asked: say it again when they are back.
//
// The worker hears of it at once, or if that message is lost within a second, or two in a fleet of more than
// 1,000, as of all that follows here. Without such a worker the error is [ErrNoWorker].
func (i *Inspector) PauseWorker(ctx context.Context, id string) error {
	return i.want(ctx, id, rdb.CommandPause, "paused")
}

// ResumeWorker ends the pause of a worker, in all partitions as PauseWorker. One that was made quiet stays so.
func (i *Inspector) ResumeWorker(ctx context.Context, id string) error {
	return i.want(ctx, id, rdb.CommandResume, "resumed")
}

// QuietWorker keeps one worker from fetching for the rest of its life, in all partitions as PauseWorker: the first half
// of a stop, for a process that is about to be replaced.
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
	v, err := i.command(ctx, id, command)
	if err == nil && command != rdb.CommandStop && command != rdb.CommandNow { // which end the pool
		err = i.commandOthers(ctx, v, id, command)
	}
	if err != nil {
		return fmt.Errorf("worker %s was not %s: %w", excerpt.Brief(id), what, err)
	}
	return nil
}

// commandOthers sends a command to the workers of other partitions that have the same processors as one that was told.
func (i *Inspector) commandOthers(ctx context.Context, told *view, id string, command rdb.Command) error {
	of := i.served(ctx)
	if of.single() {
		return nil
	}
	groups, err := told.store.Told(ctx, []string{id}, rdb.InfoGroup)
	if err != nil || groups[0][0] == "" {
		return err
	}
	answers := ask(ctx, of.without(told.partition), func(v *view, ctx context.Context) (struct{}, error) {
		ids, err := v.store.Registered(ctx)
		if err != nil {
			return struct{}{}, err
		}
		of, err := v.store.Told(ctx, ids, rdb.InfoGroup)
		for n := 0; n < len(of) && err == nil; n++ {
			if of[n][0] == groups[0][0] {
				_, err = v.store.SendCommand(ctx, ids[n], command)
			}
		}
		return struct{}{}, err
	})
	return incomplete(len(answers)+1, missingOf(answers))
}

// command sends a command to all partitions, of which one knows the worker, and returns that one.
func (i *Inspector) command(ctx context.Context, id string, command rdb.Command) (*view, error) {
	there, err := gather(ctx, i.served(ctx), func(v *view, ctx context.Context) ([]*view, error) {
		registered, err := v.store.SendCommand(ctx, id, command)
		if err != nil || !registered {
			return nil, err
		}
		return []*view{v}, nil
	}, func(all *[]*view, one []*view) { *all = append(*all, one...) })
	switch {
	case len(there) > 0:
		return there[0], nil
	case err == nil:
		err = ErrNoWorker
	}
	return nil, err
}

// pongLook is the time between two looks for the answer to a ping.
const pongLook = 10 * time.Millisecond

// Ping asks a worker for a sign of life and returns how long it took: milliseconds as a rule, up to about a second when
// the message was lost or a heartbeat was just under way. It waits until ctx ends. The answer comes from the worker's
// heartbeat, so it says that the process runs and reaches Redis, not that its handlers get on.
func (i *Inspector) Ping(ctx context.Context, id string) (time.Duration, error) {
	begun := time.Now()
	v, err := i.command(ctx, id, rdb.CommandPing)
	if err != nil {
		return 0, fmt.Errorf("worker %s was not pinged: %w", excerpt.Brief(id), err)
	}
	for {
		waits, err := v.store.Pinged(ctx, id)
		switch {
		case ctx.Err() != nil:
			return 0, fmt.Errorf("worker %s has not answered within %s: %w", excerpt.Brief(id), time.Since(begun).
				Round(time.Millisecond), excerpt.Error(context.Cause(ctx)))
		case err != nil:
			return 0, fmt.Errorf("worker %s was pinged, but the answer cannot be read: %w", excerpt.Brief(id), err)
		case !waits:
			return time.Since(begun), v.stillThere(ctx, id)
		}
		backoff.Pause(ctx, pongLook)
	}
}

// stillThere tells an answer from the end of the worker, with which its keys go as well.
func (v *view) stillThere(ctx context.Context, id string) error {
	if err := v.registered(ctx, id); err != nil {
		return fmt.Errorf("worker %s has not answered: %w", excerpt.Brief(id), err)
	}
	return nil
}

// registered returns ErrNoWorker for a worker that is not.
func (v *view) registered(ctx context.Context, id string) error {
	ids, err := v.store.Registered(ctx)
	if err == nil && !slices.Contains(ids, id) {
		return ErrNoWorker
	}
	return err
}

// namesOfHeld are the names of jobs that workers hold. That of one in a queue that names share is in its record.
func (v *view) namesOfHeld(ctx context.Context, held []rdb.Holding) ([]string, error) {
	names := make([]string, len(held))
	var shared []rdb.SeenJob
	var at []int
	for n, h := range held {
		names[n] = needs.Name(h.Queue)
		if len(v.by.Queues) > 0 && v.by.IsShared(names[n]) {
			shared, at = append(shared, rdb.SeenJob{JobPlace: rdb.JobPlace{ID: h.ID, Queue: h.Queue}}), append(at, n)
		}
	}
	for size := minLookup; len(shared) > 0; {
		page := shared[:min(size, len(shared))]
		_, bytes, err := v.store.Skim(ctx, page, false)
		if err != nil {
			return nil, err
		}
		for k := range page {
			names[at[k]] = cmp.Or(record.NameIn(page[k].Record), names[at[k]])
		}
		shared, at, size = shared[len(page):], at[len(page):], nextLookup(size, bytes)
	}
	return names, nil
}
