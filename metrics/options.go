package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/265d0351/work/inspect"
)

// Options are those of [New]. The zero value is ready to use.
type Options struct {
	// Names is how many names of jobs have series of their own; 0 is 100, negative is none. The first that are seen
	// have them for as long as the Recorder lives, those that a pool serves in the order of its queues.
	Names int

	// RunBuckets and WaitBuckets are the upper bounds of the histograms, in seconds, growing. Nil is [DefaultBuckets].
	RunBuckets, WaitBuckets []float64
}

// FleetOptions are those of [Fleet]. The zero value is ready to use.
type FleetOptions struct {
	// Names is how many queues have series of their own; 0 is 100, negative is none. A queue keeps them while it
	// exists. Where there are more, those that workers serve come first, then those in which most jobs wait.
	Names int

	// Timeout is how long a scrape may wait for Redis; 0 is 5 s. Keep it below the scrape_timeout of Prometheus, 10 s
	// as a rule, so that a scrape can say that Redis is away.
	Timeout time.Duration

	// Context ends every scrape when it ends; nil is context.Background().
	Context context.Context

	// Target is within what time the jobs that wait now should have begun, for work_queue_processors_wanted; 0 is one
	// minute.
	Target time.Duration

	// Logger is told when reading begins to fail, and when it succeeds again; nil is slog.Default().
	Logger *slog.Logger
}

// The defaults of the options.
const (
	defaultNames   = 100
	defaultTimeout = 5 * time.Second
	defaultTarget  = time.Minute
)

// DefaultBuckets are every second of the bounds of [inspect.HistogramBounds], in seconds: 0.001, 0.004, 0.016 and so on
// up to 4194, which is 70 min.
func DefaultBuckets() []float64 {
	var bounds []float64
	for i, bound := range inspect.HistogramBounds() {
		if i%2 == 0 {
			bounds = append(bounds, bound.Seconds())
		}
	}
	return bounds
}

func (o Options) withDefaults() Options {
	if o.Names == 0 {
		o.Names = defaultNames
	}
	if o.RunBuckets == nil {
		o.RunBuckets = DefaultBuckets()
	}
	if o.WaitBuckets == nil {
		o.WaitBuckets = DefaultBuckets()
	}
	return o
}

func (o FleetOptions) withDefaults() FleetOptions {
	if o.Names == 0 {
		o.Names = defaultNames
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Target <= 0 {
		o.Target = defaultTarget
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
