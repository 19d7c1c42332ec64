package healthreport

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// Problem is one thing that is wrong with a pool. It has the fields of work.HealthProblem, which converts to it.
type Problem struct {
	Worker    string
	Component string
	Since     time.Time
	Err       error
}

func (p Problem) String() string {
	text := p.Component
	if p.Worker != "" {
		text += " of worker " + p.Worker
	}
	if !p.Since.IsZero() {
		text += ", since " + p.Since.Format(time.RFC3339)
	}
	return text + ": " + excerpt.ErrorText(p.Err)
}

// Answer answers a probe: with status 200 if there is no problem, else with 503. The body is JSON that lists them.
func Answer(w http.ResponseWriter, problems []Problem) {
	type shown struct {
		Component string     `json:"component"`
		Worker    string     `json:"worker,omitempty"`
		Since     *time.Time `json:"since,omitempty"`
		Error     string     `json:"error"`
	}
	body := struct {
		Status   string  `json:"status"`
		Problems []shown `json:"problems,omitempty"`
	}{Status: "ok"}
	status := http.StatusOK
	for _, problem := range problems {
		body.Status, status = "failed", http.StatusServiceUnavailable
		one := shown{Component: problem.Component, Worker: problem.Worker, Error: excerpt.ErrorText(problem.Err)}
		if !problem.Since.IsZero() {
			one.Since = &problem.Since
		}
		body.Problems = append(body.Problems, one)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}
