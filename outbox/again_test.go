package outbox_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

// What a call has is read again from the table before it is sent again: all that goes with a job must come with it.
func TestACallThatIsSentAgainHasTheKeysOfItsJobs(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = driver.Close() })
		var lost atomic.Bool
		enq, err := work.NewEnqueuer("", work.Namespace(k.namespace),
			work.WithConnection(pooltest.Connection{Of: (&pooltest.Tampered{Tamper: func(ctx context.Context,
				pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
				if strings.HasPrefix(pooltest.NameOf(calls[0]), "enqueue") && !lost.Swap(true) {
					return nil, pooltest.ErrLuck // Redis has not got it
				}
				return pass(ctx, calls...)
			}}).Over(driver)}))
		require.NoError(t, err)
		t.Cleanup(func() { _ = enq.Close() })
		entry := func(id, key string, weight int) work.Entry {
			return work.Entry{Name: "sync", Args: []any{1},
				Options: []work.EnqueueOption{work.ID(id), work.Key(key), work.Weight(weight)}}
		}
		k.enqueue(entry("a1", "large", 1), entry("a2", "large", 1), entry("a3", "large", 1), entry("b1", "small", 2),
			entry("b2", "small", 2))
		stop := k.run(k.relay(enq, outbox.RelayOptions{}))
		k.emptied()
		stop()
		require.True(t, told[outbox.Relayed](k)[0].Again)
		require.NoError(t, k.workers(1, "sync").Drain(t.Context()))
		k.mu.Lock()
		defer k.mu.Unlock()
		assert.Equal(t, []string{"b1", "a1", "b2", "a2", "a3"}, k.order)
	})
}

// Redis answers by places in the call as it was sent first. Where rows were deleted since, nobody can tell whom that
// answer is about: no row may be taken for stored that is not, and none may hold up its lane.
func TestRowsThatAreDeletedWhileTheirCallIsOpenLoseNoOthers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		names    []string // the first row is deleted
		executed bool     // before
		parked   []string
	}{
		"one behind it was refused":     {[]string{"a", "broken", "c"}, true, []string{"broken", "c"}},
		"the last one was refused":      {[]string{"a", "c", "broken"}, true, []string{"c", "broken"}},
		"the only other was refused":    {[]string{"a", "broken"}, true, []string{"broken"}},
		"none was refused":              {[]string{"a", "b", "c"}, true, nil},
		"Redis had not got it":          {[]string{"a", "b", "c"}, false, nil},
		"Redis refuses one behind that": {[]string{"a", "broken", "c"}, false, []string{"broken", "c"}},
		"it was refused itself":         {[]string{"broken", "b", "c"}, true, []string{"b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, sqlite(t), s.DSN())
				driver, err := redisconn.Open(s.DSN())
				require.NoError(t, err)
				t.Cleanup(func() { _ = driver.Close() })
				_, err = redisconn.Do(t.Context(), driver, redisconn.Call{Command: "SET",
					Args: []any{"{" + k.namespace + "}:queue:broken", "no list"}})
				require.NoError(t, err)
				var entries []work.Entry
				for _, name := range row.names {
					entries = append(entries, work.Entry{Name: name, Args: []any{1}})
				}
				deleted := k.enqueue(entries...)[0].ID
				var lost atomic.Bool
				enq, err := work.NewEnqueuer("", work.Namespace(k.namespace),
					work.WithConnection(pooltest.Connection{Of: (&pooltest.Tampered{Tamper: func(ctx context.Context,
						pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
						if !strings.HasPrefix(pooltest.NameOf(calls[0]), "enqueue") || lost.Swap(true) {
							return pass(ctx, calls...)
						}
						if row.executed {
							_, err := pass(ctx, calls...)
							assert.NoError(t, err)
						}
						k.exec("DELETE FROM $ WHERE job_id = ?", deleted)
						return nil, pooltest.ErrLuck
					}}).Over(driver)}))
				require.NoError(t, err)
				t.Cleanup(func() { _ = enq.Close() })
				stop := k.run(k.relay(enq, outbox.RelayOptions{}))
				require.Eventually(t, func() bool {
					return lost.Load() && k.number("SELECT COUNT(*) FROM $ WHERE state = 0") == 0
				}, patience, 2*time.Millisecond)
				stop()
				rows, err := k.box.Parked(t.Context(), k.db, 10)
				require.NoError(t, err)
				var parked []string
				for _, row := range rows {
					parked = append(parked, row.Name)
					assert.Contains(t, row.Reason, "were deleted")
				}
				assert.Equal(t, row.parked, parked)
			})
		})
	}
}
