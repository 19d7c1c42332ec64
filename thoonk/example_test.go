package thoonk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	_ "github.com/265d0351/work/embedded" // memory://
	"github.com/265d0351/work/thoonk"
)

func Example() {
	ctx := context.Background()
	client, err := thoonk.Open("memory://thoonk")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	type picture struct{ Path string }
	if err := client.Create(ctx, "thumbnails", thoonk.Config{Kind: thoonk.KindJob}); err != nil {
		log.Fatal(err)
	}
	jobs, err := thoonk.OpenJobFeed[picture, string](ctx, client, "thumbnails", nil, nil)
	if err != nil {
		log.Fatal(err)
	}

	var worker sync.WaitGroup
	worker.Go(func() {
		claim, err := jobs.Get(ctx, 0)
		if err != nil {
			log.Fatal(err)
		}
		if err := jobs.FinishWith(ctx, claim.Held, "small "+claim.Item.Path, 0); err != nil {
			log.Fatal(err)
		}
	})

	id, err := jobs.Put(ctx, picture{Path: "cat.png"})
	if err != nil {
		log.Fatal(err)
	}
	result, err := jobs.Result(ctx, id, time.Minute)
	fmt.Println(result.Item.Path, "->", result.Result, err)
	worker.Wait()
	// Output: cat.png -> small cat.png <nil>
}

// shop is a client of an embedded Redis, and a feed of that kind in it.
func shop(name string, config thoonk.Config) *thoonk.Client {
	client, err := thoonk.Open("memory://thoonk")
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Create(context.Background(), name, config); err != nil {
		log.Fatal(err)
	}
	return client
}

func ExampleLeaf() {
	ctx := context.Background()
	client := shop("news", thoonk.Config{MaxLength: 2})
	defer client.Close()
	news, err := thoonk.OpenLeaf[string](ctx, client, "news", nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"mon", "tue", "wed", "tue"} {
		_, edited, err := news.Publish(ctx, "news of "+id, thoonk.WithID(id))
		fmt.Println(id, edited, err)
	}
	for item, err := range news.All(ctx) {
		fmt.Println(item.ID, item.Value, err)
	}
	// Output:
	// mon false <nil>
	// tue false <nil>
	// wed false <nil>
	// tue true <nil>
	// wed news of wed <nil>
	// tue news of tue <nil>
}

func ExampleSortedFeed() {
	ctx := context.Background()
	client := shop("chores", thoonk.Config{Kind: thoonk.KindSorted})
	defer client.Close()
	chores, err := thoonk.OpenSortedFeed[string](ctx, client, "chores", nil)
	if err != nil {
		log.Fatal(err)
	}
	dishes, _ := chores.Append(ctx, "dishes")
	floor, _ := chores.InsertAfter(ctx, dishes, "floor")
	_ = chores.MoveBefore(ctx, floor, dishes)
	for item, err := range chores.All(ctx) {
		fmt.Println(item.ID, item.Value, err)
	}
	// Output:
	// 2 floor <nil>
	// 1 dishes <nil>
}

func ExampleQueue() {
	ctx := context.Background()
	client := shop("mail", thoonk.Config{Kind: thoonk.KindQueue})
	defer client.Close()
	mail, err := thoonk.OpenQueue(ctx, client, "mail", thoonk.Codec[[]byte](thoonk.Raw{}))
	if err != nil {
		log.Fatal(err)
	}
	for _, letter := range []string{"one", "two"} {
		if _, err := mail.Put(ctx, []byte(letter)); err != nil {
			log.Fatal(err)
		}
	}
	for {
		letter, err := mail.Get(ctx, 10*time.Millisecond)
		if errors.Is(err, thoonk.ErrEmpty) {
			fmt.Println("that is all")
			return
		}
		fmt.Println(string(letter.Value), err)
	}
	// Output:
	// one <nil>
	// two <nil>
	// that is all
}

func ExampleJobFeed_Maintain() {
	ctx := context.Background()
	client := shop("orders", thoonk.Config{Kind: thoonk.KindJob})
	defer client.Close()
	orders, err := thoonk.OpenJobFeed[string, string](ctx, client, "orders", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	_, _ = orders.Put(ctx, "an order", thoonk.WithID("17"))
	_, _ = orders.Get(ctx, 0) // and its worker dies
	done, err := orders.Maintain(ctx, thoonk.Patience{MaxAge: time.Hour, MaxCancels: 3})
	fmt.Println(len(done.Cancelled), "too old,", err)
	running, _ := orders.Running(ctx)
	_ = orders.Stall(ctx, running[0]) // by hand, whoever holds it
	_ = orders.Retry(ctx, "17")
	fmt.Println(orders.Retry(ctx, "17"))
	// Output:
	// 0 too old, <nil>
	// feed "orders", item "17": the job is not stalled, so it cannot be retried
}

func ExampleClient_Subscribe() {
	ctx := context.Background()
	client := shop("weather", thoonk.Config{})
	defer client.Close()
	weather, err := thoonk.OpenLeaf[string](ctx, client, "weather", nil)
	if err != nil {
		log.Fatal(err)
	}
	events, err := client.Subscribe(ctx, thoonk.Watch{Feeds: []string{"weather"}, Registry: true})
	if err != nil {
		log.Fatal(err)
	}
	for event := range events {
		switch event.What {
		case thoonk.Connected:
			_, _, _ = weather.Publish(ctx, "rain", thoonk.WithID("today"))
		case thoonk.Published:
			fmt.Println(event.ID, string(event.Item))
			_ = client.Delete(ctx, "weather")
		case thoonk.Deleted:
			fmt.Println(event.Feed, "was deleted by me:", event.Own)
			return
		}
	}
	// Output:
	// today "rain"
	// weather was deleted by me: true
}

func ExampleClient_Open() {
	ctx := context.Background()
	client := shop("tasks", thoonk.Config{Kind: thoonk.KindQueue})
	defer client.Close()
	feed, err := client.Open(ctx, "tasks")
	if err != nil {
		log.Fatal(err)
	}
	switch feed := feed.(type) {
	case *thoonk.Queue[[]byte]:
		id, err := feed.Put(ctx, []byte("any bytes"), thoonk.WithID("1"))
		fmt.Println(feed.Name(), id, err)
	default:
		fmt.Println("another kind:", feed.Kind())
	}
	fmt.Println(client.Create(ctx, "tasks", thoonk.Config{}))
	// Output:
	// tasks 1 <nil>
	// feed "tasks": there is a feed of that name: open it, or delete it first
}
