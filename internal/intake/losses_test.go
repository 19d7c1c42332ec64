package intake_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// heard are the losses that were told.
type heard struct {
	mu     sync.Mutex
	losses []intake.Loss
}

func (h *heard) note(loss intake.Loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.losses = append(h.losses, loss)
}

func (h *heard) take() []intake.Loss {
	h.mu.Lock()
	defer h.mu.Unlock()
	losses := h.losses
	h.losses = nil
	return losses
}

// forgotten is an Uploads that counts how often all was forgotten.
type forgotten struct{ times int }

func (*forgotten) Ensure(context.Context, string, []byte) error { return nil }
func (*forgotten) Forget(string)                                {}
func (f *forgotten) ForgetAll()                                 { f.times++ }

// lossy is an intake of which losses are heard.
func lossy(t *testing.T, play func(ctx context.Context, call sentCall) (rdb.Enqueued, error)) (*intake.Intake, *played,
	*heard, *forgotten) {
	t.Helper()
	store, told, uploads := &played{play: play, back: map[string]int64{}}, &heard{}, &forgotten{}
	config := configured(store)
	config.Lost, config.Uploads = told.note, uploads
	in := intake.New(config)
	t.Cleanup(func() { assert.NoError(t, in.Close()) })
	return in, store, told, uploads
}

func TestACallTellsWhichOneWasAnsweredBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, store, _, _ := lossy(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.nth == 1 {
				return rdb.Enqueued{}, &redisconn.ServerError{Code: "ERR", Message: "ERR refused"}
			}
			return stored, nil
		})
		for range 3 {
			put(t.Context(), in, "a")
		}
		elapse(13 * time.Hour)
		put(t.Context(), in, "a")
		put(t.Context(), in, "a")
		var known []int64
		for _, call := range store.sent() {
			known = append(known, call.known)
		}
		assert.Equal(t, []int64{0, 1, 1, 0, 4}, known, "a lane that was silent for long may have been removed")
	})
}

func TestWhatAFailoverLostIsToldWithTheNextCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, _, told, uploads := lossy(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			switch call.number {
			case 3:
				return rdb.Enqueued{Time: storedAt, Problems: map[int]rdb.Problem{0: rdb.Duplicate}}, nil
			case 5:
				return rdb.Enqueued{Time: storedAt, Rewound: rdb.Rewind{Had: 1, At: 5}}, nil
			}
			return stored, nil
		})
		for i := range 7 {
			require.NoError(t, put(t.Context(), in, fmt.Sprint("j", i+1)).Err)
		}
		synctest.Wait()
		assert.Equal(t, []intake.Loss{{IDs: []string{"j2", "j4"}, Failover: true}}, told.take(),
			"once, without the duplicate, which nobody stored, and without the call that found it")
		assert.Equal(t, 1, uploads.times, "what was uploaded may be gone as well")
	})
}

// One lane that went back is a reason to look at the others: what they have lost is told at the same time.
func TestALossIsOfAllLanes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		in, store, told, _ := lossy(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.nth < intake.Lanes {
				<-gate
			}
			return stored, nil
		})
		wait := occupy(t, in)
		close(gate)
		wait()
		for _, call := range store.sent() {
			store.goBack(call.lane, 0)
		}
		store.play = func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			store.goBack(call.lane, -1)
			return rdb.Enqueued{Time: storedAt, Rewound: rdb.Rewind{Had: 0, At: call.number}}, nil
		}
		require.NoError(t, put(t.Context(), in, "next").Err)
		synctest.Wait()
		assert.Equal(t, []intake.Loss{{IDs: []string{"occupies", "occupies"}}}, told.take(),
			"nothing is known of any lane: all is gone, which is no failover")
	})
}

func TestAQuietIntakeLooksOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, store, told, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil })
		for i := range 3 {
			require.NoError(t, put(t.Context(), in, fmt.Sprint("j", i+1)).Err)
			elapse(20 * time.Second)
		}
		assert.Zero(t, store.looked(), "it was not quiet")
		store.goBack(store.sent()[0].lane, 2)
		elapse(11 * time.Second)
		assert.Equal(t, []intake.Loss{{IDs: []string{"j3"}, Failover: true}}, told.take())
		looks := store.looked()
		elapse(time.Hour)
		assert.Equal(t, looks, store.looked(), "one is enough")
	})
}

func TestNobodyLooksBehindAnIntakeThatIsClosedOrUnused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &played{play: func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil }}
		in := intake.New(configured(store))
		elapse(time.Hour)
		require.NoError(t, put(t.Context(), in, "a").Err)
		require.NoError(t, in.Close())
		elapse(time.Hour)
		assert.Zero(t, store.looked())
	})
}

// What goes back further than is remembered is told without names.
func TestALossThatIsNotRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rewound := rdb.Rewind{}
		in, _, told, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) {
			return rdb.Enqueued{Time: storedAt, Rewound: rewound}, nil
		})
		many := make([]intake.Job, rdb.MaxBatch)
		for i := range many {
			many[i] = *job(fmt.Sprint(i))
		}
		for range 21 { // 10,500 jobs
			require.NoError(t, in.PutAll(t.Context(), many, func(int, intake.Result) {}))
		}
		rewound = rdb.Rewind{Had: 0, At: 22}
		require.NoError(t, put(t.Context(), in, "finds it").Err)
		synctest.Wait()
		losses := told.take()
		require.Len(t, losses, 1)
		assert.Len(t, losses[0].IDs, 10_000)
		assert.EqualError(t, losses[0].Err, "1 calls before those are lost as well: the last 10000 jobs of 30s are "+
			"remembered, and Redis has gone back further")
	})
}
