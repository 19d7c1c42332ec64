package outbox_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
	"github.com/265d0351/work/outbox/pgxoutbox"
)

func TestAnEntryThatCannotBeIsRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	k := newKit(t, sqlite(t), "memory://")
	unique := func(conflict work.Conflict) []work.EnqueueOption {
		return []work.EnqueueOption{work.Unique(work.UniqueOptions{OnConflict: conflict})}
	}
	for reason, entry := range map[string]work.Entry{
		"job name":                  {},
		"WaitReplicas":              {Name: "a", Options: []work.EnqueueOption{work.WaitReplicas(1, time.Second)}},
		"KeepExisting":              {Name: "a", Options: unique(work.RefuseDuplicate)},
		"OnConflict":                {Name: "a", Options: unique(work.ReplaceArgs)},
		"at most":                   {Name: "a", Args: []any{strings.Repeat("x", 2<<20)}},
		"(args[0][1]) is not UTF-8": {Name: "a", Args: []any{[]string{"a", "file-\xe9"}}},
		"both At and In":            {Name: "a", At: time.Now(), In: time.Second},
		"zero or more":              {Name: "a", In: -time.Second},
		"option ID":                 {Name: "a", Options: []work.EnqueueOption{work.ID("")}},
	} {
		if reason == "option ID" {
			reason = "job id"
		}
		t.Run(reason, func(t *testing.T) {
			_, err := k.box.Enqueue(t.Context(), k.db, work.Entry{Name: "good"}, entry)
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, reason)
			assert.ErrorContains(t, err, "entry 1")
		})
	}
	assert.Zero(t, k.number("SELECT COUNT(*) FROM $"))
}

func TestWhatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	_, err := outbox.New(nil)
	assert.ErrorContains(t, err, "outbox.PostgreSQL")
	_, err = outbox.New(outbox.SQLite, outbox.Table("no table"))
	assert.ErrorContains(t, err, "lower case")
	k := newKit(t, sqlite(t), "memory://")
	for what, options := range map[string]outbox.RelayOptions{
		"Batch": {Batch: 501}, "Poll": {Poll: -1}, "Lease": {Lease: 1}, "Keep": {Keep: -1},
	} {
		_, err := k.box.Relay(k.db, k.enqueuer(), options)
		assert.ErrorContains(t, err, "RelayOptions."+what)
	}
	_, err = k.box.Relay(nil, nil, outbox.RelayOptions{})
	assert.ErrorContains(t, err, "give both")
	_, err = k.box.Parked(t.Context(), k.db, 0)
	assert.ErrorContains(t, err, "1 to 10000")
	unmade, err := outbox.New(outbox.SQLite, outbox.Table("nothing_there"))
	require.NoError(t, err)
	_, err = unmade.Enqueue(t.Context(), k.db, work.Entry{Name: "a"})
	assert.ErrorContains(t, err, "was it migrated?")
}

// TestTheJobIsTheOneThatWasWritten compares jobs with those of an Enqueuer.
func TestTheJobIsTheOneThatWasWritten(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		enq := k.enqueuer()
		entry := func(id string) work.Entry {
			return work.Entry{Name: "näme", In: time.Hour, Source: 7, Args: []any{1<<62 + 1, "a<b\x00'\\é😀", nil},
				Options: []work.EnqueueOption{work.ID(id), work.Meta("k", "v"), work.Retries(3), work.Tags("t")}}
		}
		_, err := enq.EnqueueMany(t.Context(), []work.Entry{entry("direct")})
		require.NoError(t, err)
		once := work.Entry{Name: "näme", Args: []any{1},
			Options: []work.EnqueueOption{work.Unique(work.UniqueOptions{Key: "one"})}}
		receipts := k.enqueue(entry("boxed"), once, once, work.Entry{Name: "näme",
			Options: []work.EnqueueOption{work.Front()}})
		assert.WithinDuration(t, time.Now().Add(time.Hour), receipts[0].RunAt, time.Minute)
		stop := k.run(k.relay(enq, outbox.RelayOptions{}))
		k.emptied()
		stop()
		assert.Equal(t, 1, told[outbox.Relayed](k)[0].Duplicates)
		inspector, err := inspect.New(k.redis, work.Namespace(k.namespace))
		require.NoError(t, err)
		defer inspector.Close()
		want, err := inspector.Job(t.Context(), "direct")
		require.NoError(t, err)
		got, err := inspector.Job(t.Context(), "boxed")
		require.NoError(t, err)
		assert.Equal(t, string(want.Args), string(got.Args))
		assert.Equal(t, want.State, got.State)
		assert.Equal(t, want.Meta, got.Meta)
		assert.Equal(t, want.SourceID, got.SourceID)
		assert.Equal(t, want.Tags, got.Tags)
		assert.WithinDuration(t, want.RunAt, got.RunAt, time.Minute)
		front, err := inspector.Job(t.Context(), receipts[3].ID)
		require.NoError(t, err)
		assert.EqualValues(t, 0, front.Ahead)
	})
}

