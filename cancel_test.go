package work

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// cancel cancels one job.
func (k *kit) cancel(id string) CancelResult {
	k.t.Helper()
	results, err := k.enq.Cancel(k.ctx(), id)
	require.NoError(k.t, err)
	require.Len(k.t, results, 1)
	return results[0]
}

// outcomeOf is what is kept of a job.
func (k *kit) outcomeOf(id string) (kept outcome) {
	k.t.Helper()
	require.NoError(k.t, json.Unmarshal([]byte(k.text("HGET", "outcomes", id)), &kept), id)
	return kept
}

// unflagged checks that nothing is left of a wish to cancel.
func (k *kit) unflagged() {
	k.t.Helper()
	assert.Zero(k.t, k.number("SCARD", "cancelled"))
}

// putAside puts a job where a test wants it, with all that may belong to one.
func (k *kit) putAside(place, id string) {
	k.t.Helper()
	k.do("HSET", "jobs", id, `{"jid":"`+id+`","name":"a","args":[],"t":1,"retention":3600000,"lock":"digest","lock_kind":"f",`+
		`"completion":"ends","objects":{"0":"sha"}}`)
	k.do("HSET", "trail", id, `{"fails":1,"log":true,"state":true}`)
	k.do("HSET", "unique", "digest", id+" 0 f")
	k.do("RPUSH", "log:"+id, "line")
	k.do("SET", "state:"+id, "5")
	k.do("SADD", "object:sha:jobs", id, "another")
	if place == "queue" {
		k.do("LPUSH", "queue:a", id)
		k.do("SADD", "ready", "a")
		return
	}
	k.do("ZADD", place, time.Now().Add(time.Hour).UnixMilli(), id)
	k.do("HSET", "names", id, "a")
}

func TestAJobThatRestsIsCancelledAtOnceWithAllThatBelongsToIt(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"queue", "scheduled", "retry", "stalled"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.putAside(place, "x")
				began := time.Now()
				assert.Equal(t, CancelResult{ID: "x", Effect: CancelEnded, State: StateCancelled}, k.cancel("x"))

				assert.Equal(t, stateCancelled, k.outcomeOf("x").State)
				assert.InDelta(t, began.UnixMilli(), k.outcomeOf("x").EndedAt, float64(patience.Milliseconds()))
				k.duration(began, "outcomes:until", "x", time.Hour)
				k.empty("a")
				k.unflagged()
				assert.Zero(t, k.number("ZCARD", "stalled"))
				assert.Zero(t, k.number("HLEN", "unique"), "its lock is free")
				assert.Zero(t, k.number("EXISTS", "log:x")+k.number("EXISTS", "state:x"))
				assert.Equal(t, []string{"cancelled x"}, k.strings("LRANGE", "completion:ends", 0, -1))
				assert.Equal(t, []string{"another"}, k.strings("SMEMBERS", "object:sha:jobs"))

				again := k.cancel("x")
				assert.Equal(t, CancelResult{ID: "x", Effect: CancelTooLate, State: StateCancelled}, again)
				require.NoError(t, again.Err(), "it is cancelled, as was wanted")
				k.unflagged()
			})
		})
	}
}

func TestThatAJobWasCancelledIsKeptForAMinute(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipt, err := k.enq.EnqueueIn(k.ctx(), "a", time.Hour)
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, k.cancel(receipt.ID).Err())
		k.duration(began, "outcomes:until", receipt.ID, time.Minute)
		_, err = Result[int](k.ctx(), k.enq, receipt.ID)
		var none *NoResultError
		require.ErrorAs(t, err, &none)
		assert.Equal(t, stateCancelled, none.State)
	})
}

func TestCancelSaysWhatCannotBeCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.putAside("morgue", "dead")
		k.do("HSET", "outcomes", "done", `{"state":"done","ended":5}`, "dropped", `{"state":"discarded","ended":5}`)
		for id, want := range map[string]struct {
			result CancelResult
			text   string
		}{
			"dead": {CancelResult{"dead", CancelDead, StateDead},
				`job "dead" cannot be cancelled: it is dead and will not run by itself; delete it instead`},
			"done": {CancelResult{"done", CancelTooLate, StateSucceeded},
				`job "done" cannot be cancelled: it has ended as succeeded`},
			"dropped": {CancelResult{"dropped", CancelTooLate, StateDiscarded},
				`job "dropped" cannot be cancelled: it has ended as discarded`},
			"nobody": {CancelResult{"nobody", CancelNotFound, ""}, `job "nobody" cannot be cancelled: ` +
				ErrNotFound.Error()},
		} {
			result := k.cancel(id)
			assert.Equal(t, want.result, result, id)
			err := result.Err()
			require.EqualError(t, err, want.text)
			var refused *CancelError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, want.result, refused.CancelResult)
			assert.Equal(t, id == "nobody", is(err, ErrNotFound), id)
		}
		k.unflagged()
		assert.Equal(t, 1, k.number("ZCARD", "morgue"), "it is still there")
		assert.EqualError(t, CancelResult{ID: "x"}.Err(),
			`it is not known whether job "x" was cancelled: cancel it again`)
		encoded, err := json.Marshal([]CancelResult{k.cancel("dead"), k.cancel("nobody")})
		require.NoError(t, err)
		assert.JSONEq(t, `[{"id":"dead","effect":"dead","state":"dead"},{"id":"nobody","effect":"not found"}]`,
			string(encoded))
	})
}

func TestCancelRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.enqueue("a").ID
		for name, bad := range map[string]string{"empty": "", "long": strings.Repeat("x", 201), "control": "a\n"} {
			t.Run(name, func(t *testing.T) {
				results, err := k.enq.Cancel(k.ctx(), id, bad)
				var invalid *InvalidError
				require.ErrorAs(t, err, &invalid)
				assert.Empty(t, results)
				assert.Equal(t, 1, k.number("LLEN", "queue:a"), "nothing was done")
			})
		}
		results, err := k.enq.Cancel(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, results)
		require.NoError(t, k.enq.Close())
		_, err = k.enq.Cancel(k.ctx(), id)
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestCancelOfThousandsOfJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 3*rdb.MaxBatch + 7
		entries := make([]Entry, jobs)
		for n := range entries {
			entries[n] = Entry{Name: fmt.Sprint("a", n%3), Args: []any{n}, In: time.Duration(n%2) * time.Hour}
		}
		// one script cannot answer it with others
		entries[5].Args = []any{strings.Repeat("x", 1<<19), strings.Repeat("y", 1<<19)}
		receipts, err := k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		var ids []string
		for n, receipt := range receipts {
			ids = append(ids, receipt.ID)
			if n%100 == 0 {
				ids = append(ids, fmt.Sprint("nobody", n), receipt.ID) // twice
			}
		}
		results, err := inspect(t, s, k.namespace).Cancel(k.ctx(), ids...)
		require.NoError(t, err)
		require.Len(t, results, len(ids))
		for i, result := range results {
			require.Equal(t, ids[i], result.ID)
			if strings.HasPrefix(ids[i], "nobody") {
				require.Equal(t, CancelNotFound, result.Effect)
				continue
			}
			require.NoError(t, result.Err())
		}
		k.empty("a0", "a1", "a2")
		k.unflagged()
		assert.Equal(t, jobs, k.number("HLEN", "outcomes"))
	})
}

func TestAJobThatStandsDeepInItsQueueReadsAsCancelledAndNeverRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.enqueueNumbers("a", 0, 20_100)
		deep := receipts[len(receipts)/2].ID
		k.do("HSET", "waited", deep, time.Now().Add(time.Hour).UnixMilli())
		assert.Equal(t, CancelEnded, k.cancel(deep).Effect)
		assert.Equal(t, stateCancelled, k.outcomeOf(deep).State)
		assert.Zero(t, k.number("HLEN", "waited"), "those who wait were told")
		assert.Equal(t, 20_100, k.number("LLEN", "queue:a"), "it is still there")
		require.NoError(t, k.cancel(deep).Err(), "again")

		ran := newTally()
		pool := k.start(NewWorkerPool(nil, 200, k.options()).Job("a", ran.handle))
		require.NoError(t, pool.Drain(k.ctx()))
		ran.once(t, append(receipts[:len(receipts)/2:len(receipts)/2], receipts[len(receipts)/2+1:]...))
		assert.Equal(t, deep, await[event.JobCancelled](t, k.spy, nil).ID)
		assert.Equal(t, 1, count[event.JobCancelled](k.spy))
		assert.Equal(t, stateCancelled, k.outcomeOf(deep).State)
		k.empty("a")
		k.unflagged()
	})
}

func TestAJobWhoseRecordCannotBeReadIsCancelledByItsFetch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.store("a", "bad", "no JSON")
		assert.Equal(t, CancelFlagged, k.cancel("bad").Effect)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func() error { return nil }))
		assert.Equal(t, "bad", await[event.JobCancelled](t, k.spy, nil).ID)
		k.drained(pool)
		assert.Zero(t, count[event.JobBuried](k.spy))
		k.empty("a")
		k.unflagged()
	})
}
