package demo

import (
	"sync"
	"time"
)

// What a mark tells.
const (
	begun  = "begun"  // a run of a job began
	ended  = "ended"  // it returned; Err is its error
	lost   = "lost"   // the job will give no result; Err is the reason
	holds  = "holds"  // no run of this process ends until it is told to go on
	reaped = "reaped" // a dead worker's jobs were put back; Count is how many
)

// mark is one entry of the log of runs. Child processes send theirs as lines of JSON.
type mark struct {
	What    string    `json:"what"`
	ID      string    `json:"id,omitempty"`
	Name    string    `json:"name,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	At      time.Time `json:"at"`
	Err     string    `json:"err,omitempty"`
	Count   int       `json:"count,omitempty"`
	Process int       `json:"-"` // number of the process, known to who reads its lines; 0 is this one
}

// run is one time that a handler was called.
type run struct {
	process int
	begun   time.Time
	ended   time.Time // zero while it goes on, and for ever where its process died
	err     string
}

// runLog keeps every run of every job by id. All methods may be called concurrently.
type runLog struct {
	mu      sync.Mutex
	runs    map[string][]run
	fresh   []string          // ids with a run that succeeded, not yet taken
	lost    map[string]string // id -> why it will give no result
	running map[int]map[string]bool
	holder  int // the first process that held its runs; 0 while there is none
	last    time.Time
	changed chan struct{} // holds one element when there is news
}

func newRunLog() *runLog {
	return &runLog{
		runs:    map[string][]run{},
		lost:    map[string]string{},
		running: map[int]map[string]bool{},
		last:    time.Now(),
		changed: make(chan struct{}, 1),
	}
}

// add writes m down.
func (l *runLog) add(m mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	switch m.What {
	case begun:
		l.runs[m.ID] = append(l.runs[m.ID], run{process: m.Process, begun: m.At})
		if l.running[m.Process] == nil {
			l.running[m.Process] = map[string]bool{}
		}
		l.running[m.Process][m.ID] = true
	case ended:
		l.end(m)
	case holds:
		if l.holder == 0 {
			l.holder = m.Process
		}
	case lost:
		l.lost[m.ID] = m.Err
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *runLog) end(m mark) {
	delete(l.running[m.Process], m.ID)
	runs := l.runs[m.ID]
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].process == m.Process && runs[i].ended.IsZero() {
			runs[i].ended, runs[i].err = m.At, m.Err
			break
		}
	}
	if m.Err == "" {
		l.fresh = append(l.fresh, m.ID)
	}
}

// takeFresh returns the ids of runs that succeeded since it was last called. Their results are in Redis now or soon.
func (l *runLog) takeFresh() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := l.fresh
	l.fresh = nil
	return ids
}

// takeLost returns why which jobs will give no result, each once.
func (l *runLog) takeLost() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.lost
	l.lost = map[string]string{}
	return lost
}

// held returns the ids that a process is running, or was running when it died.
func (l *runLog) held(process int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]string, 0, len(l.running[process]))
	for id := range l.running[process] {
		ids = append(ids, id)
	}
	return ids
}

// firstHolder is the process that was the first to hold its runs, 0 while none has.
func (l *runLog) firstHolder() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder
}

// idleSince is when something was last written down; false while a process other than dead runs a job.
func (l *runLog) idleSince(dead func(process int) bool) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for process, ids := range l.running {
		if len(ids) > 0 && !dead(process) {
			return time.Time{}, false
		}
	}
	return l.last, true
}

// of returns the runs of a job, the first first.
func (l *runLog) of(id string) []run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]run(nil), l.runs[id]...)
}

// restarts returns for each job that process was running when it died at killed, how long afterwards another process
// began it.
func (l *runLog) restarts(process int, killed time.Time) (after map[string]time.Duration, notYet []string) {
	after = map[string]time.Duration{}
	for _, id := range l.held(process) {
		again := time.Time{}
		for _, r := range l.of(id) {
			if r.process != process && r.begun.After(killed) && (again.IsZero() || r.begun.Before(again)) {
				again = r.begun
			}
		}
		if again.IsZero() {
			notYet = append(notYet, id)
			continue
		}
		after[id] = again.Sub(killed)
	}
	return after, notYet
}
