package turns_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestANewcomerBeginsAtTheNextTurn: all processors are busy with jobs of a customer who has many more. Once they are
// free one by one, each fetch is for a single job: at most one more of that customer begins before the first of
// another.
func TestANewcomerBeginsAtTheNextTurn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const processors = 4
		began, leave := make(chan string, 1000), make(chan struct{})
		k.enqueue(t, "sync", "large", 500)
		pool := k.Start(work.NewWorkerPool(nil, processors, k.Options()).
			Job("sync", func(ctx context.Context, key string) error {
				began <- key
				select {
				case <-leave:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}))
		for range processors {
			assert.Equal(t, "large", pooltest.Receive(t, began))
		}
		require.Equal(t, processors, k.Number("HLEN", "claimed"), "nothing is fetched that no processor is free for")
		k.enqueue(t, "sync", "small", 1)
		var order []string
		for !slices.Contains(order, "small") {
			require.Less(t, len(order), 2, "it is not its turn")
			leave <- struct{}{}
			order = append(order, pooltest.Receive(t, began))
		}
		close(leave)
		require.NoError(t, pool.Drain(k.Ctx()))
		k.clean(t, "sync")
	})
}
