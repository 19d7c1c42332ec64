package alerts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
	"github.com/265d0351/work/webui/internal/format"
)

// Alert is something that an operator should know.
type Alert struct {
	Rule Rule   `json:"rule"`
	Bad  bool   `json:"bad"` // it costs jobs or time; others may be what is wanted
	Text string `json:"text"`
	Link string `json:"link"` // the page of a dashboard where it can be seen or mended, such as "queue?name=mail"
}

// The bounds of what alerts are made from.
const (
	suspectCrashes = 2  // from so many on a job is suspected to kill its workers
	suspectsLooked = 50 // how many jobs of those that are due next, and of those that run, are looked at for that
	memoryHigh     = 80 // percent of what Redis may use
)

// Look looks for all that is wrong and can be seen at little cost, the bad ones first. stuckAfter is for how long a job
// may run without a word before it counts as stuck.
func Look(ctx context.Context, i *inspect.Inspector, stuckAfter time.Duration) ([]Alert, error) {
	queues, err := i.Queues(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := i.Counts(ctx)
	if err != nil {
		return nil, err
	}
	return Of(ctx, i, State{Queues: queues, Now: counts.AsOf, StuckAfter: stuckAfter})
}

// State is what is known already to who looks.
type State struct {
	Queues     []inspect.QueueInfo
	Now        time.Time // by Redis' clock
	StuckAfter time.Duration
}

// Of is [Look] for who has read a part of it.
func Of(ctx context.Context, i *inspect.Inspector, s State) ([]Alert, error) {
	server, err := i.Server(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := i.Workers(ctx)
	if err != nil {
		return nil, err
	}
	_, all, err := i.Paused(ctx)
	if err != nil {
		return nil, err
	}
	suspects, err := suspectsOf(ctx, i, workers)
	if err != nil {
		return nil, err
	}
	found := OfServer(server)
	found = append(found, ofQueues(s.Queues, all)...)
	found = append(found, ofWorkers(ctx, workers, s)...)
	found = append(found, suspects...)
	slices.SortStableFunc(found, func(a, b Alert) int { return cmp.Compare(a.order(), b.order()) })
	return found, nil
}

// order has the bad ones first.
func (a Alert) order() int {
	if a.Bad {
		return 0
	}
	return 1
}

// OfServer is about the loss of data, the worst first.
func OfServer(server inspect.ServerInfo) []Alert {
	var found []Alert
	add := func(rule Rule, is, bad bool, format string, values ...any) {
		if is {
			found = append(found, Alert{Rule: rule, Bad: bad, Text: fmt.Sprintf(format, values...), Link: "redis"})
		}
	}
	policy := server.EvictionPolicy
	add(RedisEvicts, policy != "" && policy != "noeviction", true,
		"Redis drops keys when its memory is full, and jobs with them: its maxmemory-policy is %s, set it to "+
			"noeviction", policy)
	add(RedisReplica, server.Role == "slave", true,
		"This Redis is a replica: what is written to it is lost when it syncs")
	add(RedisUnsaved, server.SaveFailed, true,
		"Redis could not save its data: what is not on disk is lost when it ends")
	add(RedisEvicted, server.Evicted > 0, false,
		"Redis has dropped %s for want of memory since it started: the doctor finds jobs that are lost",
		format.Counted(server.Evicted, "key", "keys"))
	if used := format.Percent(int(server.MemoryUsed/1024), int(server.MemoryMax/1024)); server.MemoryMax > 0 {
		add(RedisFull, used >= memoryHigh, true,
			"Redis uses %d %% of the memory it may have: when that is full, nothing can be enqueued", used)
	}
	add(RedisNoLog, server.Version != "" && !server.AppendOnly, false,
		"Redis writes no append-only file: a crash loses what came after its last snapshot")
	return found
}

func ofQueues(queues []inspect.QueueInfo, all bool) []Alert {
	var found []Alert
	var paused, unserved, lacking, broken []string
	for _, q := range queues {
		switch {
		case q.Problem != "":
			broken = append(broken, q.Name)
		case q.Workers == 0 && q.Waiting > 0:
			unserved = append(unserved, q.Name)
		case slices.ContainsFunc(q.Needs, func(n inspect.QueueNeeds) bool { return n.Workers == 0 && n.Waiting > 0 }):
			lacking = append(lacking, q.Name)
		}
		if q.Paused && !all {
			paused = append(paused, q.Name)
		}
	}
	if all {
		found = append(found, Alert{Rule: AllPaused, Text: "All queues are paused", Link: "queues"})
	}
	for _, kind := range []struct {
		rule  Rule
		bad   bool
		text  string
		names []string
		link  string
	}{
		{QueuesBroken, true, "The keys of queues are not what they should be, the doctor mends them", broken, "redis"},
		{QueuesUnserved, true, "Jobs wait that no worker serves", unserved, "queues"},
		{LabelsMissing, true, "Jobs wait that need labels which no worker has", lacking, "queues"},
		{QueuesPaused, false, "Paused queues", paused, "queues"},
	} {
		if len(kind.names) == 0 {
			continue
		}
		if len(kind.names) == 1 {
			kind.link = format.Link("queue", "name", kind.names[0])
		}
		found = append(found, Alert{Rule: kind.rule, Bad: kind.bad, Text: kind.text + ": " + format.Names(kind.names),
			Link: kind.link})
	}
	return found
}

// ofWorkers knows of no others only where all partitions have answered.
func ofWorkers(ctx context.Context, workers []inspect.WorkerInfo, s State) []Alert {
	var found []Alert
	var stuck, lost, hung []string
	for _, w := range workers {
		if !w.Alive {
			lost = append(lost, w.ID+" ("+format.Counted(len(w.Running), "job", "jobs")+")")
		}
		if w.Hangs() {
			hung = append(hung, w.ID+" ("+format.Counted(w.Hung, "processor", "processors")+")")
		}
		for _, job := range w.Running {
			if Stuck(job, s.Now, s.StuckAfter) {
				stuck = append(stuck, job.ID)
			}
		}
	}
	switch {
	case len(workers) > 0:
	case partly.Whole(ctx):
		found = append(found, Alert{Rule: NoWorkers, Bad: true, Text: "No worker is registered: nothing runs",
			Link: "workers"})
	default:
		found = append(found, Alert{Rule: NoWorkers, Text: "It is not known whether anything runs: no worker is " +
			"registered in the partitions that have answered", Link: "workers"})
	}
	if len(lost) > 0 {
		found = append(found, Alert{Rule: WorkersLost, Bad: true,
			Text: "Workers without a heartbeat, whose jobs will run elsewhere: " +
				format.Names(lost), Link: "workers"})
	}
	if len(hung) > 0 {
		found = append(found, Alert{Rule: WorkersHung, Bad: true, Link: "workers",
			Text: "Workers that begin no job, since handlers hold every processor beyond their time: " +
				format.Names(hung)})
	}
	if len(stuck) > 0 {
		found = append(found, Alert{Rule: JobsStuck, Bad: true,
			Text: fmt.Sprintf("Jobs that have run for over %s without a word: %s",
				format.Span(s.StuckAfter), format.Names(stuck)), Link: format.Link("jobs", "state", "running")})
	}
	return found
}

// Stuck tells whether a job has said nothing for so long, neither by beginning nor by a check-in.
func Stuck(job inspect.RunningJob, now time.Time, after time.Duration) bool {
	last := job.Since
	if job.CheckAt.After(last) {
		last = job.CheckAt
	}
	return !last.IsZero() && now.Sub(last) > after
}

// suspectsOf are jobs that workers died with. It looks at some of those that run and of those that are due next, where
// such wait for their turn.
func suspectsOf(ctx context.Context, i *inspect.Inspector, workers []inspect.WorkerInfo) ([]Alert, error) {
	due, err := i.Page(ctx, inspect.PageOptions{State: work.StateScheduled, Limit: suspectsLooked})
	if err != nil {
		return nil, err
	}
	var running []string
	for _, w := range workers {
		for _, job := range w.Running[:min(len(w.Running), suspectsLooked-len(running))] {
			running = append(running, job.ID)
		}
	}
	held, err := i.Jobs(ctx, running...)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, job := range append(held, due.Jobs...) {
		if job != nil && len(job.Crashes) >= suspectCrashes {
			found = append(found, job.ID)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return []Alert{{Rule: JobsCrash, Bad: true,
			Text: "Workers have died with this job, more than once: " + found[0],
			Link: format.Link("job", "id", found[0])}}, nil
	}
	return []Alert{{Rule: JobsCrash, Bad: true,
		Text: "Workers have died with these jobs, more than once: " + format.Names(found),
		Link: format.Link("jobs", "state", "scheduled")}}, nil
}
