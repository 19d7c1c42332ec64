package webui

import (
	"context"
	"errors"
	"net/http"

	"github.com/265d0351/work"
)

// problem is an error as RFC 9457 has it. Stored and Outcome are there where something may have been done all the same.
type problem struct {
	Type    string `json:"type"` // about:blank, so Title is that of the status
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Stored  string `json:"stored,omitempty"`  // of an enqueue: "no", "yes" or "unknown"
	Outcome any    `json:"outcome,omitempty"` // how far it got
}

// unfinished is the error of what got so far and not to its end.
type unfinished struct {
	error
	outcome any
}

func (e *unfinished) Unwrap() error { return e.error }

func problemOf(err error) problem {
	status := statusOf(err)
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: err.Error()}
	var enqueue *work.EnqueueError
	if errors.As(err, &enqueue) {
		p.Stored = storedOf(enqueue)
	}
	var part *unfinished
	if errors.As(err, &part) {
		p.Outcome = part.outcome
	}
	return p
}

func storedOf(e *work.EnqueueError) string {
	switch {
	case len(e.Stored) > 0:
		return "yes"
	case len(e.Unknown) > 0:
		return "unknown"
	}
	return "no"
}

// failAPI answers a program.
func (v *visit) failAPI(err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		v.options.Logger.Warn("dashboard: a request of the API failed", "path", v.path, "error", err)
	}
	if p.Status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "5")
	}
	text, err := asJSON(p)
	if err != nil { // it has nothing that cannot be written
		v.options.Logger.Error("dashboard: a problem cannot be written", "path", v.path, "error", err)
	}
	v.w.Header().Set("Content-Type", "application/problem+json")
	v.w.WriteHeader(p.Status)
	v.w.Write(text) //lint:ignore errcheck who asked has gone
}
