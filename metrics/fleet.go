package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work/inspect"
)

// Fleet returns a collector that reads what there is in the namespace of the Inspector each time it is scraped. It
// never fails a scrape: while Redis cannot be read, work_fleet_up is 0 and all that would be read is left out, since a
// stale number is worse than none. Scrapes at the same time share one reading. The Inspector is the caller's, to be
// closed after the last scrape.
//
// It looks at no more than what [inspect.Inspector.Counts], FlowCounts, Queues, Workers, Topology and, for the queues
// in which jobs wait, ten minutes of History cost. A Topology that cannot be told is left out. Of a namespace with
// partitions it reads those that answer: work_partition_up says which do not, and then what is counted is less than
// there is.
func Fleet(inspector *inspect.Inspector, opts FleetOptions) prometheus.Collector {
	return newFleet(inspector, opts)
}

// source is the part of an Inspector that is read.
type source interface {
	Counts(ctx context.Context) (inspect.Counts, error)
	FlowCounts(ctx context.Context) (inspect.FlowCounts, error)
	Queues(ctx context.Context) ([]inspect.QueueInfo, error)
	Workers(ctx context.Context) ([]inspect.WorkerInfo, error)
	Topology(ctx context.Context) (inspect.Topology, error)
	History(ctx context.Context, opts inspect.HistoryOptions) (map[string][]inspect.HistoryPoint, error)
	Divided(ctx context.Context) bool
	Partitions(ctx context.Context) ([]inspect.PartitionInfo, error)
}

// fleet is the collector.
type fleet struct {
	source source
	opts   FleetOptions

	mu     sync.Mutex
	under  *reading // way; nil between scrapes
	names  names
	failed int  // readings
	down   bool // the last one has
}

// reading is one look at Redis, which any number of scrapes wait for. Its fields but done may be read once that is
// closed.
type reading struct {
	done   chan struct{}
	rows   []prometheus.Metric
	err    error
	took   time.Duration
	failed int // readings, this one among them
}

// errReadingEnded is what the scrapes that share a reading get when its goroutine was ended.
var errReadingEnded = errors.New("the goroutine that read the fleet was ended by runtime.Goexit")

func newFleet(source source, opts FleetOptions) *fleet {
	opts = opts.withDefaults()
	return &fleet{source: source, opts: opts, names: newNames(opts.Names)}
}

// Describe is for Prometheus.
func (f *fleet) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range fleetDescs {
		to <- desc
	}
}

// Collect is for Prometheus.
func (f *fleet) Collect(to chan<- prometheus.Metric) {
	read := f.read()
	up := 1.0
	if read.err != nil {
		up = 0
	}
	to <- gauge(descUp, up)
	to <- gauge(descReadSeconds, read.took.Seconds())
	to <- prometheus.MustNewConstMetric(descReadErrors, prometheus.CounterValue, float64(read.failed))
	for _, row := range read.rows {
		to <- row
	}
}

// read joins the reading under way, or does one.
func (f *fleet) read() *reading {
	f.mu.Lock()
	if under := f.under; under != nil {
		f.mu.Unlock()
		<-under.done
		return under
	}
	r := &reading{done: make(chan struct{}), err: errReadingEnded}
	f.under = r
	f.mu.Unlock()

	defer f.conclude(r, time.Now())
	r.rows, r.err = f.look()
	return r
}

// conclude lets all that wait for a reading have it.
func (f *fleet) conclude(r *reading, begun time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.took = time.Since(begun)
	if r.err != nil {
		f.failed++
	}
	r.failed = f.failed
	if down := r.err != nil; down != f.down {
		f.down = down
		f.tell(r.err)
	}
	f.under = nil
	close(r.done)
}

func (f *fleet) tell(err error) {
	if err != nil {
		f.opts.Logger.Warn("work: the fleet cannot be read for metrics", slog.Any("error", err))
		return
	}
	f.opts.Logger.Info("work: the fleet can be read for metrics again")
}

// look reads all there is to read. It is all or nothing: half a picture would look like a fleet that has shrunk.
func (f *fleet) look() (rows []prometheus.Metric, err error) {
	defer func() {
		if value := recover(); value != nil { // in the goroutine of a scrape it would end the program
			err = fmt.Errorf("the reading of the fleet panicked: %v", value)
		}
	}()
	ctx, cancel := context.WithTimeout(f.opts.Context, f.opts.Timeout)
	defer cancel()
	counts, err := f.source.Counts(ctx)
	if !answered(err) {
		return nil, err
	}
	workers, err := f.source.Workers(ctx)
	if !answered(err) {
		return nil, err
	}
	queues, err := f.source.Queues(ctx)
	if !answered(err) {
		return nil, err
	}
	table := f.tabulate(queues, counts.AsOf)
	runs, err := f.meanRuns(ctx, queues, workers, counts.AsOf)
	if err != nil {
		return nil, err
	}
	for n := range queues {
		table.of(queues[n].Name).wanted += wanted(&queues[n], runs[queues[n].Name], f.opts.Target)
	}
	flows, err := f.source.FlowCounts(ctx)
	if !answered(err) {
		return nil, err
	}
	rows = append(census(&counts, workers), table.metrics()...)
	rows = append(rows, flowRows(&flows)...)
	if f.source.Divided(ctx) {
		if partitions, err := f.source.Partitions(ctx); err == nil {
			rows = append(rows, partitionRows(partitions)...)
		}
	}
	if servers, err := f.source.Topology(ctx); answered(err) { // managed services may hide it
		rows = append(rows, nodeRows(servers)...)
	}
	return rows, nil
}

// answered tells whether there is something to show: all partitions have answered, or some.
func answered(err error) bool {
	var partial *inspect.PartialError
	return err == nil || errors.As(err, &partial)
}
