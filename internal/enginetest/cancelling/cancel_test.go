package cancelling_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// outcomeOf is what is kept of a job.
func (k *kit) outcomeOf(id string) (kept record.Outcome) {
	k.T.Helper()
	require.NoError(k.T, json.Unmarshal([]byte(k.Text("HGET", "outcomes", id)), &kept), id)
	return kept
}

// keepUnbegun puts a job where a test wants it, with all that may belong to one.
func (k *kit) keepUnbegun(place, id string) {
	k.T.Helper()
	k.Do("HSET", "jobs", id, `{"jid":"`+id+`","name":"a","args":[],"t":1,"retention":3600000,"lock":"digest","lock_kind":"f",`+
		`"completion":"ends","objects":{"0":"sha"}}`)
	k.Do("HSET", "trail", id, `{"fails":1,"log":true,"state":true}`)
	k.Do("HSET", "unique", "digest", id+" 0 f")
	k.Do("RPUSH", "log:"+id, "line")
	k.Do("SET", "state:"+id, "5")
	k.Do("SADD", "object:sha:jobs", id, "another")
	if place == "queue" {
		k.Do("LPUSH", "queue:a", id)
		k.Do("SADD", "ready", "a")
		return
	}
	k.Do("ZADD", place, time.Now().Add(time.Hour).UnixMilli(), id)
	k.Do("HSET", "names", id, "a")
}

func TestAJobThatRestsIsCancelledAtOnceWithAllThatBelongsToIt(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"queue", "scheduled", "retry", "stalled"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.keepUnbegun(place, "x")
				began := time.Now()
				assert.Equal(t, work.CancelResult{ID: "x", Effect: work.CancelEnded, State: work.StateCancelled},
					k.Cancel("x"))

				assert.Equal(t, record.Cancelled, k.outcomeOf("x").State)
				assert.InDelta(t, began.UnixMilli(), k.outcomeOf("x").EndedAt,
					float64(pooltest.Patience.Milliseconds()))
				k.DueIn(began, "outcomes:until", "x", time.Hour)
				k.Empty("a")
				k.Unflagged()
				assert.Zero(t, k.Number("ZCARD", "stalled"))
				assert.Zero(t, k.Number("HLEN", "unique"), "its lock is free")
				assert.Zero(t, k.Number("EXISTS", "log:x")+k.Number("EXISTS", "state:x"))
				assert.Equal(t, []string{"cancelled x"}, k.Strings("LRANGE", "completion:ends", 0, -1))
				assert.Equal(t, []string{"another"}, k.Strings("SMEMBERS", "object:sha:jobs"))

				again := k.Cancel("x")
				assert.Equal(t, work.CancelResult{ID: "x", Effect: work.CancelTooLate, State: work.StateCancelled},
					again)
				require.NoError(t, again.Err(), "it is cancelled, as was wanted")
				k.Unflagged()
			})
		})
	}
}

func TestThatAJobWasCancelledIsKeptForAMinute(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipt, err := k.Enq.EnqueueIn(k.Ctx(), "a", time.Hour)
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, k.Cancel(receipt.ID).Err())
		k.DueIn(began, "outcomes:until", receipt.ID, time.Minute)
		_, err = work.Result[int](k.Ctx(), k.Enq, receipt.ID)
		var none *work.NoResultError
		require.ErrorAs(t, err, &none)
		assert.Equal(t, record.Cancelled, none.State)
	})
}

func TestCancelSaysWhatCannotBeCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.keepUnbegun("morgue", "dead")
		k.Do("HSET", "outcomes", "done", `{"state":"done","ended":5}`, "dropped", `{"state":"discarded","ended":5}`)
		for id, want := range map[string]struct {
			result work.CancelResult
			text   string
		}{
			"dead": {work.CancelResult{ID: "dead", Effect: work.CancelDead, State: work.StateDead},
				`job "dead" cannot be cancelled: it is dead and will not run by itself; delete it instead`},
			"done": {work.CancelResult{ID: "done", Effect: work.CancelTooLate, State: work.StateSucceeded},
				`job "done" cannot be cancelled: it has ended as succeeded`},
			"dropped": {work.CancelResult{ID: "dropped", Effect: work.CancelTooLate, State: work.StateDiscarded},
				`job "dropped" cannot be cancelled: it has ended as discarded`},
			"nobody": {work.CancelResult{ID: "nobody", Effect: work.CancelNotFound, State: ""}, `job "nobody" cannot be cancelled: ` +
				work.ErrNotFound.Error()},
		} {
			result := k.Cancel(id)
			assert.Equal(t, want.result, result, id)
			err := result.Err()
			require.EqualError(t, err, want.text)
			var refused *work.CancelError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, want.result, refused.CancelResult)
			assert.Equal(t, id == "nobody", errchain.Is(err, work.ErrNotFound), id)
		}
		k.Unflagged()
		assert.Equal(t, 1, k.Number("ZCARD", "morgue"), "it is still there")
		assert.EqualError(t, work.CancelResult{ID: "x"}.Err(),
			`it is not known whether job "x" was cancelled: cancel it again`)
		encoded, err := json.Marshal([]work.CancelResult{k.Cancel("dead"), k.Cancel("nobody")})
		require.NoError(t, err)
		assert.JSONEq(t, `[{"id":"dead","effect":"dead","state":"dead"},{"id":"nobody","effect":"not found"}]`,
			string(encoded))
	})
}

func TestCancelRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("a").ID
		for name, bad := range map[string]string{"empty": "", "long": strings.Repeat("x", 201), "control": "a\n"} {
			t.Run(name, func(t *testing.T) {
				results, err := k.Enq.Cancel(k.Ctx(), id, bad)
				var invalid *work.InvalidError
				require.ErrorAs(t, err, &invalid)
				assert.Empty(t, results)
				assert.Equal(t, 1, k.Number("LLEN", "queue:a"), "nothing was done")
			})
		}
		results, err := k.Enq.Cancel(k.Ctx())
		require.NoError(t, err)
		assert.Empty(t, results)
		require.NoError(t, k.Enq.Close())
		_, err = k.Enq.Cancel(k.Ctx(), id)
		require.ErrorIs(t, err, work.ErrClosed)
	})
}

func TestCancelOfThousandsOfJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 3*rdb.MaxBatch + 7
		entries := make([]work.Entry, jobs)
		for n := range entries {
			entries[n] = work.Entry{Name: fmt.Sprint("a", n%3), Args: []any{n}, In: time.Duration(n%2) * time.Hour}
		}
		// one script cannot answer it with others
		entries[5].Args = []any{strings.Repeat("x", 1<<19), strings.Repeat("y", 1<<19)}
		receipts, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		var ids []string
		for n, receipt := range receipts {
			ids = append(ids, receipt.ID)
			if n%100 == 0 {
				ids = append(ids, fmt.Sprint("nobody", n), receipt.ID) // twice
			}
		}
		results, err := k.Enq.Cancel(k.Ctx(), ids...)
		require.NoError(t, err)
		require.Len(t, results, len(ids))
		for i, result := range results {
			require.Equal(t, ids[i], result.ID)
			if strings.HasPrefix(ids[i], "nobody") {
				require.Equal(t, work.CancelNotFound, result.Effect)
				continue
			}
			require.NoError(t, result.Err())
		}
		k.Empty("a0", "a1", "a2")
		k.Unflagged()
		assert.Equal(t, jobs, k.Number("HLEN", "outcomes"))
	})
}

