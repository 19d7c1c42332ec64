package worktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work"
)

// Recorder keeps what is enqueued through it, for the assertions of this package. A [Redis] has one; another one goes
// around any Enqueuer:
//
//	recorder := worktest.NewRecorder()
//	enq, err := work.NewEnqueuer(dsn, work.WithEnqueueMiddleware(recorder.Record))
//
// It records what was stored, so it belongs behind middleware that changes entries. It may be used concurrently.
type Recorder struct {
	mu        sync.Mutex
	kept      []Enqueued
	forgotten map[string]bool // ids of jobs of ticks: Redis still knows them
}

// NewRecorder makes an empty Recorder.
func NewRecorder() *Recorder { return &Recorder{forgotten: map[string]bool{}} }

// Enqueued is one job that was enqueued.
type Enqueued struct {
	ID, Name string
	Args     json.RawMessage    // a JSON array
	Due      time.Time          // when it is due, by the clock of Redis; zero for a Duplicate
	In       time.Duration      // as given to EnqueueIn; 0 if none was
	At       time.Time          // as given to EnqueueAt; zero if none was
	Source   int64              // as given to SourcedEnqueue; 0 if none was
	Settings work.EntrySettings // its options
	// Duplicate: it was not stored, since a job of its id, or of its kind, lives already; ID is that of the other one.
	// The assertions count it as not enqueued.
	Duplicate bool
	Schedule  string // id of the schedule whose tick it is; "" for what was enqueued otherwise
}

// Record is a work.EnqueueMiddleware that keeps the entries that were stored.
func (r *Recorder) Record(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
	entries = slices.Clone(entries)
	encoded := make([]json.RawMessage, len(entries))
	for i, entry := range entries {
		encoded[i], _ = encodeArgs(entry.Args) // what does not encode is not stored
	}
	receipts, err := next(ctx, entries)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, receipt := range receipts {
		if receipt.ID == "" {
			continue
		}
		entry := entries[i]
		r.kept = append(r.kept, Enqueued{
			ID: receipt.ID, Name: receipt.Name, Args: encoded[i], Due: receipt.RunAt, In: entry.In, At: entry.At,
			Source:   entry.Source,
			Settings: entry.Settings(), Duplicate: receipt.Duplicate,
		})
	}
	return err
}

// Enqueued are the jobs so far, in the order in which their enqueues returned.
func (r *Recorder) Enqueued() []Enqueued {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}

// Forget forgets what was recorded.
func (r *Recorder) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.kept {
		if e.Schedule != "" {
			r.forgotten[e.ID] = true
		}
	}
	r.kept = nil
}

// encodeArgs makes the JSON array of args, as an enqueue would.
func encodeArgs(args []any) (json.RawMessage, error) {
	encoded := []byte{'['}
	for i, arg := range args {
		one, err := encode(arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d does not encode: %w", i, err)
		}
		if i > 0 {
			encoded = append(encoded, ',')
		}
		encoded = append(encoded, one...)
	}
	return append(encoded, ']'), nil
}

func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
