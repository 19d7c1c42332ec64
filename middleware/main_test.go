package middleware

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience is how long a test waits for a signal; nothing depends on it while all is well.
const patience = 2 * time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// runOne lets a pool run one job until nothing is due any more.
func runOne(t *testing.T, s redistest.Server, setup func(pool *work.WorkerPool)) work.Receipt {
	t.Helper()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{
		Redis: s.DSN(), Namespace: redistest.Namespace(t), Logger: slog.New(slog.DiscardHandler),
	})
	setup(pool)
	require.NoError(t, pool.Start(within(t)))
	receipt, err := pool.Enqueuer().Enqueue(within(t), "n")
	require.NoError(t, err)
	require.NoError(t, pool.Drain(within(t)))
	require.NoError(t, pool.Stop(within(t)))
	return receipt
}

// hourly keeps a retry out of the way of the test.
func hourly(*work.Job, error) time.Duration { return time.Hour }

// records is a slog.Handler that keeps what it gets.
type records struct {
	mu   sync.Mutex
	kept []slog.Record
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) WithGroup(string) slog.Handler            { return r }

func (r *records) Handle(_ context.Context, record slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, record)
	return nil
}

// only returns the one record there is, and its attributes as text.
func (r *records) only(t *testing.T) (slog.Record, map[string]string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.kept, 1)
	attributes := map[string]string{}
	r.kept[0].Attrs(func(a slog.Attr) bool { attributes[a.Key] = a.Value.String(); return true })
	return r.kept[0], attributes
}
