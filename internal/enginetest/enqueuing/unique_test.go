package enqueuing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

func TestWhichJobsAreTheSame(t *testing.T) {
	t.Parallel()
	type object map[string]any
	tests := map[string]struct {
		first, second work.Entry
		same          bool
	}{
		"same args": {first: pooltest.Only(work.UniqueOptions{}, 7, "a"),
			second: pooltest.Only(work.UniqueOptions{}, 7, "a"),
			same:   true},
		"other args": {first: pooltest.Only(work.UniqueOptions{}, 7, "a"),
			second: pooltest.Only(work.UniqueOptions{}, 7, "b")},
		"args in other places": {first: pooltest.Only(work.UniqueOptions{}, "a", "b"),
			second: pooltest.Only(work.UniqueOptions{}, "b", "a")},
		"no args": {first: pooltest.Only(work.UniqueOptions{}), second: pooltest.Only(work.UniqueOptions{}),
			same: true},
		"one more arg": {first: pooltest.Only(work.UniqueOptions{}, 7),
			second: pooltest.Only(work.UniqueOptions{}, 7, nil)},
		"parts that join the same way": {first: pooltest.Only(work.UniqueOptions{}, "a", "bc"),
			second: pooltest.Only(work.UniqueOptions{}, "ab", "c")},
		"members in another order, other spaces": {first: pooltest.Only(work.UniqueOptions{},
			json.RawMessage(`{"b": 1, "a":2}`)),
			second: pooltest.Only(work.UniqueOptions{}, object{"a": 2, "b": 1}), same: true},
		"large integers one apart": {first: pooltest.Only(work.UniqueOptions{}, int64(9007199254740993)),
			second: pooltest.Only(work.UniqueOptions{}, int64(9007199254740992))},
		"chosen args the same": {first: pooltest.Only(work.UniqueOptions{Args: []int{0}}, 7, "a"),
			second: pooltest.Only(work.UniqueOptions{Args: []int{0, 0}}, 7, "b"), same: true},
		"chosen args others": {first: pooltest.Only(work.UniqueOptions{Args: []int{1}}, 7, "a"),
			second: pooltest.Only(work.UniqueOptions{Args: []int{1}}, 7, "b")},
		"other args chosen": {first: pooltest.Only(work.UniqueOptions{Args: []int{0}}, 7, 7),
			second: pooltest.Only(work.UniqueOptions{Args: []int{1}}, 7, 7)},
		"same key, other args": {first: pooltest.Only(work.UniqueOptions{Key: "k"}, 7),
			second: pooltest.Only(work.UniqueOptions{Key: "k"}, 8), same: true},
		"other key, same args": {first: pooltest.Only(work.UniqueOptions{Key: "k"}, 7),
			second: pooltest.Only(work.UniqueOptions{Key: "l"}, 7)},
		"longest key": {first: pooltest.Only(work.UniqueOptions{Key: strings.Repeat("k", 200)}),
			second: pooltest.Only(work.UniqueOptions{Key: strings.Repeat("k", 200)}, 8),
			same:   true},
		"other name": {first: pooltest.Only(work.UniqueOptions{Key: "k"}),
			second: work.Entry{Name: "mail", Options: []work.EnqueueOption{work.Unique(work.UniqueOptions{Key: "k"})}}},
		"not unique": {first: pooltest.Only(work.UniqueOptions{}), second: work.Entry{Name: "report"}},
		"large args, in objects or not": {first: pooltest.Only(work.UniqueOptions{Args: []int{0}},
			strings.Repeat("x", 20_000)),
			second: pooltest.Only(work.UniqueOptions{Args: []int{0}, OnConflict: work.ReplaceArgs},
				strings.Repeat("x", 20_000)),
			same: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				first, err := k.EnqueueEntry(tt.first)
				require.NoError(t, err)
				assert.False(t, first.Duplicate)
				second, err := k.EnqueueEntry(tt.second)
				if name == "large args, in objects or not" {
					require.ErrorContains(t, err, "give ReplaceArgs at every enqueue of this kind")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tt.same, second.Duplicate)
				assert.Equal(t, tt.same, first.ID == second.ID)
				assert.Equal(t, map[bool]int{true: 1, false: 2}[tt.same], k.Number("HLEN", "jobs"))
			})
		})
	}
}

func TestTwoOfAKindInOneCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{
			pooltest.Only(work.UniqueOptions{}, 1), pooltest.Only(work.UniqueOptions{},
				2), pooltest.Only(work.UniqueOptions{}, 1),
			pooltest.Only(work.UniqueOptions{OnConflict: work.RefuseDuplicate}, 2),
		})
		var failure *work.EnqueueError
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, []int{0, 1, 2}, failure.Stored)
		assert.Equal(t, []int{3}, failure.NotStored)
		var duplicate *work.DuplicateError
		require.ErrorAs(t, err, &duplicate)
		assert.Equal(t, &work.DuplicateError{Name: "report", ID: receipts[1].ID}, duplicate)
		assert.Equal(t, work.Receipt{ID: receipts[0].ID, Name: "report", Duplicate: true}, receipts[2])
		assert.Equal(t, 2, k.Number("LLEN", "queue:report"))
	})
}

func TestOptionsOfUniqueJobsThatCannotBe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entry work.Entry
		want  string
	}{
		"long key": {pooltest.Only(work.UniqueOptions{Key: strings.Repeat("k", 201)}),
			"use at most 200, such as a hash of it"},
		"key and args":      {pooltest.Only(work.UniqueOptions{Key: "k", Args: []int{0}}, 1), "use one of them"},
		"negative position": {pooltest.Only(work.UniqueOptions{Args: []int{-1}}, 1), "use positions from 0"},
		"position past the end": {pooltest.Only(work.UniqueOptions{Args: []int{0, 1}}, 1),
			`job "report" has 1 args: use positions below that`},
		"until when": {pooltest.Only(work.UniqueOptions{Until: 2}), "use UntilFinished or UntilStarted"},
		"negative time": {pooltest.Only(work.UniqueOptions{For: -1}),
			"use a duration above zero and at most 100 years, or 0 for none"},
		"for ever": {pooltest.Only(work.UniqueOptions{For: 101 * 365 * 24 * time.Hour}), "at most 100 years"},
		"time and start": {pooltest.Only(work.UniqueOptions{For: 1, Until: work.UntilStarted}),
			"use one of them: the time ends whatever becomes of the job"},
		"time and morgue": {pooltest.Only(work.UniqueOptions{For: 1, KeepInMorgue: true}), "use one of them"},
		"time and changes": {pooltest.Only(work.UniqueOptions{For: 1, OnConflict: work.ReplaceArgs}),
			"nothing can be changed"},
		"start and morgue": {pooltest.Only(work.UniqueOptions{Until: work.UntilStarted, KeepInMorgue: true}),
			"use one of them"},
		"unknown conflict": {pooltest.Only(work.UniqueOptions{OnConflict: 8}),
			"use KeepExisting, ReplaceArgs, Postpone, ReplaceArgs|Postpone or RefuseDuplicate"},
		"refuse and replace": {pooltest.Only(work.UniqueOptions{OnConflict: work.RefuseDuplicate | work.ReplaceArgs}),
			"use KeepExisting"},
		"nothing to postpone": {pooltest.Only(work.UniqueOptions{OnConflict: work.Postpone}),
			"give a time or a delay, or leave Postpone out"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enq, err := work.NewEnqueuer("redis://127.0.0.1:1/0") // nothing is sent
			require.NoError(t, err)
			defer enq.Close()
			_, err = enq.EnqueueMany(t.Context(), []work.Entry{tt.entry})
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestOptionsOfAUniqueJobAreCheckedWithTheOthers(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://127.0.0.1:1/0"}).
		JobWithOptions("a", work.JobOptions{Unique: &work.UniqueOptions{Until: 5}}, func() error { return nil })
	var invalid *work.InvalidError
	require.ErrorAs(t, pool.Start(t.Context()), &invalid)
	assert.Equal(t, "UniqueOptions.Until", invalid.What)
}

func TestTheOptionsOfAJobHoldForItsPoolsEnqueuer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Unique: &work.UniqueOptions{Key: "one"}},
				func(int) error { return nil }).
			Job("b", func(int) error { return nil })
		defer func() { _ = k.Stop(pool) }()
		enq := pool.Enqueuer()
		first, err := enq.Enqueue(k.Ctx(), "a", 1)
		require.NoError(t, err)
		second, err := enq.Enqueue(k.Ctx(), "a", 2)
		require.NoError(t, err)
		assert.Equal(t, work.Receipt{ID: first.ID, Name: "a", Duplicate: true}, second)
		third, err := enq.With(work.Unique(work.UniqueOptions{})).Enqueue(k.Ctx(), "a", 2)
		require.NoError(t, err)
		assert.False(t, third.Duplicate, "an option of the enqueue beats that of the job")
		for range 2 {
			other, err := enq.Enqueue(k.Ctx(), "b", 1)
			require.NoError(t, err)
			assert.False(t, other.Duplicate)
		}
	})
}

