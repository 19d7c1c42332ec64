package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

var tables atomic.Int64

// kit is a table, a namespace, and a ledger of what ran.
type kit struct {
	*testing.T
	d         database
	db        *sql.DB
	table     string
	box       *outbox.Outbox
	redis     string
	namespace string

	mu     sync.Mutex
	ran    map[string]int // by id
	order  []string       // ids as they began
	events []outbox.Event
}

func newKit(t *testing.T, d database, redis string) *kit {
	k := &kit{T: t, d: d, db: d.open(t), redis: redis, namespace: redistest.Namespace(t), ran: map[string]int{},
		table: fmt.Sprintf("outbox_%d", tables.Add(1))}
	k.box = k.newBox()
	require.NoError(t, k.box.Migrate(t.Context(), k.db))
	return k
}

func (k *kit) newBox() *outbox.Outbox {
	k.Helper()
	box, err := outbox.New(k.d.Dialect, outbox.Table(k.table))
	require.NoError(k, err)
	return box
}

func (k *kit) enqueuer(opts ...work.EnqueuerOption) *work.Enqueuer {
	k.Helper()
	enq, err := work.NewEnqueuer(k.redis, append(opts, work.Namespace(k.namespace))...)
	require.NoError(k, err)
	k.Cleanup(func() { _ = enq.Close() })
	return enq
}

// relay is a relay that tells the kit.
func (k *kit) relay(enq *work.Enqueuer, options outbox.RelayOptions) *outbox.Relay {
	k.Helper()
	options.Logger, options.Observer = slog.New(slog.DiscardHandler), k.observe
	if options.Poll == 0 {
		options.Poll = 5 * time.Millisecond
	}
	relay, err := k.box.Relay(k.db, enq, options)
	require.NoError(k, err)
	return relay
}

func (k *kit) observe(e outbox.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

// told are the events of one type.
func told[E outbox.Event](k *kit) (of []E) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.events {
		if e, is := e.(E); is {
			of = append(of, e)
		}
	}
	return of
}

// run runs a relay until the test ends or the function that it returns is called.
func (k *kit) run(relay *outbox.Relay) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(k, <-ended)
	})
	k.Cleanup(stop)
	return stop
}

// workers starts a pool whose handlers write the ledger.
func (k *kit) workers(concurrency int, names ...string) *work.WorkerPool {
	k.Helper()
	pool := work.NewWorkerPool(nil, concurrency, work.WorkerOptions{Redis: k.redis, Namespace: k.namespace,
		Logger: slog.New(slog.DiscardHandler)})
	for _, name := range names {
		pool.Job(name, func(job *work.Job, _ int) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.ran[job.ID]++
			k.order = append(k.order, job.ID)
			return nil
		})
	}
	require.NoError(k, pool.Start(k.Context()))
	k.Cleanup(func() { require.NoError(k, pool.Stop(context.Background())) })
	return pool
}

// write enqueues so many jobs in a transaction each and commits all but every third of these. It returns the ids of the
// committed ones, in their order.
func (k *kit) write(n int, name, key string) (committed []string) {
	k.Helper()
	for i := range n {
		tx, err := k.db.BeginTx(k.Context(), nil)
		require.NoError(k, err)
		receipts, err := k.box.EnqueueOrdered(k.Context(), tx, key, work.Entry{Name: name, Args: []any{i}})
		require.NoError(k, err)
		if i%3 == 2 {
			require.NoError(k, tx.Rollback())
			continue
		}
		require.NoError(k, tx.Commit())
		committed = append(committed, receipts[0].ID)
	}
	return committed
}

// enqueue writes jobs in a transaction that is committed.
func (k *kit) enqueue(entries ...work.Entry) []work.Receipt {
	k.Helper()
	tx, err := k.db.BeginTx(k.Context(), nil)
	require.NoError(k, err)
	receipts, err := k.box.Enqueue(k.Context(), tx, entries...)
	require.NoError(k, err)
	require.NoError(k, tx.Commit())
	return receipts
}

// exec executes SQL, in which $ is the table.
func (k *kit) exec(query string, args ...any) {
	k.Helper()
	_, err := k.db.ExecContext(k.Context(), k.sql(query), args...)
	require.NoError(k, err)
}

// number is the answer of a query for one number.
func (k *kit) number(query string, args ...any) (n int64) {
	k.Helper()
	require.NoError(k, k.db.QueryRowContext(k.Context(), k.sql(query), args...).Scan(&n))
	return n
}

// sql is a query written with ? for parameters and $ for the table.
func (k *kit) sql(query string) string {
	query = strings.ReplaceAll(query, "$", k.table)
	for n := 1; k.d.Driver == "pgx" && strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprint("$", n), 1)
	}
	return query
}

// emptied waits until no row is left, parked ones included.
func (k *kit) emptied() {
	k.Helper()
	require.Eventually(k, func() bool { return k.number("SELECT COUNT(*) FROM $") == 0 }, patience, 2*time.Millisecond)
}

// ranOnce waits until the jobs have run, then looks that each ran once, and no other.
func (k *kit) ranOnce(pool *work.WorkerPool, want []string) {
	k.Helper()
	require.NoError(k, pool.Drain(k.Context()))
	k.mu.Lock()
	defer k.mu.Unlock()
	once := map[string]int{}
	for _, id := range want {
		once[id] = 1
	}
	require.Equal(k, once, k.ran)
}

// begun are the ids of those of some jobs that have begun, in that order.
func (k *kit) begun(of []string) (ids []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range k.order {
		if slices.Contains(of, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