func TestWhatIsRelayedWaitsByTurns(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		entry := func(id, key string, weight int) work.Entry {
			return work.Entry{Name: "sync", Args: []any{1},
				Options: []work.EnqueueOption{work.ID(id), work.Key(key), work.Weight(weight)}}
		}
		k.enqueue(entry("a1", "large", 1), entry("a2", "large", 1), entry("a3", "large", 1), entry("b1", "small", 2),
			entry("b2", "small", 2))
		stop := k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		k.emptied()
		stop()
		require.NoError(t, k.workers(1, "sync").Drain(t.Context()))
		k.mu.Lock()
		defer k.mu.Unlock()
		assert.Equal(t, []string{"b1", "a1", "b2", "a2", "a3"}, k.order)
	})
}

// Names may share a queue: the relay knows it as any enqueuer does, also of what was written before that was so.
func TestWhatIsRelayedGoesToASharedQueue(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		var ids []string
		for n, name := range []string{"a", "b", "b", "a"} {
			ids = append(ids, k.enqueue(work.Entry{Name: name, Args: []any{n}})[0].ID)
		}
		mail := work.JobOptions{Queue: "mail"}
		var order []string
		handle := func(job *work.Job, _ int) error { order = append(order, job.ID); return nil } // one processor
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: k.redis, Namespace: k.namespace,
			Logger: slog.New(slog.DiscardHandler)}).JobWithOptions("a", mail, handle).JobWithOptions("b", mail, handle)
		inspector, err := inspect.New(k.redis, work.Namespace(k.namespace))
		require.NoError(t, err)
		defer inspector.Close()
		require.NoError(t, inspector.PauseQueue(t.Context(), "mail"))
		require.NoError(t, pool.Start(t.Context()))
		stop := k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		k.emptied()
		stop()
		queue, err := inspector.Queue(t.Context(), "mail")
		require.NoError(t, err)
		assert.Equal(t, 4, queue.Waiting)
		require.NoError(t, inspector.ResumeQueue(t.Context(), "mail"))
		require.NoError(t, pool.Drain(t.Context()))
		assert.ElementsMatch(t, ids, order, "each lane has an order of its own")
	})
}

// TestTurnsThatCannotBeAreNotWritten, nor what is enqueued beside them.
func TestTurnsThatCannotBeAreNotWritten(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		for says, options := range map[string][]work.EnqueueOption{
			"use at most 200":      {work.Key(strings.Repeat("k", 201))},
			"use 1 to 100":         {work.Key("a"), work.Weight(0)},
			"Weight without Key":   {work.Weight(2)},
			"use one of one byte ": {work.Key("")},
		} {
			tx, err := k.db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = k.box.Enqueue(t.Context(), tx, work.Entry{Name: "a"}, work.Entry{Name: "a", Options: options})
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.ErrorContains(t, err, says)
			require.NoError(t, tx.Commit())
		}
		assert.Zero(t, k.number("SELECT COUNT(*) FROM $"))
	})
}

// What other programs write into the table is not taken on trust.
func TestARowWhoseKeyCannotBeIsParked(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		for id, key := range map[string]string{"long": `"` + strings.Repeat("k", 201) + `"`, "nul": `"a\u0000b"`,
			"heavy": `"a","weight":1000`} {
			k.exec("INSERT INTO $ (lane, since, job_id, name, record, options) VALUES (0, 0, ?, 'sync', ?, ?)", id,
				`{"jid":"`+id+`","name":"sync","args":[],"t":1,"key":`+key+`}`, `{"place":"back"}`)
		}
		stop := k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		require.Eventually(t, func() bool { return len(told[outbox.Parked](k)) == 3 }, patience, 2*time.Millisecond)
		stop()
		for _, parked := range told[outbox.Parked](k) {
			assert.Contains(t, parked.Row.Reason, "the job")
		}
	})
}