func TestReplaceArgsAndPostpone(t *testing.T) {
	t.Parallel()
	waits := func(o work.Conflict, in time.Duration, args ...any) work.Entry {
		e := pooltest.Only(work.UniqueOptions{Key: "k", OnConflict: o}, args...)
		e.In = in
		return e
	}
	tests := map[string]struct {
		first, second work.Entry
		args          string
		due           time.Duration // 0 is at once
	}{
		"replaced in its queue": {waits(0, 0, 1), waits(work.ReplaceArgs, 0, 2, "b"), `[2,"b"]`, 0},
		"replaced in scheduled": {waits(0, time.Hour, 1), waits(work.ReplaceArgs, 0, 2), `[2]`, time.Hour},
		"postponed":             {waits(0, time.Hour, 1), waits(work.Postpone, 2*time.Hour, 2), `[1]`, 2 * time.Hour},
		"not made earlier":      {waits(0, 2*time.Hour, 1), waits(work.Postpone, time.Hour, 2), `[1]`, 2 * time.Hour},
		"due already":           {waits(0, 0, 1), waits(work.Postpone, time.Hour, 2), `[1]`, 0},
		"both": {waits(0, time.Hour, 1), waits(work.ReplaceArgs|work.Postpone, 2*time.Hour, 2), `[2]`,
			2 * time.Hour},
		"both, due already": {waits(0, 0, 1), waits(work.ReplaceArgs|work.Postpone, time.Hour, 2), `[2]`, 0},
		"both, due later anyway": {waits(0, 2*time.Hour, 1), waits(work.ReplaceArgs|work.Postpone, time.Hour, 2), `[2]`,
			2 * time.Hour},
		"kept":                 {waits(0, time.Hour, 1), waits(work.KeepExisting, 2*time.Hour, 2), `[1]`, time.Hour},
		"replaced by the same": {waits(0, 0, 1), waits(work.ReplaceArgs, 0, 1), `[1]`, 0},
		"nothing there to be changed": {work.Entry{Name: "other"}, waits(work.ReplaceArgs|work.Postpone, time.Hour, 2),
			`[2]`,
			time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				first, err := k.EnqueueEntry(tt.first)
				require.NoError(t, err)
				began := time.Now()
				second, err := k.EnqueueEntry(tt.second)
				require.NoError(t, err)
				id := second.ID
				assert.Equal(t, tt.first.Name == "report", second.Duplicate)
				assert.Equal(t, tt.first.Name == "report", first.ID == id)
				r, err := record.Decode([]byte(k.Text("HGET", "jobs", id)))
				require.NoError(t, err)
				assert.Equal(t, tt.args, string(r.Args))
				if tt.due == 0 {
					assert.Zero(t, r.RunAt)
					assert.Equal(t, 1, k.Number("LLEN", "queue:report"))
					return
				}
				assert.WithinRange(t, k.Due("scheduled", id), began.Add(tt.due-time.Minute),
					began.Add(tt.due+time.Minute))
				assert.WithinRange(t, time.UnixMilli(r.RunAt), began.Add(tt.due-time.Minute),
					began.Add(tt.due+time.Minute))
			})
		})
	}
}

func TestAJobThatRunsCannotBeChanged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, leave := make(chan int, 2), make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("report", func(n int) error {
			begun <- n
			<-leave
			return nil
		}))
		entry := pooltest.Only(work.UniqueOptions{Key: "k", OnConflict: work.ReplaceArgs}, 1)
		first, err := k.EnqueueEntry(entry)
		require.NoError(t, err)
		pooltest.Receive(t, begun)
		entry.Args = []any{2}
		_, err = k.EnqueueEntry(entry)
		var duplicate *work.DuplicateError
		require.ErrorAs(t, err, &duplicate)
		assert.Equal(t, &work.DuplicateError{Name: "report", ID: first.ID, Held: true}, duplicate)
		assert.ErrorContains(t, err, "is with a worker, so it cannot be changed")
		close(leave)
		k.Drained(pool)
		second, err := k.EnqueueEntry(entry)
		require.NoError(t, err)
		assert.False(t, second.Duplicate)
		assert.Equal(t, 2, pooltest.Receive(t, begun))
		k.Drained(pool)
		k.Empty("report")
		assert.Zero(t, k.Number("HLEN", "unique"))
	})
}

func TestWhatCannotBeChangedIsSaid(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first, err := k.EnqueueEntry(pooltest.Only(work.UniqueOptions{Key: "k"}))
		require.NoError(t, err)
		k.Do("HSET", "jobs", first.ID, "no JSON")
		_, err = k.EnqueueEntry(pooltest.Only(work.UniqueOptions{Key: "k", OnConflict: work.ReplaceArgs}, 2))
		var failure *work.EnqueueError
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, []int{0}, failure.NotStored)
		assert.ErrorContains(t, err, fmt.Sprintf("job %q has its lock and cannot be changed: the record cannot be read",
			first.ID))
		assert.False(t, errors.As(err, new(*work.DuplicateError)))
	})
}
