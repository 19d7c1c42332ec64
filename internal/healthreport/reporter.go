// Package healthreport tells when a piece of background work begins to fail and when it is well again. Every loop of a
// worker has a Reporter. It never decides what is done about a failure.
package healthreport

import (
	"sync"
	"time"

	"github.com/265d0351/work/event"
)

// Reporter turns the results of one piece of background work into events: one when it begins to fail, one when it is
// over, none in between however often it is tried. With its fields set it is ready; it may be used concurrently.
type Reporter struct {
	Component string // what works: "fetcher", "janitor"
	Emit      func(event.Event)

	mu       sync.Mutex
	since    time.Time
	failures int
}

// Report takes the result of a try; nil is a good one.
func (r *Reporter) Report(err error) {
	r.mu.Lock()
	before, since := r.failures, r.since
	if err != nil {
		r.failures++
		if before == 0 {
			r.since = time.Now()
		}
	} else {
		r.failures = 0
	}
	r.mu.Unlock()
	switch {
	case err != nil && before == 0:
		r.Emit(event.Trouble{Component: r.Component, Err: err})
	case err == nil && before > 0:
		r.Emit(event.TroubleOver{Component: r.Component, After: time.Since(since), Failures: before})
	}
}
