package work_test

import (
	"context"
	"fmt"

	"github.com/265d0351/work"
)

// Two names have one queue: their jobs run in the order in which they came, and no more than two at once. Who enqueues
// them need not know.
func ExampleJobOptions_queue() {
	office := newWorkshop("memory://queue", 1)
	for _, name := range []string{"welcome", "invoice"} {
		options := work.JobOptions{Queue: "mail", Limit: work.Limit{Concurrent: 2}}
		office.JobWithOptions(name, options, func(job *work.Job, to string) error {
			office.note(job.Name + " " + to)
			return nil
		})
	}
	ctx := context.Background()
	if err := office.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for _, entry := range []work.Entry{{Name: "invoice", Args: []any{"ada"}}, {Name: "welcome", Args: []any{"bob"}},
		{Name: "invoice", Args: []any{"cyd"}}} {
		if _, err := office.Enqueuer().EnqueueMany(ctx, []work.Entry{entry}); err != nil {
			fmt.Println(err)
		}
	}
	if err := office.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	if err := office.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	for _, what := range office.ran {
		fmt.Println(what)
	}
	// Output:
	// invoice ada
	// welcome bob
	// invoice cyd
}
