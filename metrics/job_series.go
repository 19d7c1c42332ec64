package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
)

// The outcomes of a job, or of one of its attempts.
const (
	outcomeDone = iota
	outcomeFailed
	outcomeBuried
	outcomeDiscarded
	outcomeCancelled
	outcomeSnoozed
	outcomeReleased
	outcomeExpired
	outcomes
)

var outcomeNames = [outcomes]string{"done", "failed", "buried", "discarded", "cancelled", "snoozed", "released",
	"expired"}

// jobVectors are the families with the name of a job as their first label.
type jobVectors struct {
	outcomes, panics, timeouts, stuck, gone, trimmed, hooks, ticks *prometheus.CounterVec
	run, waiting                                                   *prometheus.HistogramVec
}

func newJobVectors(opts Options) jobVectors {
	return jobVectors{
		outcomes: counters("work_job_outcomes_total", "Outcomes of jobs and their attempts.", "name", "outcome"),
		panics:   counters("work_job_panics_total", "Attempts that failed with a panic.", "name"),
		timeouts: counters("work_job_timeouts_total",
			"Attempts that failed when their timeout had passed or their deadline had come.", "name"),
		stuck: counters("work_job_stuck_total", "Handlers that had not returned some time after their ctx ended.",
			"name", "cause"),
		gone: counters("work_job_claims_gone_total",
			"Outcomes that did not count, because the claim was gone, or of which that is not known.", "name",
			"reason"),
		trimmed: counters("work_jobs_trimmed_total", "Jobs removed from the morgue because of its limits.", "name"),
		hooks:   counters("work_job_death_hook_failures_total", "Calls of OnDeath that failed.", "name"),
		ticks: counters("work_periodic_ticks_total", "Ticks of schedules, by what became of them.", "name",
			"result"),
		run: histograms("work_job_run_seconds", "How long middleware and handler took, in seconds.",
			opts.RunBuckets, "name"),
		waiting: histograms("work_job_waiting_seconds",
			"How long a job was due when its handler was called, in seconds.",
			opts.WaitBuckets, "name"),
	}
}

func (v *jobVectors) all() []prometheus.Collector {
	return []prometheus.Collector{v.outcomes, v.panics, v.timeouts, v.stuck, v.gone, v.trimmed, v.hooks, v.ticks, v.run,
		v.waiting}
}

// jobSeries are the series of one label that every job needs, looked up once.
type jobSeries struct {
	label        string
	outcomes     [outcomes]prometheus.Counter
	run, waiting prometheus.Observer
}

// series makes those of a label. They are there from now on, as zeros: a rate does not see the first increase of one
// that appears with it.
func (v *jobVectors) series(label string) *jobSeries {
	s := &jobSeries{label: label, run: v.run.WithLabelValues(label), waiting: v.waiting.WithLabelValues(label)}
	for outcome, name := range outcomeNames {
		s.outcomes[outcome] = v.outcomes.WithLabelValues(label, name)
	}
	v.panics.WithLabelValues(label)
	v.timeouts.WithLabelValues(label)
	for _, cause := range causes {
		v.stuck.WithLabelValues(label, cause.name)
	}
	for _, reason := range []string{goneTaken, goneDataLost, goneUnknown} {
		v.gone.WithLabelValues(label, reason)
	}
	return s
}

// observeJob counts what a job has in its normal life, and returns false for all else.
func (r *Recorder) observeJob(e event.Event) bool {
	switch e := e.(type) {
	case event.JobStarted:
		r.of(e.Name).waiting.Observe(e.Waited.Seconds())
	case event.JobDone:
		r.of(e.Name).ended(outcomeDone, e.Elapsed)
	case event.JobFailed:
		r.of(e.Name).ended(outcomeFailed, e.Elapsed)
		r.blame(e.Name, e.Err, e.Failure)
	case event.JobBuried:
		r.of(e.Name).ended(outcomeBuried, elapsed(e.JobRef))
		r.blame(e.Name, e.Err, e.Failure)
	case event.JobDiscarded:
		r.of(e.Name).ended(outcomeDiscarded, elapsed(e.JobRef))
		r.blame(e.Name, e.Err, e.Failure)
	case event.JobSnoozed:
		r.of(e.Name).ended(outcomeSnoozed, elapsed(e.JobRef))
	case event.JobReleased: // its handler may run on
		r.of(e.Name).outcomes[outcomeReleased].Inc()
	case event.JobCancelled: // an outcome may have told of its attempt before
		r.of(e.Name).outcomes[outcomeCancelled].Inc()
	case event.JobExpired:
		r.of(e.Name).outcomes[outcomeExpired].Inc()
	default:
		return false
	}
	return true
}

