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
				return rdb.Enqueued{}, &redisconn.ServerError{Code: "BADKEY", Message: "BADKEY refused"}
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
		unused := intake.New(configured(store))
		elapse(time.Hour)
		require.NoError(t, unused.Close())
		quiet := intake.New(configured(store))
		require.NoError(t, put(t.Context(), quiet, "a").Err)
		elapse(time.Hour)
		looks := store.looked()
		require.NoError(t, quiet.Close())
		assert.Equal(t, looks, store.looked(), "it has looked since its last call")
		in := intake.New(configured(store))
		require.NoError(t, put(t.Context(), in, "a").Err)
		require.NoError(t, in.Close())
		looks = store.looked()
		elapse(time.Hour)
		assert.Equal(t, looks, store.looked(), "Close has ended it")
	})
}

// A program that enqueues and ends hears of what a failover lost meanwhile, or ends without.
func TestCloseLooksWhatWasLost(t *testing.T) {
	t.Parallel()
	stores := func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil }
	t.Run("and tells it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store, told := &played{play: stores, back: map[string]int64{}}, &heard{}
			config := configured(store)
			config.Lost = told.note
			in := intake.New(config)
			require.NoError(t, put(t.Context(), in, "j1").Err)
			require.NoError(t, put(t.Context(), in, "j2").Err)
			store.goBack(store.sent()[0].lane, 1)
			require.NoError(t, in.Close())
			assert.Equal(t, []intake.Loss{{IDs: []string{"j2"}, Failover: true}}, told.take())
		})
	})
	t.Run("for a second", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &played{play: stores, peek: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			in := intake.New(configured(store))
			require.NoError(t, put(t.Context(), in, "a").Err)
			began := time.Now()
			require.NoError(t, in.Close())
			assert.Equal(t, time.Second, time.Since(began))
		})
	})
}

// What a look has seen before a call was answered is older than what the answer says.
func TestALookBesideACallTellsALossOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, rewound := make(chan struct{}), rdb.Rewind{}
		in, store, told, _ := lossy(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.number < 3 {
				return stored, nil
			}
			return rdb.Enqueued{Time: storedAt, Rewound: rewound}, nil
		})
		many := make([]intake.Job, rdb.MaxBatch)
		for i := range many {
			many[i] = *job(fmt.Sprint(i))
		}
		for range 2 {
			require.NoError(t, in.PutAll(t.Context(), many, func(int, intake.Result) {}))
		}
		elapse(20 * time.Second)
		store.peek = func(context.Context) error {
			<-gate
			return nil
		}
		store.goBack(store.sent()[0].lane, 1)
		elapse(11 * time.Second) // the look has its answer, and the lane of it has not
		rewound = rdb.Rewind{Had: 1, At: 3}
		require.NoError(t, put(t.Context(), in, "finds it").Err)
		store.goBack(store.sent()[0].lane, -1)
		close(gate)
		synctest.Wait()
		losses := told.take()
		require.Len(t, losses, 1)
		assert.Len(t, losses[0].IDs, rdb.MaxBatch)
		require.NoError(t, put(t.Context(), in, "after").Err)
		calls := store.sent()
		assert.Equal(t, int64(3), calls[len(calls)-1].known, "what the look has seen is older")
	})
}

// One lane is told of losses while the other one calls: the race detector sees what they do to each other, unless their
// time is a bubble's.
func TestLanesThatLoseTogether(t *testing.T) {
	t.Parallel()
	in, store, _, _ := lossy(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
		elapse(100 * time.Microsecond)
		if call.nth%20 == 0 && call.known > 3 {
			return rdb.Enqueued{Time: storedAt, Rewound: rdb.Rewind{Had: call.known - 2, At: call.number}}, nil
		}
		return stored, nil
	})
	var callers sync.WaitGroup
	for range intake.Lanes {
		callers.Go(func() {
			for i := range 300 {
				if i%10 == 5 {
					for _, call := range store.sent() {
						store.goBack(call.lane, 2)
					}
				}
				assert.NoError(t, put(context.Background(), in, "a").Err)
			}
		})
	}
	callers.Wait()
}

// A call that was under way while a look found its lane's loss is told of it as well, which is no other loss.
func TestACallBesideALookTellsALossOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		in, store, told, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) {
			<-gate
			return stored, nil
		})
		wait := occupy(t, in)
		close(gate)
		wait()
		elapse(time.Minute) // their ids are not remembered
		for _, call := range store.sent() {
			store.goBack(call.lane, 0)
		}
		held := make(chan struct{})
		store.play = func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.ids[0] == "held" {
				<-held
			}
			store.goBack(call.lane, -1)
			return rdb.Enqueued{Time: storedAt, Rewound: rdb.Rewind{Had: 0, At: call.number}}, nil
		}
		var caller sync.WaitGroup
		caller.Go(func() { assert.NoError(t, put(context.Background(), in, "held").Err) })
		synctest.Wait()
		require.NoError(t, put(t.Context(), in, "finds it").Err)
		synctest.Wait()
		losses := told.take()
		require.Len(t, losses, 1)
		assert.ErrorContains(t, losses[0].Err, "2 calls before those are lost as well", "one of each lane")
		close(held)
		caller.Wait()
		synctest.Wait()
		assert.Empty(t, told.take())
	})
}

// What nobody asks for any more is given back: a loss that is found later is told without names.
func TestAQuietIntakeForgetsWhatItStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rewound := rdb.Rewind{}
		in, _, told, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) {
			return rdb.Enqueued{Time: storedAt, Rewound: rewound}, nil
		})
		for range 3 { // a ring would lose one of them to the next job
			require.NoError(t, put(t.Context(), in, "old").Err)
		}
		elapse(time.Minute)
		require.NoError(t, put(t.Context(), in, "young").Err)
		rewound = rdb.Rewind{Had: 0, At: 5}
		require.NoError(t, put(t.Context(), in, "finds it").Err)
		synctest.Wait()
		losses := told.take()
		require.Len(t, losses, 1)
		assert.Equal(t, []string{"young"}, losses[0].IDs)
		assert.ErrorContains(t, losses[0].Err, "3 calls before those are lost as well")
	})
}

// A call that comes while a quiet intake looks is looked at later.
func TestACallBesideALookIsLookedAtAsWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, store, told, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil })
		gate := make(chan struct{})
		store.peek = func(context.Context) error {
			<-gate
			return nil
		}
		require.NoError(t, put(t.Context(), in, "j1").Err)
		elapse(31 * time.Second)
		require.Equal(t, 1, store.looked())
		require.NoError(t, put(t.Context(), in, "j2").Err)
		close(gate)
		synctest.Wait()
		store.goBack(store.sent()[0].lane, 1)
		elapse(31 * time.Second)
		assert.Equal(t, []intake.Loss{{IDs: []string{"j2"}, Failover: true}}, told.take())
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
