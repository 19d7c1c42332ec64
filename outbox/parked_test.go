package outbox_test

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

// TestBadRowsAreParkedAndHoldUpNoOthers has one bad row of each kind before good ones of the same lane.
func TestBadRowsAreParkedAndHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		pool := k.workers(2, "a")
		bad := map[string]string{}
		spoil := func(what, reason string, entry work.Entry, query string) {
			id := k.enqueue(entry)[0].ID
			if query != "" {
				k.exec("UPDATE $ SET "+query+" WHERE job_id = ?", what, id)
			}
			bad[id] = reason
		}
		good := work.Entry{Name: "a", Args: []any{1}}
		spoil("", "is not registered", work.Entry{Name: "unknown"}, "")
		spoil("", "do not fit its handler", work.Entry{Name: "a", Args: []any{"no number"}}, "")
		spoil("{", "its record cannot be read", good, "record = ?")
		spoil("b", "of another job", good, "name = ?")
		spoil(`{"place":"back","newer":1}`, "newer program", good, "options = ?")
		spoil(`{"place":"nowhere"}`, "no place", good, "options = ?")
		k.exec("UPDATE $ SET lane = 3")
		committed := k.write(4, "a", "key")
		k.exec("UPDATE $ SET lane = 3")
		stop := k.run(k.relay(pool.Enqueuer(), outbox.RelayOptions{Batch: 2}))
		require.Eventually(t, func() bool { return k.number("SELECT COUNT(*) FROM $ WHERE state <> 1") == 0 },
			patience, 2*time.Millisecond)
		stop()
		k.ranOnce(pool, committed)

		rows, err := k.box.Parked(t.Context(), k.db, 10)
		require.NoError(t, err)
		require.Len(t, rows, len(bad))
		var ids []int64
		for _, row := range rows {
			assert.Contains(t, row.Reason, bad[row.ID], row.ID)
			ids = append(ids, row.Row)
		}
		for i, told := range told[outbox.Parked](k) {
			assert.Equal(t, rows[i].Reason, told.Row.Reason)
			assert.Equal(t, rows[i].ID, told.Row.ID)
		}
		assert.Len(t, told[outbox.Parked](k), len(bad))
		stats, err := k.box.Stats(t.Context(), k.db)
		require.NoError(t, err)
		assert.Equal(t, outbox.Stats{Parked: len(bad)}, stats)

		n, err := k.box.Discard(t.Context(), k.db, ids[1:]...)
		require.NoError(t, err)
		assert.Equal(t, len(bad)-1, n)
		n, err = k.box.Retry(t.Context(), k.db, ids...)
		require.NoError(t, err)
		assert.Equal(t, 1, n, "the others are gone")
		k.run(k.relay(k.enqueuer(), outbox.RelayOptions{})) // which takes any name
		k.emptied()
	})
}

func TestWhatRedisDoesNotTakeIsParked(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		enq := k.enqueuer()
		conn, err := redis.Dial("tcp", s.Addr())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Do("SET", "{"+k.namespace+"}:queue:broken", "no list")
		require.NoError(t, err)
		k.enqueue(work.Entry{Name: "good", Args: []any{1}}, work.Entry{Name: "broken"},
			work.Entry{Name: "good", Args: []any{2}})
		k.run(k.relay(enq, outbox.RelayOptions{}))
		require.Eventually(t, func() bool { return len(told[outbox.Parked](k)) == 1 }, patience, time.Millisecond)
		assert.Contains(t, told[outbox.Parked](k)[0].Row.Reason, "no list")
		require.Eventually(t, func() bool { return len(told[outbox.Relayed](k)) == 1 }, patience, time.Millisecond)
		assert.Equal(t, 2, told[outbox.Relayed](k)[0].Stored)
		assert.EqualValues(t, 1, k.number("SELECT COUNT(*) FROM $"))
	})
}

// TestADatabaseThatWentBackIsNoticed has a call open that Redis has left behind: the jobs may have run.
func TestADatabaseThatWentBackIsNoticed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		pool := k.workers(2, "a")
		stop := k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		first := k.write(1, "a", "key")
		k.emptied()
		stop()
		second := k.write(1, "a", "key")
		k.exec("UPDATE $_lanes SET number = number - 1, opened = ?, "+
			"open_rows = '[' || (SELECT MAX(id) FROM $) || ']' WHERE number > 0", time.Now().UnixMilli())
		k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		require.Eventually(t, func() bool { return len(told[outbox.Parked](k)) == 1 }, patience, time.Millisecond)
		row := told[outbox.Parked](k)[0].Row
		assert.Equal(t, second[0], row.ID)
		assert.Contains(t, row.Reason, "restored from a backup")
		k.exec("DELETE FROM $")
		third := k.write(1, "a", "key")
		k.emptied()
		k.ranOnce(pool, append(first, third...))
	})
}

func TestACallThatRedisHasForgottenIsNotSentAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		pool := k.workers(2, "a")
		old, fresh := k.write(1, "a", "key"), k.write(1, "a", "key")
		since := time.Now().Add(-outbox.CallLife - time.Minute).UnixMilli()
		k.exec("UPDATE $_lanes SET number = 1, opened = ?, open_rows = '[' || (SELECT MIN(id) FROM $) || ']' "+
			"WHERE lane = (SELECT MIN(lane) FROM $)", since)
		k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		require.Eventually(t, func() bool { return k.number("SELECT COUNT(*) FROM $ WHERE state = 0") == 0 }, patience,
			time.Millisecond)
		rows, err := k.box.Parked(t.Context(), k.db, 1)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		assert.Equal(t, old[0], rows[0].ID)
		assert.Contains(t, rows[0].Reason, "no longer knows whether it was")
		k.ranOnce(pool, fresh)
	})
}