// notBegun is the elapsed time of a job whose handler was not called.
const notBegun time.Duration = -1

// elapsed is how long ago the handler was called: the events of the rarer outcomes, sent when it has returned, do not
// say.
func elapsed(ref event.JobRef) time.Duration {
	if ref.Begun.IsZero() {
		return notBegun
	}
	return max(0, time.Since(ref.Begun))
}

func (s *jobSeries) ended(outcome int, took time.Duration) {
	s.outcomes[outcome].Inc()
	if took != notBegun {
		s.run.Observe(took.Seconds())
	}
}

// blame counts a timeout or a panic.
func (r *Recorder) blame(name string, err error, kind event.FailureKind) {
	switch {
	case kind == event.FailureTimeout:
		r.jobs.timeouts.WithLabelValues(r.of(name).label).Inc()
	case isPanic(err):
		r.jobs.panics.WithLabelValues(r.of(name).label).Inc()
	}
}

// isPanic looks into an error of the program, whose methods may panic themselves.
func isPanic(err error) bool {
	defer func() { _ = recover() }()
	var panicked *work.PanicError
	return errors.As(err, &panicked)
}

// observeRareOfJob counts what goes wrong with jobs, and returns false for all else.
func (r *Recorder) observeRareOfJob(e event.Event) bool {
	switch e := e.(type) {
	case event.JobStuck:
		r.jobs.stuck.WithLabelValues(r.of(e.Name).label, causeOf(e.Cause)).Inc()
	case event.ClaimGone:
		reason := goneTaken
		if e.Unaccounted {
			reason = goneDataLost
		}
		r.jobs.gone.WithLabelValues(r.of(e.Name).label, reason).Inc()
	case event.OutcomeUnknown:
		r.jobs.gone.WithLabelValues(r.of(e.Name).label, goneUnknown).Inc()
	case event.JobTrimmed:
		r.jobs.trimmed.WithLabelValues(r.of(e.Name).label).Inc()
	case event.DeathHookFailed:
		r.jobs.hooks.WithLabelValues(r.of(e.Name).label).Inc()
	default:
		return false
	}
	return true
}

// Why a claim is gone.
const (
	goneTaken    = "taken" // another worker has the job
	goneDataLost = "data_lost"
	goneUnknown  = "unknown" // it was sent, and may have counted
)

// causes are why the ctx of a handler ends.
var causes = []struct {
	is   error
	name string
}{
	{work.ErrTimeout, "timeout"}, {work.ErrShutdown, "shutdown"}, {work.ErrFenced, "fenced"},
	{work.ErrCancelled, "cancelled"},
}

func causeOf(err error) string {
	for _, cause := range causes {
		if errors.Is(err, cause.is) {
			return cause.name
		}
	}
	return Other
}

// observePeriodic counts ticks, and returns false for all but those.
func (r *Recorder) observePeriodic(e event.Event) bool {
	switch e := e.(type) {
	case event.PeriodicEnqueued:
		r.tick(e.Name, "enqueued", 1)
	case event.PeriodicMissed:
		r.tick(e.Name, "missed", e.Ticks)
	case event.PeriodicSkipped:
		r.tick(e.Name, "skipped", 1)
	default:
		return false
	}
	return true
}

// tick counts ticks. The first of a name, which as a rule is enqueued, brings the zeros of the others.
func (r *Recorder) tick(name, result string, n int) {
	name = r.of(name).label
	for _, each := range []string{"enqueued", "missed", "skipped"} {
		r.jobs.ticks.WithLabelValues(name, each)
	}
	r.jobs.ticks.WithLabelValues(name, result).Add(float64(n))
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}
