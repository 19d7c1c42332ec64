package flow_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
)

// importRows is a member that has as many jobs as a file has rows. They are a batch whose id is made of that of the
// member, so that each attempt stores the same one. Its end is a message to the member, which holds no processor
// meanwhile; how it has ended is read. A batch that is retried has one more generation, and so has the message.
func importRows(ctx context.Context, job *work.Job, rows ...string) error {
	enq, id := work.EnqueuerFromContext(ctx), "rows of "+strings.ReplaceAll(job.ID, "/", ".") // no slash in such an id
	_, err := work.Step(ctx, "store rows", func(ctx context.Context) (flow.Receipt, error) {
		entries := func(yield func(work.Entry) bool) {
			for _, row := range rows {
				if !yield(work.Entry{Name: "row", Args: []any{row}}) {
					return
				}
			}
		}
		return flow.Batch(ctx, enq, id, entries, flow.OnDone("rows_ended", job.ID), flow.OnDeath("rows_ended", job.ID))
	})
	if err != nil {
		return err
	}
	for {
		p, err := flow.Read(ctx, enq, id)
		switch {
		case err != nil:
			return err
		case p.State == flow.Done:
			return nil
		case p.State.Ended():
			return work.Bury(fmt.Errorf("flow %q is %s: retry it first, and then this job", id, p.State))
		}
		if _, err := work.Receive[bool](ctx, fmt.Sprint("rows ended ", p.Generation)); err != nil {
			return err // it has not ended: the handler is called again when it has
		}
	}
}

// tellRowsEnded is the job at the end of such a batch, whose id is ".../@done" or ".../@dead", and ".../@done#2" when
// the batch was retried.
func tellRowsEnded(ctx context.Context, job *work.Job, member string) error {
	_, generation, again := strings.Cut(job.ID[strings.LastIndexByte(job.ID, '/'):], "#")
	if !again {
		generation = "1"
	}
	err := work.Send(ctx, work.EnqueuerFromContext(ctx), member, "rows ended "+generation, true)
	if errors.Is(err, work.ErrNotFound) {
		return nil // the member has ended meanwhile, by hand perhaps: nobody waits
	}
	return err
}

// A batch is no member of a flow. A member stores one, and waits for its end without a processor.
func ExampleBatch_inAFlow() {
	ctx := context.Background()
	var stored atomic.Int64
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{
		Redis: "memory://examples", Namespace: "batch-in-a-flow", Logger: slog.New(slog.DiscardHandler),
	}).
		Job("import", importRows).
		Job("row", func(context.Context, string) error {
			stored.Add(1)
			return nil
		}).
		Job("rows_ended", tellRowsEnded).
		Job("report", func(file string) error {
			fmt.Println(file, "has", stored.Load(), "rows")
			return nil
		})
	if err := pool.Start(ctx); err != nil {
		panic(err)
	}
	defer func() { _ = pool.Stop(ctx) }()

	f := flow.New("import-7")
	f.Job("report", "people.csv").After(f.Job("import", "ann", "bob", "cy"))
	if _, err := flow.Enqueue(ctx, pool.Enqueuer(), f); err != nil {
		panic(err)
	}
	p, err := flow.Wait(ctx, pool.Enqueuer(), "import-7")
	fmt.Println(p.State, err)
	rows, err := flow.Read(ctx, pool.Enqueuer(), "rows of import-7.import")
	fmt.Println(rows.State, rows.Done, "rows", err)
	// Output:
	// people.csv has 3 rows
	// done <nil>
	// done 3 rows <nil>
}
