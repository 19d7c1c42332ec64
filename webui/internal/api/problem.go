package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

// Problem is an error as RFC 9457 has it. Stored and Outcome are there where something may have been done all the same.
type Problem struct {
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

func problemOf(err error) Problem {
	status := visit.StatusOf(err)
	p := Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: err.Error()}
	var enqueue *work.EnqueueError
	if errors.As(err, &enqueue) {
		p.Stored = storedOf(enqueue)
	}
	var unknown *inspect.UnknownNameError
	if errors.As(err, &unknown) {
		p.Detail += "; ?force=true goes on all the same"
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

// Fail answers a program with what went wrong.
func Fail(v *visit.Visit, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		v.Logger.Warn("dashboard: a request of the API failed", "path", v.Path, "error", err)
	}
	if p.Status == http.StatusServiceUnavailable {
		v.W.Header().Set("Retry-After", "5")
	}
	text, err := asJSON(p)
	if err != nil { // it has nothing that cannot be written
		v.Logger.Error("dashboard: a problem cannot be written", "path", v.Path, "error", err)
	}
	v.W.Header().Set("Content-Type", "application/problem+json")
	v.W.WriteHeader(p.Status)
	v.W.Write(text) //lint:ignore errcheck who asked has gone
}
