package webui

import (
	"net/http"
	"slices"
)

// Route is one thing that a dashboard answers.
type Route struct {
	Method string // GET or POST; GET includes HEAD
	Path   string // below the prefix; a part in braces is any
	Role   Role   // that it needs
	Menu   string // its entry in the menu; "" has none
	Key    string // that leads there in a browser
	What   string // it is for, in words

	handle func(*visit) error
}

// Acts tells whether the route changes something, or costs so much that only operators may have it done.
func (r Route) Acts() bool { return r.Method == http.MethodPost }

// Routes returns all of them, in order.
func Routes() []Route { return slices.Clone(routes) }

// routes is the table that the mux is made from. It is filled when the program starts, since handlers look into it.
var routes []Route

func init() {
	routes = slices.Concat(pageRoutes(), jobRoutes(), queueRoutes(), workerRoutes(), scheduleRoutes(), longRoutes(),
		apiRoutes())
}

func view(path, what string, handle func(*visit) error) Route {
	return Route{Method: http.MethodGet, Path: path, Role: RoleViewer, What: what, handle: handle}
}

// menu puts a page into the menu.
func menu(entry, key string, page Route) Route {
	page.Menu, page.Key = entry, key
	return page
}

func act(path, what string, handle func(*visit) error) Route {
	return Route{Method: http.MethodPost, Path: path, Role: RoleOperator, What: what, handle: handle}
}

func pageRoutes() []Route {
	return []Route{
		menu("Overview", "o", view("/", "what goes on, and what is wrong", showOverview)),
		menu("Queues", "q", view("/queues", "all queues", showQueues)),
		view("/queue", "one queue", showQueue),
		menu("Jobs", "j", view("/jobs", "jobs by state, and search", showJobs)),
		view("/job", "one job", showJob),
		view("/args", "the args of a job, all of them", showArgs),
		menu("Errors", "e", view("/errors", "failures by kind", showErrors)),
		menu("Workers", "w", view("/workers", "workers and what they run", showWorkers)),
		menu("Schedules", "s", view("/schedules", "periodic jobs", showSchedules)),
		menu("History", "h", view("/history", "how a job name did", showHistory)),
		menu("Redis", "r", view("/redis", "the server and its data", showRedis)),
		view("/live", "server-sent events for pages that are open", showLive),
		view("/assets/{file}", "style, script and icon", showAsset),
	}
}

func jobRoutes() []Route {
	return []Route{
		act("/job-retry", "retry a job now", retryJob),
		act("/job-run", "run a scheduled job now", runJob),
		act("/job-front", "move a job to the front of its queue", frontJob),
		act("/job-stall", "put a job aside", stallJob),
		act("/job-resume", "give back a stalled job", resumeJob),
		act("/job-cancel", "cancel a job", cancelJob),
		act("/job-delete", "delete a job", deleteJob),
		act("/job-reschedule", "change when a job is due", rescheduleJob),
		act("/job-args", "give a job other args", changeArgs),
		act("/jobs-act", "act on the jobs that are ticked", actOnTicked),
	}
}

func queueRoutes() []Route {
	return []Route{
		act("/queue-pause", "pause a queue", pauseQueue),
		act("/queue-resume", "resume a queue", resumeQueue),
		act("/queues-pause", "pause all queues", pauseAll),
		act("/queues-resume", "end the pause of all queues", resumeAll),
		act("/queue-limit", "limit a queue", setLimit),
		act("/queue-unlimit", "take back a limit that was set by hand", resetLimit),
	}
}

func workerRoutes() []Route {
	return []Route{
		act("/worker-ping", "ask a worker for a sign of life", pingWorker),
		act("/worker-pause", "keep a worker from fetching", pauseWorker),
		act("/worker-resume", "end the pause of a worker", resumeWorker),
		act("/worker-quiet", "keep a worker from fetching for good", quietWorker),
		act("/worker-stop", "stop the pool of a worker", stopWorker),
	}
}

func scheduleRoutes() []Route {
	return []Route{
		act("/schedule-pause", "pause a schedule", pauseSchedule),
		act("/schedule-resume", "resume a schedule", resumeSchedule),
		act("/schedule-run", "run the job of a schedule now", runSchedule),
		act("/schedule-remove", "remove a schedule", removeSchedule),
	}
}

// longRoutes are those whose answers go on while they work.
func longRoutes() []Route {
	return []Route{
		act("/bulk", "act on all jobs that match, after a dry run", bulk),
		act("/queue-purge", "delete all that waits in a queue", purgeQueue),
		act("/doctor", "examine the namespace, and mend it", examine),
		act("/errors-clear", "forget the counts of errors", clearErrors),
	}
}

// muxPath is the path as the mux knows it: "/" alone is the page, not all below it.
func muxPath(path string) string {
	if path == "/" {
		return "/{$}"
	}
	return path
}
