package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/filetree"
)

// order is one job of the demo and what is expected of it.
type order struct {
	id       string
	name     string
	file     int           // index in the listing, of a measure job
	failures int           // of a flaky job: how often it fails before it succeeds
	delay    time.Duration // of a scheduled job
	placed   time.Time     // just before it was enqueued
}

// plan is every job that the demo is going to enqueue: first those that are scheduled and those that fail, so that they
// run beside the files' jobs.
func plan(files, flaky, scheduled int) []order {
	orders := make([]order, 0, files+flaky+scheduled)
	for i := range scheduled {
		orders = append(orders, order{name: jobScheduled, delay: 200*time.Millisecond +
			time.Duration(i%10)*50*time.Millisecond})
	}
	for i := range flaky {
		orders = append(orders, order{name: jobFlaky, failures: 1 + i%2})
	}
	for i := range files {
		orders = append(orders, order{name: jobMeasure, file: i})
	}
	return orders
}

// entry is the order as an enqueuer takes it.
func (o order) entry(dir string, files []filetree.File) work.Entry {
	switch o.name {
	case jobScheduled:
		return work.Entry{Name: o.name, In: o.delay}
	case jobFlaky:
		return work.Entry{Name: o.name, Args: []any{o.failures}}
	}
	return work.Entry{Name: o.name, Args: []any{[]byte(dir), []byte(files[o.file].Path)}}
}

// place enqueues orders and fills in their ids.
func place(ctx context.Context, enq *work.Enqueuer, dir string, files []filetree.File, orders []order) error {
	const batch = 1000
	for start := 0; start < len(orders); start += batch {
		some := orders[start:min(start+batch, len(orders))]
		entries := make([]work.Entry, len(some))
		for i := range some {
			some[i].placed = time.Now()
			entries[i] = some[i].entry(dir, files)
		}
		receipts, err := enq.EnqueueMany(ctx, entries)
		if err != nil {
			return fmt.Errorf("the jobs could not be enqueued: %w", err)
		}
		for i, receipt := range receipts {
			some[i].id = receipt.ID
		}
	}
	return nil
}
