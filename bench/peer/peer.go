// Package peer holds one adapter per library. An adapter only passes on: jobs in, jobs out, and how many its library's
// own keys still show. What ran, how often and how fast is for the harness to find out.
package peer

import (
	"context"
	"runtime/debug"
	"time"
)

// Args are what every job carries, as JSON, whatever the library.
type Args struct {
	ID  int64  `json:"id"`            // by which the harness knows the job
	Pad string `json:"pad,omitempty"` // to make it larger
}

// Job is one job to be stored.
type Job struct {
	Name string
	// jobs of different lanes are for different workers; where names are queues, the name says it already
	Lane string
	Due  time.Time // zero is at once
	Args Args
}

// Workload says what a worker is to do.
type Workload struct {
	Names       []string // that jobs are enqueued under
	Idle        []string // registered beside them, without a job
	Lane        string   // whose jobs it serves
	Concurrency int
	Handle      func(Args) // called once per run of a job, by many goroutines
}

// Place is where a library stores its jobs.
type Place struct {
	Redis    string // host:port
	Postgres string // DSN
}

// StoreKind is the server that a library needs.
type StoreKind string

// The kinds of servers.
const (
	Redis    StoreKind = "Redis"
	Postgres StoreKind = "PostgreSQL"
)

// Library is one adapter.
type Library interface {
	Name() string
	Module() string   // path, for its version
	Config() []string // how it is configured and why, a sentence each
	Store() StoreKind
	// Open begins a session in an empty store. names are all that jobs will be enqueued under.
	Open(ctx context.Context, place Place, names []string) (Session, error)
}

// FetchReader is a Library that can tell which requests on Redis ask for jobs.
type FetchReader interface {
	// Fetched tells whether the request asked for jobs, and how many the reply gave.
	Fetched(request []string, reply any) (asked bool, jobs int)
}

// Session is one library at work in one store. Its methods may be called concurrently.
type Session interface {
	Insert(ctx context.Context, job Job) error
	// InsertMany stores jobs in the fastest way that the library documents.
	InsertMany(ctx context.Context, jobs []Job) error
	// Start returns a running worker.
	Start(ctx context.Context, load Workload) (Worker, error)
	// Left counts what the library's own keys show as waiting, claimed, scheduled, to be retried or failed.
	Left(ctx context.Context) (int, error)
	Close() error
}

// Worker is a running worker.
type Worker interface {
	Stop(ctx context.Context) error
}

// more are adapters that are built in on demand.
var more []Library

// All are the adapters, this library first.
func All() []Library { return append([]Library{Work{}, Asynq{}, River{}}, more...) }

// Version is that of a library as it was built into this program.
func Version(l Library) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == l.Module() {
			return module.Version
		}
	}
	return ""
}
