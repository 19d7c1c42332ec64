package pages

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// alert is something that an operator should know. Link leads to where it can be seen or mended.
type alert struct {
	Bad  bool // it costs jobs or time; others may be what is wanted
	Text string
	Link string
}

// order has the bad ones first.
func (a alert) order() int {
	if a.Bad {
		return 0
	}
	return 1
}

// The bounds of what alerts are made from.
const (
	suspectCrashes = 2  // from so many on a job is suspected to kill its workers
	suspectsLooked = 50 // how many jobs of those that are due next, and of those that run, are looked at for that
	memoryHigh     = 80 // percent of what Redis may use
)

// alertsOf looks for all that is wrong and can be seen at little cost.
func alertsOf(ctx context.Context, s *visit.Site, queues []inspect.QueueInfo, now time.Time) ([]alert, error) {
	server, err := s.Inspector.Server(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := s.Inspector.Workers(ctx)
	if err != nil {
		return nil, err
	}
	_, all, err := s.Inspector.Paused(ctx)
	if err != nil {
		return nil, err
	}
	suspects, err := suspectsOf(ctx, s, workers)
	if err != nil {
		return nil, err
	}
	found := serverAlerts(server)
	found = append(found, queueAlerts(queues, all)...)
	found = append(found, workerAlerts(workers, now, s.StuckAfter)...)
	return append(found, suspects...), nil
}

// serverAlerts are about the loss of data, the worst first.
func serverAlerts(server inspect.ServerInfo) []alert {
	var found []alert
	add := func(is, bad bool, format string, values ...any) {
		if is {
			found = append(found, alert{Bad: bad, Text: fmt.Sprintf(format, values...), Link: "redis"})
		}
	}
	policy := server.EvictionPolicy
	add(policy != "" && policy != "noeviction", true,
		"Redis drops keys when its memory is full, and jobs with them: its maxmemory-policy is %s, set it to "+
			"noeviction", policy)
	add(server.Role == "slave", true, "This Redis is a replica: what is written to it is lost when it syncs")
	add(server.SaveFailed, true, "Redis could not save its data: what is not on disk is lost when it ends")
	add(server.Evicted > 0, false,
		"Redis has dropped %s keys for want of memory since it started: the doctor finds jobs that are lost",
		format.Count(server.Evicted))
	if used := format.Percent(int(server.MemoryUsed/1024), int(server.MemoryMax/1024)); server.MemoryMax > 0 {
		add(used >= memoryHigh, true,
			"Redis uses %d %% of the memory it may have: when that is full, nothing can be enqueued", used)
	}
	add(server.Version != "" && !server.AppendOnly, false,
		"Redis writes no append-only file: a crash loses what came after its last snapshot")
	return found
}

func queueAlerts(queues []inspect.QueueInfo, all bool) []alert {
	var found []alert
	var paused, unserved, broken []string
	for _, q := range queues {
		switch {
		case q.Problem != "":
			broken = append(broken, q.Name)
		case q.Workers == 0 && q.Waiting > 0:
			unserved = append(unserved, q.Name)
		}
		if q.Paused && !all {
			paused = append(paused, q.Name)
		}
	}
	if all {
		found = append(found, alert{Text: "All queues are paused", Link: "queues"})
	}
	for _, kind := range []struct {
		bad   bool
		text  string
		names []string
		link  string
	}{
		{true, "The keys of queues are not what they should be, the doctor mends them", broken, "redis"},
		{true, "Jobs wait that no worker serves", unserved, "queues"},
		{false, "Paused", paused, "queues"},
	} {
		if len(kind.names) == 0 {
			continue
		}
		if len(kind.names) == 1 {
			kind.link = format.Link("queue", "name", kind.names[0])
		}
		found = append(found, alert{Bad: kind.bad, Text: kind.text + ": " + format.Names(kind.names), Link: kind.link})
	}
	return found
}

func workerAlerts(workers []inspect.WorkerInfo, now time.Time, stuckAfter time.Duration) []alert {
	var found []alert
	var stuck, lost []string
	for _, w := range workers {
		if !w.Alive {
			lost = append(lost, fmt.Sprintf("%s (%d jobs)", w.ID, len(w.Running)))
		}
		for _, job := range w.Running {
			if isStuck(job, now, stuckAfter) {
				stuck = append(stuck, job.ID)
			}
		}
	}
	if len(workers) == 0 {
		found = append(found, alert{Bad: true, Text: "No worker is registered: nothing runs", Link: "workers"})
	}
	if len(lost) > 0 {
		found = append(found, alert{Bad: true, Text: "Workers without a heartbeat, whose jobs will run elsewhere: " +
			format.Names(lost), Link: "workers"})
	}
	if len(stuck) > 0 {
		found = append(found, alert{Bad: true, Text: fmt.Sprintf("Jobs that have run for over %s without a word: %s",
			format.Span(stuckAfter), format.Names(stuck)), Link: format.Link("jobs", "state", "running")})
	}
	return found
}

// isStuck tells whether a job has said nothing for so long, neither by beginning nor by a check-in.
func isStuck(job inspect.RunningJob, now time.Time, after time.Duration) bool {
	last := job.Since
	if job.CheckAt.After(last) {
		last = job.CheckAt
	}
	return !last.IsZero() && now.Sub(last) > after
}

// suspectsOf are jobs that workers died with. It looks at some of those that run and of those that are due next, where
// such wait for their turn.
func suspectsOf(ctx context.Context, s *visit.Site, workers []inspect.WorkerInfo) ([]alert, error) {
	due, err := s.Inspector.Page(ctx, inspect.PageOptions{State: work.StateScheduled, Limit: suspectsLooked})
	if err != nil {
		return nil, err
	}
	var running []string
	for _, w := range workers {
		for _, job := range w.Running[:min(len(w.Running), suspectsLooked-len(running))] {
			running = append(running, job.ID)
		}
	}
	held, err := s.Inspector.Jobs(ctx, running...)
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
		return []alert{{Bad: true, Text: "Workers have died with this job, more than once: " + found[0],
			Link: format.Link("job", "id", found[0])}}, nil
	}
	return []alert{{Bad: true, Text: "Workers have died with these jobs, more than once: " + format.Names(found),
		Link: format.Link("jobs", "state", "scheduled")}}, nil
}
