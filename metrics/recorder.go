package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
)

// Recorder counts the events of pools: it is a [work.Observer] for their options, and a [prometheus.Collector] to
// register. One may serve any number of pools, and all its methods may be called concurrently. Counts begin at 0 with
// the Recorder.
type Recorder struct {
	jobs     jobVectors
	process  processVectors
	families []prometheus.Collector

	// name of a job -> *jobSeries, of those that have a label of their own: what each job needs, without a lock
	bySight sync.Map
	full    atomic.Bool // no further name gets a label
	other   *jobSeries

	mu         sync.Mutex
	names      names
	components names
}

var (
	_ work.Observer        = (*Recorder)(nil)
	_ prometheus.Collector = (*Recorder)(nil)
)

// maxComponents is more than the library has.
const maxComponents = 50

// New makes a Recorder. It panics when the buckets of the options do not grow, as package prometheus does.
func New(opts Options) *Recorder {
	opts = opts.withDefaults()
	r := &Recorder{
		jobs: newJobVectors(opts), process: newProcessVectors(),
		names: newNames(opts.Names), components: newNames(maxComponents),
	}
	r.families = append(r.jobs.all(), r.process.all()...)
	r.full.Store(r.names.full())
	r.other = r.jobs.series(Other)
	return r
}

// Describe is for Prometheus.
func (r *Recorder) Describe(to chan<- *prometheus.Desc) {
	for _, family := range r.families {
		family.Describe(to)
	}
}

// Collect is for Prometheus.
func (r *Recorder) Collect(to chan<- prometheus.Metric) {
	for _, family := range r.families {
		family.Collect(to)
	}
}

// Observe counts an event, without a lock for what every job has.
func (r *Recorder) Observe(e event.Event) {
	if !r.observeJob(e) && !r.observeRareOfJob(e) && !r.observePeriodic(e) {
		r.observeProcess(e)
	}
}

// of returns the series of a name, or those of all that have none of their own.
func (r *Recorder) of(name string) *jobSeries {
	if known, ok := r.bySight.Load(name); ok {
		return known.(*jobSeries)
	}
	if r.full.Load() {
		return r.other
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.names.admit(name) {
		return r.other
	}
	r.full.Store(r.names.full())
	known, _ := r.bySight.LoadOrStore(name, r.jobs.series(label(name)))
	return known.(*jobSeries)
}
