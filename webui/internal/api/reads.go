package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/causes"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

func readCounts(v *visit.Visit) error {
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, counts)
}

func readQueues(v *visit.Visit) error {
	queues, err := v.Inspector.Queues(v.Ctx())
	if err != nil {
		return err
	}
	_, all, err := v.Inspector.Paused(v.Ctx())
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
		Queues    []inspect.QueueInfo `json:"queues"`
		AllPaused bool                `json:"all_paused"` // beside those that are paused one by one
	}{listed(queues), all})
}

func readQueue(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	queue, err := v.Inspector.Queue(v.Ctx(), name)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, queue)
}

// maxKeys is how many keys one answer may have.
const maxKeys = 500

func readKeys(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	limit, err := v.Number("limit", 0, maxKeys)
	if err != nil {
		return err
	}
	page, err := v.Inspector.Keys(v.Ctx(),
		inspect.KeysOptions{Name: name, Cursor: v.Query.Get("cursor"), Limit: limit})
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, page)
}

// maxErrors is how many groups one answer may have.
const maxErrors = 1000

func readErrors(v *visit.Visit) error {
	limit, err := v.Number("limit", jobs.Errors, maxErrors)
	if err != nil {
		return err
	}
	groups, err := v.Inspector.Errors(v.Ctx(), v.Query.Get("name"))
	if err != nil {
		return err
	}
	shown := groups[:min(len(groups), limit)]
	return answer(v, http.StatusOK, struct {
		Errors []inspect.ErrorGroup `json:"errors"`
		More   int                  `json:"more"` // how many are left out
	}{listed(shown), len(groups) - len(shown)})
}

// readCauses sends what jobs fail for, over all names or of one.
func readCauses(v *visit.Visit) error {
	limit, err := v.Number("limit", jobs.Errors, maxErrors)
	if err != nil {
		return err
	}
	all, more, err := v.Deploys.Causes(v.Ctx(), v.Inspector, v.Query.Get("name"), limit)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
		Causes []causes.Cause `json:"causes"`
		More   int            `json:"more"` // how many are left out
	}{listed(all), more})
}

func readWorkers(v *visit.Visit) error {
	workers, err := v.Inspector.Workers(v.Ctx())
	if err != nil {
		return err
	}
	for i := range workers {
		workers[i] = wholeWorker(workers[i])
	}
	return answer(v, http.StatusOK, struct {
		Workers    []inspect.WorkerInfo `json:"workers"`
		Processors inspect.Processors   `json:"processors"` // of those with a heartbeat
	}{listed(workers), inspect.TotalProcessors(workers)})
}

func readStoppedWorkers(v *visit.Visit) error {
	limit, err := v.Number("limit", 100, 1000)
	if err != nil {
		return err
	}
	workers, err := v.Inspector.StoppedWorkers(v.Ctx(), limit)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
		Workers []inspect.StoppedWorker `json:"workers"`
	}{listed(workers)})
}

func readWorker(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	worker, err := v.Inspector.Worker(v.Ctx(), id)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, wholeWorker(worker))
}

// wholeWorker has no list that is missing.
func wholeWorker(w inspect.WorkerInfo) inspect.WorkerInfo {
	w.Queues, w.Running = listed(w.Queues), listed(w.Running)
	return w
}

func readLimits(v *visit.Visit) error {
	limits, err := v.Inspector.Limits(v.Ctx())
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
		Limits []inspect.LimitInfo `json:"limits"`
	}{listed(limits)})
}

func readServer(v *visit.Visit) error {
	server, err := v.Inspector.Server(v.Ctx())
	if err != nil {
		return err
	}
	topology, err := v.Inspector.Topology(v.Ctx())
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
		inspect.ServerInfo
		Topology inspect.Topology `json:"topology"`
	}{server, topology})
}

// readHistory answers for the names of the query, or for all.
func readHistory(v *visit.Visit) error {
	opts := inspect.HistoryOptions{Names: v.Query["name"]}
	switch by := v.Query.Get("by"); by {
	case "":
	case "minute":
		opts.By = time.Minute
	case "day":
		opts.By = 24 * time.Hour
	default:
		return visit.BadRequest(fmt.Sprintf("history is by minute or by day, not by %q", format.Shorten(by, 60)))
	}
	var err error
	if opts.Since, err = timeOf(v, "since"); err != nil {
		return err
	}
	if opts.Until, err = timeOf(v, "until"); err != nil {
		return err
	}
	history, err := v.Inspector.History(v.Ctx(), opts)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
		History map[string][]inspect.HistoryPoint `json:"history"`
		Bounds  []time.Duration                   `json:"bounds"` // ns, of the buckets of each histogram but the last
	}{history, inspect.HistogramBounds()})
}

// timeOf reads a time from the query; there need not be one.
func timeOf(v *visit.Visit, key string) (at time.Time, err error) {
	text := v.Query.Get(key)
	if text == "" {
		return at, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
		err = visit.BadRequest(fmt.Sprintf("?%s=%s is no time: write 2006-01-02T15:04:05Z", key,
			format.Shorten(text, 60)))
	}
	return at, err
}
