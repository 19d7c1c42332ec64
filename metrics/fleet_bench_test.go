package metrics

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func BenchmarkReadAFleetOf100Queues(b *testing.B) {
	namespace := redistest.Namespace(b)
	dsn := redistest.Real(b).DSN()
	enqueuer, err := work.NewEnqueuer(dsn, work.Namespace(namespace))
	require.NoError(b, err)
	defer enqueuer.Close() //lint:ignore errcheck nothing is lost
	for n := range 100 {
		entries := make([]work.Entry, 10)
		for k := range entries {
			entries[k].Name = fmt.Sprint("queue ", n)
		}
		_, err := enqueuer.EnqueueMany(context.Background(), entries)
		require.NoError(b, err)
	}
	inspector, err := inspect.New(dsn, work.Namespace(namespace))
	require.NoError(b, err)
	defer inspector.Close() //lint:ignore errcheck nothing is lost
	f := newFleet(inspector, FleetOptions{Logger: quiet})
	for b.Loop() {
		require.NoError(b, f.read().err)
	}
}
