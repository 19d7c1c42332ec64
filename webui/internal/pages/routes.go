package pages

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/265d0351/work/webui/internal/visit"
)

// New makes the pages. now is the clock of this machine.
func New(of *visit.Site, now func() time.Time) *Site {
	s := &Site{Site: of, signKey: rand.Text()}
	s.watch = &watch{site: of, now: now}
	s.feed = newFeed(of, s.watch)
	s.routes = s.Routes()
	return s
}

// Routes are the pages and what their buttons do, in order.
func (s *Site) Routes() []visit.Route {
	return slices.Concat(s.pageRoutes(), s.jobRoutes(), s.flowRoutes(), s.queueRoutes(), s.workerRoutes(),
		s.scheduleRoutes(), s.alertRoutes(), s.longRoutes())
}

func (s *Site) pageRoutes() []visit.Route {
	return slices.Concat(
		[]visit.Route{
			visit.InMenu("Overview", "o", visit.View("/", "what goes on, and what is wrong", s.showOverview)),
		},
		visit.InGroup("Work",
			visit.InMenu("Queues", "q", visit.View("/queues", "all queues", s.showQueues)),
			visit.View("/queue", "one queue", s.showQueue),
			visit.InMenu("Jobs", "b", visit.View("/jobs", "jobs by state, and search", s.showJobs)),
			visit.View("/job", "one job", s.showJob),
			visit.StillView("/new-job", "the form for a new job", s.showNewJob),
			visit.View("/args", "the args of a job, all of them", s.showArgs),
			visit.InMenu("Flows", "f", visit.View("/flows", "jobs that belong together", s.showFlows)),
			visit.View("/flow", "one flow, with its graph", s.showFlow),
			visit.InMenu("Keys", "y", visit.View("/keys", "queues with keys, or the keys of one", s.showKeys)),
			visit.InMenu("Schedules", "s", visit.View("/schedules", "periodic jobs", s.showSchedules))),
		visit.InGroup("Watch",
			visit.InMenu("Errors", "e", visit.View("/errors", "failures by kind", s.showErrors)),
			visit.InMenu("History", "h", visit.View("/history", "how a job name did", s.showHistory)),
			visit.InMenu("Alerts", "l", visit.View("/alerts", "what is wrong, and who is told", s.showAlerts)),
			visit.InMenu("Audit", "a", visit.View("/audit", "who did what", s.showAudit))),
		visit.InGroup("Fleet",
			visit.InMenu("Workers", "w", visit.View("/workers", "workers and what they run", s.showWorkers)),
			visit.InMenu("Partitions", "p", visit.View("/partitions", "what is where", s.showPartitions)),
			visit.InMenu("Nodes", "n", visit.View("/nodes", "all servers of Redis", s.showNodes)),
			visit.InMenu("Redis", "r", visit.View("/redis", "the server and its data", s.showRedis))),
		[]visit.Route{
			visit.StillView("/job-log", "what is written to the log of a job, as it is written", s.showJobLog),
			visit.StillView("/finding", "what a search finds while it goes on", s.showFinding),
			visit.StillView("/live", "server-sent events for pages that are open", s.showLive),
			visit.StillView("/assets/{file}", "style, script and icon", s.showAsset),
		})
}

func (s *Site) jobRoutes() []visit.Route {
	return []visit.Route{
		visit.Action("/job-retry", "retry a job now", s.retryJob),
		visit.Action("/job-run", "run a scheduled job now", s.runJob),
		visit.Action("/job-again", "enqueue a job again that has ended", s.againJob),
		visit.Action("/job-front", "move a job to the front of its queue", s.frontJob),
		visit.Action("/job-stall", "put a job aside", s.stallJob),
		visit.Action("/job-resume", "give back a stalled job", s.resumeJob),
		visit.Action("/job-cancel", "cancel a job", s.cancelJob),
		visit.Action("/job-delete", "delete a job", s.deleteJob),
		visit.Action("/job-reschedule", "change when a job is due", s.rescheduleJob),
		visit.Action("/job-args", "give a job other args", s.changeArgs),
		visit.Action("/job-send", "send a message to a job", s.sendMessage),
		visit.Action("/enqueue", "enqueue a job", s.enqueueJob),
		visit.Action("/jobs-act", "act on the jobs that are ticked", s.actOnTicked),
	}
}

func (s *Site) queueRoutes() []visit.Route {
	return []visit.Route{
		visit.Action("/queue-pause", "pause a queue", s.pauseQueue),
		visit.Action("/queue-resume", "resume a queue", s.resumeQueue),
		visit.Action("/queues-pause", "pause all queues", s.pauseAll),
		visit.Action("/queues-resume", "end the pause of all queues", s.resumeAll),
		visit.Action("/queue-limit", "limit a queue", s.setLimit),
		visit.Action("/queue-unlimit", "take back a limit that was set by hand", s.resetLimit),
		visit.Action("/key-limit", "limit one key of a queue", s.setKeyLimit),
		visit.Action("/key-stop", "let no more jobs of a key begin", s.stopKey),
		visit.Action("/key-unlimit", "take back what was set for a key by hand", s.resetKeyLimit),
	}
}

func (s *Site) workerRoutes() []visit.Route {
	return []visit.Route{
		visit.Action("/worker-ping", "ask a worker for a sign of life", s.pingWorker),
		visit.Action("/worker-pause", "keep a worker from fetching", s.pauseWorker),
		visit.Action("/worker-resume", "end the pause of a worker", s.resumeWorker),
		visit.Action("/worker-quiet", "keep a worker from fetching for good", s.quietWorker),
		visit.Action("/worker-stop", "stop the pool of a worker", s.stopWorker),
	}
}

func (s *Site) alertRoutes() []visit.Route {
	return []visit.Route{
		visit.Action("/alert-silence", "tell nobody of an alert for a time", s.silenceAlert),
		visit.Action("/alert-hear", "tell of a silenced alert again", s.hearAlert),
	}
}

func (s *Site) scheduleRoutes() []visit.Route {
	return []visit.Route{
		visit.Action("/schedule-add", "add a schedule", s.addSchedule),
		visit.Action("/schedule-pause", "pause a schedule", s.pauseSchedule),
		visit.Action("/schedule-resume", "resume a schedule", s.resumeSchedule),
		visit.Action("/schedule-run", "run the job of a schedule now", s.runSchedule),
		visit.Action("/schedule-remove", "remove a schedule", s.removeSchedule),
	}
}

// longRoutes are those whose answers go on while they work.
func (s *Site) longRoutes() []visit.Route {
	return []visit.Route{
		visit.Action("/bulk", "act on all jobs that match, after a dry run", s.bulk),
		visit.Action("/queue-destroy", "delete a queue with all its jobs", s.destroyQueue),
		visit.Action("/queue-purge", "delete all that waits in a queue", s.purgeQueue),
		visit.Action("/doctor", "examine the namespace, and mend it", s.examine),
		visit.Action("/stop", "stop what goes on for long", s.stop),
		visit.Action("/errors-clear", "forget the counts of errors", s.clearErrors),
	}
}
