package turns_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// ledger notes what runs of each key.
type ledger struct {
	mu      sync.Mutex
	running map[string]int
	most    map[string]int
	next    map[string]int // of the jobs of a key that have ended
	wrong   []string
	tries   map[string]int
	done    int
}

func newLedger() *ledger {
	return &ledger{running: map[string]int{}, most: map[string]int{}, next: map[string]int{}, tries: map[string]int{}}
}

func (l *ledger) begin(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[key]++
	l.most[key] = max(l.most[key], l.running[key])
}

func (l *ledger) end(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[key]--
	l.done++
}

// enqueueInOrder stores n jobs of each of so many keys, which know their number among those of their key.
func (k *kit) enqueueInOrder(t *testing.T, name string, keys, n int) {
	t.Helper()
	var entries []work.Entry
	for i := range n {
		for c := range keys {
			key := fmt.Sprintf("c%d", c)
			entries = append(entries, work.Entry{Name: name, Args: []any{key, i},
				Options: []work.EnqueueOption{work.Key(key)}})
		}
	}
	_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
	require.NoError(t, err)
}

func TestNoMoreOfAKeyRunThanPerKeySays(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		l := newLedger()
		k.enqueueInOrder(t, "sync", 8, 20)
		var pools []*work.WorkerPool
		for range 3 {
			pools = append(pools, k.Tidy(work.NewWorkerPool(nil, 12, k.Options()).JobWithOptions("sync",
				work.JobOptions{PerKey: work.Limit{Concurrent: 2}},
				func(_ context.Context, key string, _ int) error {
					l.begin(key)
					defer l.end(key)
					k.Number("EXISTS", "jobs") // which takes a moment
					return nil
				})))
		}
		k.Until("all have ended", func() bool { return k.Number("EXISTS", "jobs") == 0 })
		for _, pool := range pools {
			require.NoError(t, k.Stop(pool))
		}
		assert.Equal(t, 160, l.done)
		for key, most := range l.most {
			assert.LessOrEqual(t, most, 2, key)
		}
		k.clean(t, "sync")
	})
}

// Whatever becomes of attempts, the jobs of a key come one after the other.
func TestAnOrderedKeyKeepsItsOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		l := newLedger()
		k.enqueueInOrder(t, "sync", 6, 15)
		handler := func(ctx context.Context, key string, nth int) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			id := work.JobFromContext(ctx).ID
			l.tries[id]++
			if nth != l.next[key] {
				l.wrong = append(l.wrong, fmt.Sprintf("%s: %d instead of %d", key, nth, l.next[key]))
			}
			switch n := len(l.tries); {
			case l.tries[id] > 1:
			case n%4 == 0:
				return errors.New("fails once")
			case n%4 == 1:
				return work.Snooze(time.Millisecond)
			case n%4 == 2:
				return work.Release(errors.New("not now"))
			}
			l.next[key]++
			l.done++
			return nil
		}
		var pools []*work.WorkerPool
		for range 3 {
			pools = append(pools, k.Tidy(work.NewWorkerPool(nil, 5, k.Options()).JobWithOptions("sync",
				work.JobOptions{Ordered: true,
					Backoff: func(*work.Job, error) time.Duration { return time.Millisecond }},
				handler)))
		}
		k.Until("all have ended", func() bool { return k.Number("EXISTS", "jobs") == 0 })
		for _, pool := range pools {
			require.NoError(t, k.Stop(pool))
		}
		assert.Empty(t, l.wrong)
		assert.Equal(t, 90, l.done)
		k.clean(t, "sync")
	})
}
