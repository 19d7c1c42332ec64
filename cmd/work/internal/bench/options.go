package bench

import (
	"context"
	"log/slog"
	"time"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

// Options say what is measured, and with what.
type Options struct {
	Jobs        int
	JobsGiven   bool          // Jobs was asked for, and is not a default
	Duration    time.Duration // enqueue for so long, instead of Jobs; 0 counts jobs
	Concurrency int
	Queues      int
	Enqueuers   int
	ArgsBytes   int // of each job, beside its number

	Redis     string // DSN; "" for an embedded one
	Namespace string // the run has one of its own, which begins so
	Console   *console.Console
	Logger    *slog.Logger
	Hurry     context.Context // ends when the user does not want to wait for a stop in good order
	JSON      bool            // print one object
}

// The most that can be asked for. The bytes are what the arguments of all jobs take: Redis may hold much else.
const (
	mostJobs        = 10_000_000
	mostConcurrency = 100_000
	mostQueues      = 10_000
	mostCallers     = 10_000
	mostArgs        = 1 << 20
	mostBytes       = 1 << 30
)

// validate refuses what cannot be measured, by the names of the flags.
func (o Options) validate() error {
	switch {
	case o.Duration < 0:
		return exit.Usagef("--duration is %s: give a positive duration, as 10s", o.Duration)
	case o.Duration > 0 && o.JobsGiven:
		return exit.Usagef("--jobs %d and --duration %s exclude each other: give one", o.Jobs, o.Duration)
	case o.Jobs < 1 || o.Jobs > mostJobs:
		return exit.Usagef("--jobs is %d: give 1 to %d", o.Jobs, mostJobs)
	case o.Concurrency < 1 || o.Concurrency > mostConcurrency:
		return exit.Usagef("--concurrency is %d: give 1 to %d", o.Concurrency, mostConcurrency)
	case o.Queues < 1 || o.Queues > mostQueues:
		return exit.Usagef("--queues is %d: give 1 to %d", o.Queues, mostQueues)
	case o.Enqueuers < 1 || o.Enqueuers > mostCallers:
		return exit.Usagef("--enqueuers is %d: give 1 to %d", o.Enqueuers, mostCallers)
	case o.ArgsBytes < 0 || o.ArgsBytes > mostArgs:
		return exit.Usagef("--args-bytes is %d: give 0 to %d", o.ArgsBytes, mostArgs)
	case o.Duration == 0 && o.Jobs*o.ArgsBytes > mostBytes:
		return exit.Usagef("--jobs %d with --args-bytes %d would fill Redis with more than 1 GiB: give fewer", o.Jobs,
			o.ArgsBytes)
	}
	return nil
}

// mostJobs is how many jobs may be stored: those asked for, or as many as fit where the time decides.
func (o Options) mostJobs() int {
	switch {
	case o.Duration == 0:
		return o.Jobs
	case o.ArgsBytes == 0:
		return mostJobs
	}
	return min(mostJobs, mostBytes/o.ArgsBytes)
}
