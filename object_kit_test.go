package work

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/objects"
)

// objects is the store of the namespace.
func (k *kit) objects() *objects.Store {
	k.t.Helper()
	store, err := objects.New(k.enq.core.store, objects.Options{})
	require.NoError(k.t, err)
	return store
}

// scriptCounter counts the calls of each script, and may do something before one.
type scriptCounter struct {
	rdb.Driver
	before func(script string) // may be nil

	mu     sync.Mutex
	counts map[string]int
}

func (d *scriptCounter) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	for _, call := range calls {
		if call.Script == nil {
			continue
		}
		d.mu.Lock()
		if d.counts == nil {
			d.counts = map[string]int{}
		}
		d.counts[nameOf(call)]++
		d.mu.Unlock()
		if d.before != nil {
			d.before(nameOf(call))
		}
	}
	return d.Driver.Pipeline(ctx, calls...)
}

func (d *scriptCounter) count(script string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[script]
}