func TestRowsAreKeptForATime(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		k.enqueue(work.Entry{Name: "a"}, work.Entry{Name: "a"})
		stop := k.run(k.relay(k.enqueuer(), outbox.RelayOptions{Keep: time.Hour}))
		require.Eventually(t, func() bool { return k.number("SELECT COUNT(*) FROM $ WHERE state = 2") == 2 }, patience,
			time.Millisecond)
		stats, err := k.box.Stats(t.Context(), k.db)
		require.NoError(t, err)
		assert.Zero(t, stats)
		stop()
		k.exec("UPDATE $ SET since = since - 3700000")
		k.run(k.relay(k.enqueuer(), outbox.RelayOptions{Keep: time.Hour}))
		k.emptied()
		assert.Len(t, told[outbox.Relayed](k), 1, "they are not relayed again")
	})
}

// TestManyLargeJobsGoInSeveralCalls has more than a call takes.
func TestManyLargeJobsGoInSeveralCalls(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		large := work.Entry{Name: "a", Args: []any{strings.Repeat("x", 400_000)}}
		k.enqueue(large, large, large, large)
		k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		k.emptied()
		require.Eventually(t, func() bool { return len(told[outbox.Relayed](k)) == 2 }, patience, time.Millisecond)
	})
}

// TestACommitWakesTheRelay has relays that would look in an hour.
func TestACommitWakesTheRelay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		t.Run("in the process", func(t *testing.T) {
			t.Parallel()
			k := newKit(t, sqlite(t), s.DSN())
			k.run(k.relay(k.enqueuer(), outbox.RelayOptions{Poll: time.Hour}))
			for range 3 {
				k.enqueue(work.Entry{Name: "a"})
				k.box.Wake()
				k.emptied()
			}
		})
		t.Run("by notify", func(t *testing.T) {
			t.Parallel()
			k := newKit(t, database{outbox.PostgreSQL, "pgx", postgres.need(t)}, s.DSN())
			config, err := pgx.ParseConfig(k.d.DSN)
			require.NoError(t, err)
			config.RuntimeParams["application_name"] = k.table
			k.run(k.relay(k.enqueuer(), outbox.RelayOptions{Poll: time.Hour, Listener: pgxoutbox.Listener(config)}))
			for range 3 {
				k.enqueue(work.Entry{Name: "a"})
				k.emptied()
			}
			k.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '$'")
			k.enqueue(work.Entry{Name: "a"})
			k.emptied()
		})
	})
}

func TestATransactionOfPgx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, database{outbox.PostgreSQL, "pgx", postgres.need(t)}, s.DSN())
		pool := k.workers(2, "a")
		conn, err := pgx.Connect(t.Context(), k.d.DSN)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		var committed []string
		for _, end := range []func(pgx.Tx) error{
			func(tx pgx.Tx) error { return tx.Commit(t.Context()) },
			func(tx pgx.Tx) error { return tx.Rollback(t.Context()) },
		} {
			tx, err := conn.Begin(t.Context())
			require.NoError(t, err)
			receipts, err := k.box.Enqueue(t.Context(), pgxoutbox.Tx(tx), work.Entry{Name: "a", Args: []any{1}})
			require.NoError(t, err)
			require.NoError(t, end(tx))
			committed = append(committed, receipts[0].ID)
		}
		k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		k.emptied()
		k.ranOnce(pool, committed[:1])
	})
}

func TestARelayRunsOnceAtATime(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		relay := k.relay(k.enqueuer(), outbox.RelayOptions{})
		stop := k.run(relay)
		k.enqueue(work.Entry{Name: "a"})
		k.emptied()
		require.ErrorContains(t, relay.Run(t.Context()), "runs already")
		stop()
		k.run(relay)
		k.enqueue(work.Entry{Name: "a"})
		k.emptied()
	})
}
