package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// WaitKind is a kind of thing that a job waits for.
type WaitKind string

// The kinds of things that a job waits for.
const (
	WaitDue WaitKind = "due" // its time: Until
	// its turn, Until: workers died with it, and of such jobs a pool runs one at a time
	WaitSuspect   WaitKind = "suspect"
	WaitPaused    WaitKind = "paused"     // somebody who resumes its queue
	WaitAllPaused WaitKind = "all paused" // somebody who resumes all queues
	// the end of one of the Running jobs of its queue, of which Limit may run at a time
	WaitLimit WaitKind = "limit"
	// the same in all pools that serve its queue: each runs as many as its MaxRunning says, Limit together
	WaitPool WaitKind = "pool"
	// its queue, of which so many jobs have begun that the next may not before Until
	WaitRate     WaitKind = "rate"
	WaitUnserved WaitKind = "unserved" // a worker that serves its queue: none is registered
	WaitNeeds    WaitKind = "needs"    // a worker that serves its queue and has the labels Needs: none is registered
	WaitBehind   WaitKind = "behind"   // those before it: Ahead
	WaitHung     WaitKind = "hung"     // one of the Running processors of its workers: all hang beyond their time

	// the end of one of the Running jobs of its key, of which Limit may run at a time
	WaitKeyLimit WaitKind = "key limit"
	// the end of Job, which is before it in the order of its key: that one runs, or waits for another attempt
	WaitKeyOrder   WaitKind = "key order"
	WaitKeyRate    WaitKind = "key rate"    // its key, of which so many have begun that the next may not before Until
	WaitKeyStopped WaitKind = "key stopped" // somebody who lets its key go on
	WaitRefused    WaitKind = "refused"     // the server, which refuses the outcome of the job with Error
)

// WaitReason is one reason why a job does not run yet. There may be several; a job in a queue for which there is none
// runs as soon as a worker has a free processor.
type WaitReason struct {
	Kind    WaitKind  `json:"kind"`
	Until   time.Time `json:"until,omitzero"`
	Limit   int       `json:"limit,omitzero"`
	Running int       `json:"running,omitzero"`
	Ahead   int       `json:"ahead,omitzero"` // -1 when there are over 10,000
	Job     string    `json:"job,omitzero"`   // the id of another one
	Needs   []string  `json:"needs,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// String is the reason in words.
func (w WaitReason) String() string {
	switch w.Kind {
	case WaitDue:
		return "due at " + stamp(w.Until)
	case WaitSuspect:
		return "a suspect, put off until " + stamp(w.Until)
	case WaitPaused:
		return "its queue is paused"
	case WaitAllPaused:
		return "all queues are paused"
	case WaitLimit:
		return fmt.Sprintf("%d of its queue %s, and %d may", w.Running, w.runs(), w.Limit)
	case WaitPool:
		return fmt.Sprintf("%d of its queue %s in the pools that serve it, and %d may", w.Running, w.runs(), w.Limit)
	case WaitRate:
		return "the rate of its queue leaves room at " + stamp(w.Until)
	case WaitUnserved:
		return "no registered worker serves its queue"
	case WaitKeyLimit:
		return fmt.Sprintf("%d of its key %s, and %d may", w.Running, w.runs(), w.Limit)
	case WaitKeyOrder:
		return "behind job " + excerpt.Brief(w.Job) + " in the order of its key"
	case WaitKeyRate:
		return "the rate of its key leaves room at " + stamp(w.Until)
	case WaitKeyStopped:
		return "its key is stopped"
	case WaitRefused:
		return "it has run, and Redis refuses its outcome: " + w.Error
	case WaitNeeds:
		return "needs " + strings.Join(w.Needs, ", ") + ", which no registered worker that serves its queue has"
	case WaitBehind:
		return "behind " + crowd(w.Ahead)
	case WaitHung:
		return "every processor that serves its queue (" + strconv.Itoa(w.Running) + ") hangs: see the doctor"
	}
	return string(w.Kind)
}

// runs is the word for what its Running do.
func (w WaitReason) runs() string {
	if w.Running == 1 {
		return "runs"
	}
	return "run"
}

// stamp is a time as people read it, to the millisecond.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func crowd(ahead int) string {
	switch ahead {
	case -1:
		return "over 10,000 others"
	case 1:
		return "1 other"
	}
	return strconv.Itoa(ahead) + " others"
}

// whyQueued is why a job waits in its queue.
func whyQueued(w rdb.Waits, now time.Time, needs []string) []WaitReason {
	var why []WaitReason
	add := func(is bool, reason WaitReason) {
		if is {
			why = append(why, reason)
		}
	}
	paused, most, limited := readRule(w.Rule)
	add(w.All, WaitReason{Kind: WaitAllPaused})
	add(paused, WaitReason{Kind: WaitPaused})
	add(limited && w.Running >= most, WaitReason{Kind: WaitLimit, Limit: most, Running: w.Running})
	add(w.Quotas.Most > 0, WaitReason{Kind: WaitPool, Limit: w.Quotas.Most, Running: w.Quotas.Held})
	add(w.Quotas.Hung > 0, WaitReason{Kind: WaitHung, Running: w.Quotas.Hung})
	add(w.Rate > 0, WaitReason{Kind: WaitRate, Until: now.Add(w.Rate)})
	add(!w.Served && len(needs) == 0, WaitReason{Kind: WaitUnserved})
	add(!w.Served && len(needs) > 0, WaitReason{Kind: WaitNeeds, Needs: needs})
	if w.Parked != nil { // nobody looks at it until its key has room: who is before it says nothing
		return append(why, whyParked(w.Parked)...)
	}
	add(w.Before != 0, WaitReason{Kind: WaitBehind, Ahead: w.Before})
	return why
}

// whyParked is why a key has no room for jobs.
func whyParked(r *rdb.Restraint) (why []WaitReason) {
	most, limited := r.Most()
	switch {
	case r.Rule.Stopped:
		why = append(why, WaitReason{Kind: WaitKeyStopped})
	case r.First != "":
		why = append(why, WaitReason{Kind: WaitKeyOrder, Job: r.First})
	case limited && r.Running >= most:
		why = append(why, WaitReason{Kind: WaitKeyLimit, Limit: most, Running: r.Running})
	}
	if !r.Until.IsZero() {
		why = append(why, WaitReason{Kind: WaitKeyRate, Until: r.Until})
	}
	return why
}

// readRule reads what a queue's rule says of pauses and of the limit of jobs that run at a time; see lua/prelude.lua.
// To a fetch, a rule that it cannot read is a pause.
func readRule(rule string) (paused bool, most int, limited bool) {
	if rule == "" {
		return false, 0, false
	}
	fields := strings.Fields(rule)
	if len(fields) < 5 {
		return true, 0, false
	}
	most, err := strconv.Atoi(fields[1])
	return fields[0] != "0", most, err == nil
}
