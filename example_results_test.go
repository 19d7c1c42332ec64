package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
)

// A web handler hands work to the pool and answers with what came of it.
func ExampleWait() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool := work.NewWorkerPool(nil, 2, quiet("wait")).
		Job("area", func(width, height int) (int, error) { return width * height, nil }).
		JobWithOptions("fail", work.JobOptions{Retries: -1}, func() error { return errUnknown })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more
	enq := pool.Enqueuer()

	receipt, _ := enq.With(work.Retention(time.Minute)).Enqueue(ctx, "area", 6, 7)
	area, err := work.Wait[int](ctx, enq, receipt.ID)
	fmt.Println(area, err)

	receipt, _ = enq.With(work.ID("hopeless")).Enqueue(ctx, "fail")
	err = enq.WaitEnd(ctx, receipt.ID)
	var dead *work.JobFailedError
	fmt.Println(errors.As(err, &dead), err)
	// Output:
	// 42 <nil>
	// buried: out of retries
	// true job "hopeless" is dead: out of retries, failed attempts: 1, the last error: no such account
}

// Parts of a whole run side by side; their results come in the order of the ids.
func ExampleWaitAll() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool := work.NewWorkerPool(nil, 3, quiet("wait all")).
		JobWithOptions("square", work.JobOptions{Retention: time.Minute},
			func(n int) (int, error) { return n * n, nil })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more
	enq := pool.Enqueuer()

	var ids []string
	for n := range 5 {
		receipt, _ := enq.Enqueue(ctx, "square", n)
		ids = append(ids, receipt.ID)
	}
	squares, err := work.WaitAll[int](ctx, enq, ids...)
	fmt.Println(squares, err)

	id, square, err := work.WaitAny[int](ctx, enq, ids[3])
	fmt.Println(id == ids[3], square, err)
	// Output:
	// [0 1 4 9 16] <nil>
	// true 9 <nil>
}

// Whoever enqueues many jobs learns of each end as it comes, also in another process.
func ExampleEnqueuer_Completions() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool := work.NewWorkerPool(nil, 1, quiet("completions")).
		JobWithOptions("import", work.JobOptions{Retention: time.Minute}, func(file string) (string, error) {
			if file == "" {
				return "", work.Discard(errors.New("no file"))
			}
			return "imported " + file, nil
		})
	enq := pool.Enqueuer()
	imports := enq.With(work.Completion("imports"))
	for _, file := range []string{"a.csv", "", "b.csv"} {
		if _, err := imports.Enqueue(ctx, "import", file); err != nil {
			fmt.Println(err)
		}
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more

	left := 3
	for ended, err := range enq.Completions("imports").All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := work.Result[string](ctx, enq, ended.ID)
		fmt.Println(ended.State, result, err != nil)
		if left--; left == 0 {
			break
		}
	}
	// Unordered output:
	// dropped: no file
	// succeeded imported a.csv false
	// discarded  true
	// succeeded imported b.csv false
}
