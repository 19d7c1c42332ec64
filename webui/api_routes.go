package webui

import "slices"

// apiRoutes are those below /api/. What a page can do has the same name here.
func apiRoutes() []Route {
	return slices.Concat(apiReads(), apiJobControls(), apiQueueControls(), apiOtherControls())
}

func apiReads() []Route {
	return []Route{
		view("/api/openapi.json", "the description of the API", apiDescription),
		view("/api/counts", "how many jobs are where", apiCounts),
		view("/api/queues", "all queues", apiQueues),
		view("/api/queue", "one queue", apiQueue),
		view("/api/jobs", "jobs by state, and search", apiJobs),
		view("/api/job", "one job", apiJob),
		view("/api/args", "the args of a job, all of them", apiArgs),
		view("/api/log", "the log of a job", apiLog),
		view("/api/errors", "failures by kind", apiErrors),
		view("/api/workers", "workers and what they run", apiWorkers),
		view("/api/worker", "one worker", apiWorker),
		view("/api/schedules", "periodic jobs", apiSchedules),
		view("/api/history", "what job names did", apiHistory),
		view("/api/limits", "what restrains names", apiLimits),
		view("/api/server", "the server of the data", apiServer),
	}
}

func apiJobControls() []Route {
	return []Route{
		command("/api/jobs", "enqueue a job", apiEnqueue),
		command("/api/job-retry", "retry a job now", apiRetryJob),
		command("/api/job-run", "run a scheduled job now", apiRunJob),
		command("/api/job-front", "move a job to the front of its queue", apiFrontJob),
		command("/api/job-stall", "put a job aside", apiStallJob),
		command("/api/job-resume", "give back a stalled job", apiResumeJob),
		command("/api/job-cancel", "cancel a job", apiCancelJob),
		command("/api/job-delete", "delete a job", apiDeleteJob),
		command("/api/job-reschedule", "change when a job is due", apiRescheduleJob),
		command("/api/job-args", "give a job other args", apiChangeArgs),
		command("/api/jobs-act", "act on jobs by their ids", apiActOnJobs),
		command("/api/bulk", "act on all jobs that match, or count them", apiBulk),
	}
}

func apiQueueControls() []Route {
	return []Route{
		command("/api/queue-pause", "pause a queue", apiPauseQueue),
		command("/api/queue-resume", "resume a queue", apiResumeQueue),
		command("/api/queues-pause", "pause all queues", apiPauseAll),
		command("/api/queues-resume", "end the pause of all queues", apiResumeAll),
		command("/api/queue-limit", "limit a queue", apiSetLimit),
		command("/api/queue-unlimit", "take back a limit that was set by hand", apiResetLimit),
		command("/api/queue-purge", "delete all that waits in a queue", apiPurge),
	}
}

func apiOtherControls() []Route {
	return []Route{
		command("/api/worker-ping", "ask a worker for a sign of life", apiPingWorker),
		command("/api/worker-pause", "keep a worker from fetching", apiPauseWorker),
		command("/api/worker-resume", "end the pause of a worker", apiResumeWorker),
		command("/api/worker-quiet", "keep a worker from fetching for good", apiQuietWorker),
		command("/api/worker-stop", "stop the pool of a worker", apiStopWorker),
		command("/api/schedules", "add a schedule", apiAddSchedule),
		command("/api/schedule-pause", "pause a schedule", apiPauseSchedule),
		command("/api/schedule-resume", "resume a schedule", apiResumeSchedule),
		command("/api/schedule-run", "run the job of a schedule now", apiRunSchedule),
		command("/api/schedule-remove", "remove a schedule", apiRemoveSchedule),
		command("/api/errors-clear", "forget the counts of errors", apiClearErrors),
		command("/api/doctor", "examine the namespace, and mend it", apiDoctor),
	}
}

// command is an action that says that its body is JSON, also when it has none: a form of another site cannot.
func command(path, what string, handle func(*visit) error) Route {
	return act(path, what, func(v *visit) error {
		if err := v.wantJSON(); err != nil {
			return err
		}
		return handle(v)
	})
}