func TestAJobThatStandsDeepInItsQueueReadsAsCancelledAndNeverRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("a", 0, 20_100)
		deep := receipts[len(receipts)/2].ID
		k.Do("HSET", "waited", deep, time.Now().Add(time.Hour).UnixMilli())
		assert.Equal(t, work.CancelEnded, k.Cancel(deep).Effect)
		assert.Equal(t, record.Cancelled, k.outcomeOf(deep).State)
		assert.Zero(t, k.Number("HLEN", "waited"), "those who wait were told")
		assert.Equal(t, 20_100, k.Number("LLEN", "queue:a"), "it is still there")
		require.NoError(t, k.Cancel(deep).Err(), "again")

		ran := pooltest.NewTally()
		pool := k.Start(work.NewWorkerPool(nil, 200, k.Options()).Job("a", ran.Handle))
		require.NoError(t, pool.Drain(k.Ctx()))
		ran.Once(t, append(receipts[:len(receipts)/2:len(receipts)/2], receipts[len(receipts)/2+1:]...))
		assert.Equal(t, deep, pooltest.Await[event.JobCancelled](t, k.Spy, nil).ID)
		assert.Equal(t, 1, pooltest.Count[event.JobCancelled](k.Spy))
		assert.Equal(t, record.Cancelled, k.outcomeOf(deep).State)
		k.Empty("a")
		k.Unflagged()
	})
}

func TestAJobWhoseRecordCannotBeReadIsCancelledByItsFetch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Store("a", "bad", "no JSON")
		assert.Equal(t, work.CancelFlagged, k.Cancel("bad").Effect)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { return nil }))
		assert.Equal(t, "bad", pooltest.Await[event.JobCancelled](t, k.Spy, nil).ID)
		k.Drained(pool)
		assert.Zero(t, pooltest.Count[event.JobBuried](k.Spy))
		k.Empty("a")
		k.Unflagged()
	})
}

func TestALostReplyToACancellationDoesNoHarm(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"cancel", "end"} {
		for _, place := range []string{"queue", "retry"} {
			t.Run(script+" "+place, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					k.keepUnbegun(place, "x")
					lost := 0
					i := k.interfering(func(
						ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
					) ([]redisconn.Reply, error) {
						replies, err := pass(ctx, calls...)
						if pooltest.NameOf(calls[0]) == script && lost < 2 {
							lost++
							return nil, errors.New("the reply was lost")
						}
						return replies, err
					})
					results, err := i.Cancel(k.Ctx(), "x")
					require.NoError(t, err)
					assert.Equal(t, 2, lost)
					assert.Equal(t,
						[]work.CancelResult{{ID: "x", Effect: work.CancelEnded, State: work.StateCancelled}}, results)
					k.Empty("a")
					k.Unflagged()
				})
			})
		}
	}
}

// The connection itself is lost, between the work and the word of it.
func TestCancelOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		far, err := work.NewEnqueuer(proxy.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		defer func() { assert.NoError(t, far.Close()) }()
		receipt := k.Enqueue("a")
		swallowed := proxy.SwallowReply(receipt.ID)
		results, err := far.Cancel(k.Ctx(), receipt.ID)
		require.NoError(t, err)
		pooltest.Receive(t, swallowed)
		require.NoError(t, results[0].Err())
		proxy.Cut()
		results, err = far.Cancel(k.Ctx(), receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, work.CancelTooLate, results[0].Effect)
		k.Empty("a")
		k.Unflagged()
	})
}

