package worqr_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/worqr"
)

func Example() {
	ctx := context.Background()
	c, err := worqr.Dial("memory://worqr-example", worqr.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := errors.Join(c.Start(ctx), c.StartWork(ctx, "thumbnails"),
		c.Enqueue(ctx, "thumbnails", []byte("cat.png"))); err != nil {
		fmt.Println(err)
		return
	}
	p, err := c.StartTask(ctx, "thumbnails")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("working on", string(p.Task))
	fmt.Println("finished:", c.FinishTask(ctx, p.ID, []byte("cat-small.png")))
	_, err = c.StartTask(ctx, "thumbnails")
	fmt.Println(err)
	// Output:
	// working on cat.png
	// finished: <nil>
	// no task waits in the queue
}

func ExampleClient_Serve() {
	c, err := worqr.Dial("memory://worqr-example-serve", worqr.Options{Concurrency: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := errors.Join(c.Start(ctx), c.Enqueue(ctx, "greet", []byte("world"))); err != nil {
		fmt.Println(err)
		return
	}
	err = c.Serve(ctx, "greet", func(_ context.Context, p *worqr.Process) ([]byte, error) {
		fmt.Println("hello,", string(p.Task))
		stop() // one is enough
		return nil, nil
	})
	fmt.Println("served:", err)
	// Output:
	// hello, world
	// served: <nil>
}

func ExampleClient_EnqueueUnique() {
	c, err := worqr.Dial("memory://worqr-example-unique", worqr.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	put, err := c.EnqueueUnique(context.Background(), "index", []byte("page 1"), []byte("page 2"), []byte("page 1"))
	fmt.Println(put, err)
	// Output:
	// [true true false] <nil>
}

func ExampleClient_Watch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := worqr.Dial("memory://worqr-example-watch", worqr.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	events, err := c.Watch(ctx, "mail")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Enqueue(ctx, "mail", []byte("to ann"), []byte("to bob")); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.CancelTasks(ctx, "mail", []byte("to bob")); err != nil {
		fmt.Println(err)
		return
	}
	for e := range events {
		switch e := e.(type) {
		case worqr.Work:
			fmt.Println(e.Count, "tasks for", e.Queue)
		case worqr.Cancelled:
			fmt.Println("cancelled:", string(e.Task))
			cancel()
		}
	}
	// Output:
	// 2 tasks for mail
	// cancelled: to bob
}

func ExampleDone_Text() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := worqr.Dial("memory://worqr-example-done", worqr.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	events, err := c.Watch(ctx, "sums")
	if err := errors.Join(err, c.Start(ctx), c.StartWork(ctx, "sums"),
		c.Enqueue(ctx, "sums", []byte("1+1"), []byte("1+2"))); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		p, err := c.StartTask(ctx, "sums")
		if err != nil {
			fmt.Println(err)
			return
		}
		if string(p.Task) == "1+1" {
			err = p.Finish(ctx, []byte("two"))
		} else {
			err = p.FinishJSON(ctx, []byte(`{"sum": 3}`))
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	for e := range events {
		if done, ok := e.(worqr.Done); ok {
			text, isText := done.Text()
			fmt.Printf("%s: %s %q %t\n", done.Task, done.Result, text, isText)
			if !isText {
				break
			}
		}
	}
	// Output:
	// 1+1: "two" "two" true
	// 1+2: {"sum":3} "" false
}

func ExampleClient_CancelTasks() {
	ctx := context.Background()
	c, err := worqr.Dial("memory://worqr-example-cancel", worqr.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Enqueue(ctx, "mail", []byte("a"), []byte("b"), []byte("a")); err != nil {
		fmt.Println(err)
		return
	}
	removed, err := c.CancelTasks(ctx, "mail", []byte("a"))
	fmt.Println(removed, err)
	for task, err := range c.Tasks(ctx, "mail") {
		fmt.Println(string(task), err)
	}
	// Output:
	// 2 <nil>
	// b <nil>
}

func ExampleClient_FailWorker() {
	ctx := context.Background()
	c, err := worqr.Dial("memory://worqr-example-fail", worqr.Options{WorkerID: "w1", HeartbeatEvery: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := errors.Join(c.Start(ctx), c.StartWork(ctx, "q"),
		c.Enqueue(ctx, "q", []byte("a"), []byte("b"))); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.StartTask(ctx, "q"); err != nil {
		fmt.Println(err)
		return
	}
	returned, err := c.FailWorker(ctx, "w1")
	fmt.Println(returned, err)
	next, err := c.Peek(ctx, "q")
	fmt.Println(string(next), err)
	_, err = c.FailWorker(ctx, "nobody")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// a <nil>
	// worker "nobody": no such worker of this package
}
