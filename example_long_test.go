package work_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
)

// exporter writes rows to somewhere that takes one at a time.
type exporter struct{ rows []string }

// progress is what a page about the export would show.
type progress struct{ Done, Of int }

// Export goes on where an earlier attempt has stopped, whatever stopped it.
func (e *exporter) Export(ctx context.Context, job *work.Job) error {
	next := 0
	if _, err := job.LoadState(ctx, &next); err != nil {
		return err
	}
	job.Logger().Info("begun", "row", next)
	for ; next < len(e.rows); next++ {
		if job.Checkin("writing " + e.rows[next]) { // the pool stops: another one goes on
			return work.Release(nil)
		}
		if err := job.Progress(progress{Done: next, Of: len(e.rows)}); err != nil {
			return err
		}
		if next == 2 && job.Attempt == 1 {
			return work.RetryIn(0, errBusy)
		}
		job.Logger().Info("written", "row", next, "text", e.rows[next])
		if err := job.SaveState(ctx, next+1); err != nil {
			return err
		}
	}
	return nil
}

// A long job saves how far it is, so that its next attempt need not begin anew, and says what it does.
func ExampleJob_SaveState() {
	ctx := context.Background()
	pool := work.NewWorkerPool(exporter{rows: []string{"ant", "bee", "cat", "dog"}}, 1, work.WorkerOptions{
		Redis: "memory://examples", Namespace: "long", Logger: slog.New(slog.DiscardHandler),
	}).Job("export", (*exporter).Export)
	receipt, err := pool.Enqueuer().Enqueue(ctx, "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for line, err := range pool.Inspector().FollowLog(ctx, receipt.ID) { // until the job has ended
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(line.Number, "attempt", line.Attempt, line.Level, line.Message, string(line.Attrs))
	}
	if err := pool.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 attempt 1 INFO begun {"row":0}
	// 2 attempt 1 INFO written {"row":0,"text":"ant"}
	// 3 attempt 1 INFO written {"row":1,"text":"bee"}
	// 4 attempt 2 INFO begun {"row":2}
	// 5 attempt 2 INFO written {"row":2,"text":"cat"}
	// 6 attempt 2 INFO written {"row":3,"text":"dog"}
}
