package event

import "time"

// JobRef names one attempt of a job, in events and errors.
type JobRef struct {
	ID       string
	Name     string
	SourceID int64
	Tags     []string // read-only
	Key      string   // on whose behalf it is done; empty where it has none
	Attempt  int
	Worker   string    // id of the worker that ran it
	Begun    time.Time // when the handler was called; zero when it was not
}

func (r JobRef) String() string { return r.Name + " " + r.ID }

// Ref returns r itself. The events that are about a job embed a JobRef, so that they are those that have this method.
func (r JobRef) Ref() JobRef { return r }
