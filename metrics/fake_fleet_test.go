package metrics

import (
	"context"

	"github.com/265d0351/work/inspect"
)

// fakeFleet is a source with what a test wants to be there.
type fakeFleet struct {
	counts  inspect.Counts
	flows   inspect.FlowCounts
	queues  []inspect.QueueInfo
	workers []inspect.WorkerInfo
	history map[string][]inspect.HistoryPoint
	failure error // of the history

	topology inspect.Topology
	unknown  error // why the servers are not told

	partitions []inspect.PartitionInfo
	partial    error // beside what is counted

	hang, panics bool
	asked        chan struct{} // not nil: it is told of each reading
	release      chan struct{} // not nil: a reading waits for it
	asks         []string      // of which history was last asked for
}

func (f *fakeFleet) Counts(ctx context.Context) (inspect.Counts, error) {
	if f.asked != nil {
		f.asked <- struct{}{}
	}
	if f.release != nil {
		<-f.release
	}
	if f.panics {
		panic("boom")
	}
	if f.hang {
		<-ctx.Done()
	}
	if f.partial != nil {
		return f.counts, f.partial
	}
	return f.counts, ctx.Err()
}

func (f *fakeFleet) FlowCounts(context.Context) (inspect.FlowCounts, error) {
	return f.flows, f.partial
}

func (f *fakeFleet) Queues(context.Context) ([]inspect.QueueInfo, error) { return f.queues, f.partial }
func (f *fakeFleet) Workers(context.Context) ([]inspect.WorkerInfo, error) {
	return f.workers, f.partial
}

func (f *fakeFleet) Divided(context.Context) bool { return f.partitions != nil }

func (f *fakeFleet) Partitions(context.Context) ([]inspect.PartitionInfo, error) {
	return f.partitions, nil
}

func (f *fakeFleet) Topology(context.Context) (inspect.Topology, error) { return f.topology, f.unknown }

func (f *fakeFleet) History(_ context.Context, opts inspect.HistoryOptions) (map[string][]inspect.HistoryPoint, error) {
	f.asks = opts.Names
	return f.history, f.failure
}
