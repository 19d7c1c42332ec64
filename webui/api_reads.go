package webui

import (
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work"
)

func apiCounts(v *visit) error {
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, counts)
}

func apiQueues(v *visit) error {
	queues, err := v.inspector.Queues(v.ctx())
	if err != nil {
		return err
	}
	_, all, err := v.inspector.Paused(v.ctx())
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, struct {
		Queues    []work.QueueInfo `json:"queues"`
		AllPaused bool             `json:"all_paused"` // beside those that are paused one by one
	}{listed(queues), all})
}

func apiQueue(v *visit) error {
	name, err := v.target("name")
	if err != nil {
		return err
	}
	queue, err := v.inspector.Queue(v.ctx(), name)
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, queue)
}

// maxErrors is how many groups one answer may have.
const maxErrors = 1000

func apiErrors(v *visit) error {
	limit, err := v.number("limit", errorsShown, maxErrors)
	if err != nil {
		return err
	}
	groups, err := v.inspector.Errors(v.ctx(), v.query.Get("name"))
	if err != nil {
		return err
	}
	shown := groups[:min(len(groups), limit)]
	return v.answer(http.StatusOK, struct {
		Errors []work.ErrorGroup `json:"errors"`
		More   int               `json:"more"` // how many are left out
	}{listed(shown), len(groups) - len(shown)})
}

func apiWorkers(v *visit) error {
	workers, err := v.inspector.Workers(v.ctx())
	if err != nil {
		return err
	}
	for i := range workers {
		workers[i] = wholeWorker(workers[i])
	}
	return v.answer(http.StatusOK, struct {
		Workers []work.WorkerInfo `json:"workers"`
	}{listed(workers)})
}

func apiWorker(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	worker, err := v.inspector.Worker(v.ctx(), id)
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, wholeWorker(worker))
}

// wholeWorker has no list that is missing.
func wholeWorker(w work.WorkerInfo) work.WorkerInfo {
	w.Queues, w.Running = listed(w.Queues), listed(w.Running)
	return w
}

func apiLimits(v *visit) error {
	limits, err := v.inspector.Limits(v.ctx())
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, struct {
		Limits []work.LimitInfo `json:"limits"`
	}{listed(limits)})
}

func apiServer(v *visit) error {
	server, err := v.inspector.Server(v.ctx())
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, server)
}

// apiHistory answers for the names of the query, or for all.
func apiHistory(v *visit) error {
	opts := work.HistoryOptions{Names: v.query["name"]}
	switch by := v.query.Get("by"); by {
	case "":
	case "minute":
		opts.By = time.Minute
	case "day":
		opts.By = 24 * time.Hour
	default:
		return badRequest(fmt.Sprintf("history is by minute or by day, not by %q", shorten(by, 60)))
	}
	var err error
	if opts.Since, err = v.moment("since"); err != nil {
		return err
	}
	if opts.Until, err = v.moment("until"); err != nil {
		return err
	}
	history, err := v.inspector.History(v.ctx(), opts)
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, struct {
		History map[string][]work.HistoryPoint `json:"history"`
		Bounds  []time.Duration                `json:"bounds"` // ns, of the buckets of each histogram but the last
	}{history, work.HistogramBounds()})
}

// moment reads a time from the query; there need not be one.
func (v *visit) moment(key string) (at time.Time, err error) {
	text := v.query.Get(key)
	if text == "" {
		return at, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
		err = badRequest(fmt.Sprintf("?%s=%s is no time: write 2006-01-02T15:04:05Z", key, shorten(text, 60)))
	}
	return at, err
}
