package work_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
)

type tenantKey struct{}

// forTenant gives every job the tenant of the request that enqueues it, and lets no job go without one.
func forTenant(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
	tenant, ok := ctx.Value(tenantKey{}).(string)
	if !ok {
		return errors.New("who is it for?")
	}
	for i := range entries {
		entries[i].Options = append(entries[i].Options, work.Meta("tenant", tenant))
	}
	receipts, err := next(ctx, entries)
	for _, receipt := range receipts {
		if receipt.ID != "" {
			fmt.Println(receipt.Name, "of", tenant, "is stored")
		}
	}
	return err
}

func ExampleEnqueueMiddleware() {
	enq, err := work.NewEnqueuer("memory://example-around", work.WithEnqueueMiddleware(forTenant))
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	ctx := context.Background()
	_, err = enq.Enqueue(context.WithValue(ctx, tenantKey{}, "acme"), "export", 42)
	fmt.Println(err)
	_, err = enq.Enqueue(ctx, "export", 43)
	fmt.Println(err)
	// Output:
	// export of acme is stored
	// <nil>
	// job "export" is not stored: who is it for?
}
