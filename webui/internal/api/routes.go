package api

import (
	"slices"

	"github.com/265d0351/work/webui/internal/visit"
)

// Routes are those below /api/. What a page can do has the same name here. A query of which something would be dropped
// is refused for all of them.
func Routes() []visit.Route {
	routes := slices.Concat(reads(), jobControls(), flowControls(), queueControls(), otherControls())
	for n := range routes {
		handle := routes[n].Handle
		routes[n].Handle = func(v *visit.Visit) error {
			if err := v.Whole(); err != nil {
				return err
			}
			return handle(v)
		}
	}
	return routes
}

func reads() []visit.Route {
	return []visit.Route{
		visit.StillView("/api/openapi.json", "the description of the API", readDescription),
		visit.View("/api/counts", "how many jobs are where", readCounts),
		visit.View("/api/queues", "all queues", readQueues),
		visit.View("/api/queue", "one queue", readQueue),
		visit.View("/api/keys", "the keys of a queue, the noisiest first", readKeys),
		visit.View("/api/jobs", "jobs by state, and search", readJobs),
		visit.View("/api/search", "a search that goes on to the end", search),
		visit.View("/api/names", "the names of jobs", readNames),
		visit.View("/api/job", "one job", readJob),
		visit.View("/api/args", "the args of a job, all of them", readArgs),
		visit.View("/api/log", "the log of a job", readLog),
		visit.View("/api/steps", "how far a job came", readSteps),
		visit.View("/api/flows", "flows, those first that were stored last", readFlows),
		visit.View("/api/flow", "one flow", readFlow),
		visit.View("/api/flow-members", "the members of a flow, page by page", readFlowMembers),
		visit.View("/api/flow-member", "one member of a flow, and who waits for it", readFlowMember),
		visit.View("/api/flow-graph", "what waits for what in a flow", readFlowGraph),
		visit.View("/api/errors", "failures by kind", readErrors),
		visit.View("/api/causes", "failures by cause, over all names", readCauses),
		visit.View("/api/workers", "workers and what they run", readWorkers),
		visit.View("/api/stopped-workers", "workers that have stopped or died", readStoppedWorkers),
		visit.View("/api/worker", "one worker", readWorker),
		visit.View("/api/schedules", "periodic jobs", readSchedules),
		visit.View("/api/history", "what job names did", readHistory),
		visit.View("/api/limits", "what restrains names", readLimits),
		visit.View("/api/alerts", "what is wrong, and what was told of it", readAlerts),
		visit.View("/api/audit", "who did what", readAudit),
		visit.View("/api/server", "the server of the data", readServer),
	}
}

func jobControls() []visit.Route {
	return []visit.Route{
		command("/api/jobs", "enqueue a job", enqueue),
		command("/api/job-retry", "retry a job now", retryJob),
		command("/api/job-run", "run a scheduled job now", runJob),
		command("/api/job-again", "enqueue a job again that has ended", againJob),
		command("/api/job-front", "move a job to the front of its queue", frontJob),
		command("/api/job-stall", "put a job aside", stallJob),
		command("/api/job-resume", "give back a stalled job", resumeJob),
		command("/api/job-cancel", "cancel a job", cancelJob),
		command("/api/job-delete", "delete a job", deleteJob),
		command("/api/job-reschedule", "change when a job is due", rescheduleJob),
		command("/api/job-args", "give a job other args", changeArgs),
		command("/api/job-send", "send a message to a job", sendMessage),
		command("/api/job-forget-steps", "have a job do its steps again", forgetSteps),
		command("/api/jobs-act", "act on jobs by their ids", actOnJobs),
		command("/api/bulk", "act on all jobs that match, or count them", bulk),
	}
}

func flowControls() []visit.Route {
	return []visit.Route{
		command("/api/flow-cancel", "cancel a flow", cancelFlow),
		command("/api/flow-pause", "keep members of a flow from being put into their queues", pauseFlow),
		command("/api/flow-resume", "let a paused flow go on", resumeFlow),
		command("/api/flow-retry", "run the members of a flow again that are not done", retryFlow),
		command("/api/flow-delete", "remove a flow that has ended", deleteFlow),
	}
}

func queueControls() []visit.Route {
	return []visit.Route{
		command("/api/queue-pause", "pause a queue", pauseQueue),
		command("/api/queue-resume", "resume a queue", resumeQueue),
		command("/api/queues-pause", "pause all queues", pauseAll),
		command("/api/queues-resume", "end the pause of all queues", resumeAll),
		command("/api/queue-limit", "limit a queue", setLimit),
		command("/api/queue-unlimit", "take back a limit that was set by hand", resetLimit),
		command("/api/key-limit", "limit one key of a queue", setKeyLimit),
		command("/api/key-stop", "let no more jobs of a key begin", stopKey),
		command("/api/key-unlimit", "take back what was set for a key by hand", resetKeyLimit),
		command("/api/queue-destroy", "delete a queue with all its jobs", destroyQueue),
		command("/api/queue-purge", "delete all that waits in a queue", purge),
	}
}

func otherControls() []visit.Route {
	return []visit.Route{
		command("/api/worker-ping", "ask a worker for a sign of life", pingWorker),
		command("/api/worker-pause", "keep a worker from fetching", pauseWorker),
		command("/api/worker-resume", "end the pause of a worker", resumeWorker),
		command("/api/worker-quiet", "keep a worker from fetching for good", quietWorker),
		command("/api/worker-stop", "stop the pool of a worker", stopWorker),
		command("/api/schedules", "add a schedule", addSchedule),
		command("/api/schedule-pause", "pause a schedule", pauseSchedule),
		command("/api/schedule-resume", "resume a schedule", resumeSchedule),
		command("/api/schedule-run", "run the job of a schedule now", runSchedule),
		command("/api/schedule-remove", "remove a schedule", removeSchedule),
		command("/api/alert-silence", "tell nobody of an alert for a time", silenceAlert),
		command("/api/alert-hear", "tell of a silenced alert again", hearAlert),
		command("/api/errors-clear", "forget the counts of errors", clearErrors),
		command("/api/doctor", "examine the namespace, and mend it", examine),
	}
}

// command is an action that says that its body is JSON, also when it has none: a form of another site cannot. A body
// that nobody reads must be UTF-8, too.
func command(path, what string, handle func(*visit.Visit) error) visit.Route {
	return visit.Action(path, what, func(v *visit.Visit) error {
		if err := wantJSON(v); err != nil {
			return err
		}
		if _, err := bodyOf(v); err != nil {
			return err
		}
		return handle(v)
	})
}