func TestACancellationThatIsCutOffTellsWhatItDid(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var ids []string
		for _, receipt := range k.EnqueueNumbers("a", 0, 2*rdb.MaxBatch+1) {
			ids = append(ids, receipt.ID)
		}
		ctx, cancel := context.WithCancel(k.Ctx())
		defer cancel()
		scripts := 0
		i := k.interfering(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "cancel" {
				if scripts++; scripts == 2 {
					cancel()
					return nil, ctx.Err()
				}
			}
			return pass(ctx, calls...)
		})
		results, err := i.Cancel(ctx, ids...)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, fmt.Sprintf("it is not known of %d of %d", rdb.MaxBatch+1, len(ids)))
		require.Len(t, results, len(ids))
		for n, result := range results {
			want := work.CancelResult{ID: ids[n]}
			if n < rdb.MaxBatch {
				want = work.CancelResult{ID: ids[n], Effect: work.CancelEnded, State: work.StateCancelled}
			}
			require.Equal(t, want, result)
		}
		assert.Equal(t, rdb.MaxBatch+1, k.Number("LLEN", "queue:a"))

		results, err = i.Cancel(k.Ctx(), ids...)
		require.NoError(t, err, "again, for all")
		for _, result := range results {
			require.NoError(t, result.Err())
		}
		k.Empty("a")
		k.Unflagged()
	})
}

func TestCancelNamesAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("a").ID
		k.Do("SET", "cancelled", "text")
		results, err := k.Enq.Cancel(k.Ctx(), id)
		require.ErrorContains(t, err, "{"+k.Namespace+"}:cancelled has the wrong type")
		assert.Equal(t, []work.CancelResult{{ID: id}}, results)
		require.ErrorContains(t, results[0].Err(), "it is not known whether")
		assert.Equal(t, 1, k.Number("LLEN", "queue:a"))
		k.Do("UNLINK", "cancelled")
	})
}

// Whoever cancels goes away between the flag and the end. What rests in a queue ends at its fetch; on a shelf, by the
// janitor.
func TestTheJanitorEndsWhatWasOnlyFlagged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, place := range []string{"scheduled", "retry", "stalled"} {
			k.keepUnbegun(place, place)
		}
		k.keepUnbegun("queue", "queue")
		k.Do("SADD", "cancelled", "scheduled", "retry", "stalled", "queue", "nobody")
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("another", func() error { return nil })
		pooltest.Times(pool).Tidy = time.Millisecond
		k.Start(pool)
		k.Until("only the one in a queue is left", func() bool {
			return k.Number("SCARD", "cancelled") == 1 && k.Number("HLEN", "jobs") == 1
		})
		for _, id := range []string{"scheduled", "retry", "stalled"} {
			assert.Equal(t, record.Cancelled, k.outcomeOf(id).State)
		}
		assert.Equal(t, 1, k.Number("SISMEMBER", "cancelled", "queue"))
		assert.Equal(t, 1, k.Number("LLEN", "queue:a"))
	})
}

// An id that its enqueuer chose is used again, after the job was flagged and before it is ended: the new job is not
// ended as if it were the old one, but for being asked for itself.
func TestAFlagIsOfOneJobOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.keepUnbegun("queue", "x")
		store := pooltest.StoreOf(k.Enq)
		standings, err := store.Cancel(k.Ctx(), []string{"x"})
		require.NoError(t, err)
		end, rests := ending.Of(standings[0])
		require.True(t, rests)
		resting := []rdb.UnheldJob{{Ending: end, Spot: standings[0].Spot}}
		rested, err := store.EndUnheld(k.Ctx(), resting)
		require.NoError(t, err)
		assert.Equal(t, []rdb.EndResult{rdb.EndDone}, rested)

		k.keepUnbegun("queue", "x")
		rested, err = store.EndUnheld(k.Ctx(), resting) // sent again, late
		require.NoError(t, err)
		assert.Equal(t, []rdb.EndResult{rdb.EndGone}, rested)
		assert.Equal(t, 1, k.Number("LLEN", "queue:a"))
		assert.Equal(t, 1, k.Number("HLEN", "unique"), "its lock is its own")
	})
}

// interfering returns an Enqueuer whose requests may be interfered with.
func (k *kit) interfering(tamper func(
	ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
) ([]redisconn.Reply, error)) *work.Enqueuer {
	k.T.Helper()
	driver, err := k.Interfering(tamper).Driver()
	require.NoError(k.T, err)
	return pooltest.EnqueuerOn(driver, k.Namespace)
}
