package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work/event"
)

// processVectors are the families of what is not of one job.
type processVectors struct {
	fetched, settled       prometheus.Histogram
	asked                  prometheus.Counter
	historyNames           prometheus.Counter
	historyErrors          prometheus.Counter
	started                prometheus.Counter
	stopped                *prometheus.CounterVec
	fenced, reaped, cutOff prometheus.Counter
	reapedJobs             prometheus.Counter
	returned, dropped      prometheus.Counter
	losses, broken         prometheus.Counter
	lostJobs               *prometheus.CounterVec
	badSchedules           prometheus.Counter
	unfit                  prometheus.Counter

	flowsStored, flowsReopened prometheus.Counter
	flowsEnded                 *prometheus.CounterVec

	troubles, over, panics *prometheus.CounterVec
}

func newProcessVectors() processVectors {
	return processVectors{
		fetched: batches("work_fetch_jobs", "Jobs that one fetch brought.", 0),
		asked:   counter("work_fetch_asked_jobs_total", "Jobs that fetches asked for."),
		settled: batches("work_settle_jobs", "Outcomes that one settlement told Redis."),
		historyNames: counter("work_history_names_told_total",
			"Names of whose counts Redis was told for the history, 30 to 50 us of its time each."),
		historyErrors: counter("work_history_errors_told_total",
			"Groups of errors of which Redis was told for the history."),
		started: counter("work_workers_started_total", "Workers that have started."),
		stopped: counters("work_workers_stopped_total", "Workers that have stopped, clean or with an error.",
			"result"),
		cutOff: counter("work_workers_cut_off_total",
			"Times that what a worker of this process ran was ended, since Redis had not answered it for too long."),
		fenced: counter("work_workers_fenced_total",
			"Times a worker of this process was declared dead and went on."),
		reaped:     counter("work_workers_reaped_total", "Dead workers whose jobs this process has put back."),
		reapedJobs: counter("work_jobs_reaped_total", "Jobs of dead workers that this process has put back."),
		returned:   counter("work_jobs_returned_total", "Jobs given back whose claims nobody held."),
		dropped: counter("work_ids_dropped_total",
			"Ids dropped from queues that had no record or were claimed already."),
		losses: counter("work_data_losses_total", "Times Redis was found to have forgotten what it knew."),
		lostJobs: counters("work_data_loss_jobs_total",
			"Jobs of which Redis had forgotten something, by what became of them.", "fate"),
		broken:       counter("work_broken_keys_total", "Keys found in Redis with a wrong type."),
		badSchedules: counter("work_broken_schedules_total", "Schedules found in Redis that cannot be understood."),
		unfit: counter("work_redis_problems_total",
			"Settings of Redis, found at a start, that put jobs at risk."),
		flowsStored:   counter("work_flows_stored_total", "Flows that were stored whole."),
		flowsReopened: counter("work_flows_reopened_total", "Flows that had ended and were opened again."),
		flowsEnded:    counters("work_flows_ended_total", "Flows that have ended, by how.", "how"),
		troubles:      counters("work_troubles_total", "Times background work began to fail.", "component"),
		over: counters("work_troubles_over_total", "Times background work that failed succeeded again.",
			"component"),
		panics: counters("work_loop_panics_total", "Panics of background work of the library.", "component"),
	}
}

func (v *processVectors) all() []prometheus.Collector {
	return []prometheus.Collector{v.fetched, v.asked, v.settled, v.historyNames, v.historyErrors, v.started, v.stopped,
		v.fenced, v.cutOff, v.reaped, v.reapedJobs, v.returned,
		v.dropped, v.losses, v.lostJobs, v.broken, v.badSchedules, v.unfit, v.flowsStored,
		v.flowsReopened, v.flowsEnded, v.troubles, v.over, v.panics}
}

// observeProcess counts what is not of one job. Left out are PartitionJoined, PartitionLeft, PoolIdle, WorkerTold,
// LimitChanged, JobCheckedIn, PeriodicChanged and PeriodicRemoved: somebody meant them; and BatchEnded, whose jobs are
// counted one by one.
func (r *Recorder) observeProcess(e event.Event) {
	v := &r.process
	switch e := e.(type) {
	case event.JobsFetched:
		v.fetched.Observe(float64(e.Jobs))
		v.asked.Add(float64(e.Asked))
	case event.JobsSettled:
		v.settled.Observe(float64(e.Jobs))
	case event.HistoryTold:
		v.historyNames.Add(float64(e.Names))
		v.historyErrors.Add(float64(e.Errors))
	case event.WorkerStarted:
		v.started.Inc()
		for _, queue := range e.Queues {
			r.of(queue)
		}
	case event.WorkerStopped:
		v.stopped.WithLabelValues(resultOf(e.Err)).Inc()
	case event.WorkerFenced:
		v.fenced.Inc()
	case event.WorkerCutOff:
		v.cutOff.Inc()
	case event.WorkerReaped:
		v.reaped.Inc()
		v.reapedJobs.Add(float64(e.Jobs))
	case event.JobsReturned:
		v.returned.Add(float64(e.Jobs))
	case event.JobsDropped:
		v.dropped.Add(float64(e.Count))
	case event.FlowStored:
		v.flowsStored.Inc()
	case event.FlowReopened:
		v.flowsReopened.Inc()
	case event.FlowEnded:
		v.flowsEnded.WithLabelValues(string(e.How)).Inc()
	default:
		r.observeTrouble(e)
	}
}

// What became of jobs of which Redis had forgotten something.
const (
	fateRestored  = "restored"
	fateReclaimed = "reclaimed"
	fateRepeated  = "repeated"
	fateGone      = "gone"
)

// observeTrouble counts what an operator should know.
func (r *Recorder) observeTrouble(e event.Event) {
	v := &r.process
	switch e := e.(type) {
	case event.DataLost:
		v.losses.Inc()
		for fate, jobs := range map[string]int{
			fateRestored: e.Restored, fateReclaimed: e.Reclaimed, fateRepeated: e.Outcomes,
			fateGone: len(e.Enqueued) + e.EnqueuedMore,
		} {
			v.lostJobs.WithLabelValues(fate).Add(float64(jobs))
		}
	case event.KeyBroken:
		v.broken.Inc()
	case event.PeriodicBroken:
		v.badSchedules.Inc()
	case event.ServerUnfit:
		v.unfit.Inc()
	case event.Trouble:
		component := r.component(e.Component)
		v.over.WithLabelValues(component) // a zero, so that the difference of the two is known
		v.troubles.WithLabelValues(component).Inc()
	case event.TroubleOver:
		v.over.WithLabelValues(r.component(e.Component)).Inc()
	case event.LoopPanicked:
		v.panics.WithLabelValues(r.component(e.Component)).Inc()
	}
}

// component is the label of a component. What stands behind a comma says which job it is about, of which there are any
// number.
func (r *Recorder) component(name string) string {
	if general, _, one := strings.Cut(name, ","); one {
		name = general + ", one job"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.components.admit(name) {
		return Other
	}
	return label(name)
}

func resultOf(err error) string {
	if err != nil {
		return "error"
	}
	return "clean"
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// batches is a histogram of how many jobs went in one round trip: 1, 2, 4 and so on up to 512, and what is said to come
// before.
func batches(name, help string, before ...float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: append(before, prometheus.ExponentialBuckets(1, 2, 10)...)})
}
