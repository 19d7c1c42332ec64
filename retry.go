package work

import (
	"math/rand/v2"
	"time"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/span"
)

// minDelay is the floor of every wait that a program asks for: a job that comes back at once would spin.
const minDelay = 100 * time.Millisecond

// boundedDelay is the wait that is used for one that was asked for.
func boundedDelay(d time.Duration) time.Duration { return max(span.Capped(d), minDelay) }

// maxBackoffs is after how many failures DefaultBackoff grows no more. Its n^4 would leave time.Duration after 310.
const maxBackoffs = 200

// DefaultBackoff is how long a job waits after its n-th failure: (n-1)^4 seconds, 15 seconds, and up to 10 n seconds at
// random, so that jobs that failed together do not come back together. The formula is Sidekiq's; 25 retries take about
// three weeks. It grows no more after 200 failures: by then it is 50 years.
func DefaultBackoff(job *Job, _ error) time.Duration {
	n := min(max(job.Attempt-1, 0), maxBackoffs)
	jitter := time.Duration(rand.Int64N(int64(10 * time.Second)))
	return time.Duration(n*n*n*n+15)*time.Second + jitter*time.Duration(n+1)
}

// verb is what becomes of a job after an attempt.
type verb int

const (
	verbDone verb = iota
	verbRetry
	verbSnooze  // later, no attempt used
	verbRelease // to the front of the queue, no attempt used
	verbBury
	verbDiscard
	verbCancel
	verbExpire
)

// disposition is the error with which a handler says what should become of its job.
type disposition struct {
	verb  verb
	delay time.Duration
	err   error
}

// Error is the program's own text, where there is one: so it is of one group with the same error without a disposition.
func (v *disposition) Error() string {
	if v.err != nil {
		return excerpt.Cut(excerpt.ErrorText(v.err))
	}
	return map[verb]string{
		verbRetry: "retry in " + v.delay.String(), verbSnooze: "snooze for " + v.delay.String(),
		verbRelease: "release", verbBury: "bury", verbDiscard: "discard",
	}[v.verb]
}

func (v *disposition) Unwrap() error { return v.err }

// RetryIn fails the attempt with err and asks for the next one after d (100 ms to 100 years) instead of the backoff.
// Out of retries it goes to the morgue as after any error.
func RetryIn(d time.Duration, err error) error {
	return &disposition{verb: verbRetry, delay: boundedDelay(d), err: err}
}

// Snooze puts the job off for d (100 ms to 100 years) without using an attempt.
func Snooze(d time.Duration) error { return &disposition{verb: verbSnooze, delay: boundedDelay(d)} }

// Release hands the job back without using an attempt. While the pool is stopping it goes to the front of its queue,
// for another worker to take; otherwise it waits 1 s, 2 s, 4 s up to 60 s. err may be nil.
func Release(err error) error { return &disposition{verb: verbRelease, err: err} }

// Bury sends the job to the morgue at once, whatever retries are left.
func Bury(err error) error { return &disposition{verb: verbBury, err: err} }

// Discard drops the job: it is counted and seen in events, and not retried. err may be nil.
func Discard(err error) error { return &disposition{verb: verbDiscard, err: err} }

// Ending is what becomes of a job after an attempt.
type Ending string

// The endings of an attempt.
const (
	EndingDone    Ending = "done"    // the job has ended well
	EndingRetry   Ending = "retry"   // it failed, and runs again after its backoff
	EndingSnooze  Ending = "snooze"  // it is put off, by Snooze or Release; no attempt is used
	EndingRelease Ending = "release" // it goes back to the front of its queue; no attempt is used
	EndingBury    Ending = "bury"    // it goes to the morgue
	EndingDiscard Ending = "discard" // it is dropped
	EndingCancel  Ending = "cancel"  // somebody has cancelled it
)

// Ending tells a middleware what becomes of the job if the outermost one returns err, and whether that is a failure of
// the attempt: any error but those of [Snooze], [Release] and [Discard], and that of a ctx that ended with the worker.
// It is what holds now; a stop that begins, a result that cannot be kept, or a backoff that ends after the deadline may
// still change it. Of a job that no pool runs it knows the fields only. It may be called by any goroutine of the
// handler.
func (j *Job) Ending(err error) (ending Ending, failed bool) {
	if j.run != nil {
		return j.run.ending(err)
	}
	return endingOf(err, func() Ending {
		if j.RetriesLeft > 0 {
			return EndingRetry
		}
		return EndingBury
	})
}

// endingOf is the ending that an error asks for. failure is that of one that asks for none.
func endingOf(err error, failure func() Ending) (ending Ending, failed bool) {
	v := errchain.Find[*disposition](err)
	bad := errchain.Find[*ArgumentError](err)
	switch {
	case err == nil:
		return EndingDone, false
	case v == nil || v.verb == verbRetry:
		if bad != nil && bad.uncalled {
			return EndingBury, true
		}
		return failure(), true
	case v.verb == verbRelease, v.verb == verbSnooze:
		return EndingSnooze, false
	case v.verb == verbDiscard:
		return EndingDiscard, false
	}
	return EndingBury, true
}
