package thoonk_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/265d0351/work/thoonk"
)

// Whoever comes first creates the feed, and the one who puts a job in is told what came of it.
func ExampleJobEnds() {
	ctx := context.Background()
	client, err := thoonk.Open("memory://thoonk-then")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	jobs, err := thoonk.OpenJobFeed[int, int](ctx, client, "squares", nil, nil, thoonk.OrCreate(thoonk.Config{}))
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan thoonk.Ended[int])
	if _, err = thoonk.NewJobEnds(jobs).Put(ctx, 12, func(e thoonk.Ended[int]) { done <- e }); err != nil {
		log.Fatal(err)
	}
	claim, err := jobs.Get(ctx, thoonk.NoWait)
	if err != nil {
		log.Fatal(err)
	}
	if err = jobs.FinishWith(ctx, claim.Held, claim.Item*claim.Item, time.Minute); err != nil {
		log.Fatal(err)
	}
	e := <-done
	fmt.Println(e.Result, e.Err)
	// Output: 144 <nil>
}

// Each address is handed out once per period, to one of the programs that ask.
func ExampleRecurring() {
	ctx := context.Background()
	client, err := thoonk.Open("memory://thoonk-recurring")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	pages, err := thoonk.OpenRecurring[string](ctx, client, "pages to poll", 10*time.Millisecond, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err = pages.Add(ctx, "https://example.org/feed"); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		due, err := pages.Get(ctx, 0)
		fmt.Println(due.Item, err)
	}
	// Output:
	// https://example.org/feed <nil>
	// https://example.org/feed <nil>
}

// The methods of an object are scripts, which programs of any language share.
func ExampleObject() {
	ctx := context.Background()
	client, err := thoonk.Open("memory://thoonk-object")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	visits, err := client.Object(thoonk.ObjectType{Name: "visits", Scripts: map[string]string{
		"count": `return { false, redis.call('INCRBY', 'visits:' .. ARGV[1], ARGV[2]) }`,
	}}, "home")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(visits.Run(ctx, "count", 3))
	// Output: [3] <nil>
}
