package inspect_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestBulkActsOnWhatIsSelected(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		selection inspect.Selection
		matched   int
	}{
		"all that are dead":  {inspect.Selection{State: work.StateDead}, 6},
		"by name":            {inspect.Selection{State: work.StateDead, Name: "b"}, 2},
		"by tag":             {inspect.Selection{State: work.StateDead, Tag: "blue"}, 3},
		"by error":           {inspect.Selection{State: work.StateDead, ErrorText: "luck"}, 6},
		"by another error":   {inspect.Selection{State: work.StateDead, ErrorText: "disk"}, 0},
		"old enough":         {inspect.Selection{State: work.StateDead, OlderThan: 30 * time.Second}, 6},
		"not old enough":     {inspect.Selection{State: work.StateDead, OlderThan: time.Hour}, 0},
		"by name and by tag": {inspect.Selection{State: work.StateDead, Name: "a", Tag: "blue"}, 2},
		"queued":             {inspect.Selection{State: work.StateQueued}, 2},
		"queued, of a name":  {inspect.Selection{State: work.StateQueued, Name: "b"}, 1},
		"scheduled":          {inspect.Selection{State: work.StateScheduled, OlderThan: time.Minute}, 0},
		"stalled":            {inspect.Selection{State: work.StateStalled, OlderThan: time.Second}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				for i := range 6 {
					id := k.standing(work.StateDead, []string{"a", "a", "b"}[i%3])
					if i%2 == 0 {
						record := k.Text("HGET", "jobs", id)
						k.Do("HSET", "jobs", id, record[:len(record)-1]+`,"tags":["red","blue"]}`)
					}
				}
				k.standing(work.StateQueued, "a")
				k.standing(work.StateQueued, "b")
				k.standing(work.StateScheduled, "a")
				k.standing(work.StateStalled, "b")
				before := k.Number("HLEN", "jobs")
				report, err := k.hands().Bulk(k.Ctx(), c.selection, inspect.ActionDelete,
					inspect.BulkOptions{DryRun: true})
				require.NoError(t, err)
				assert.Equal(t, c.matched, report.Matched)
				assert.Zero(t, report.Done)
				assert.Equal(t, before, k.Number("HLEN", "jobs"), "a dry run counts only")

				report, err = k.hands().Bulk(k.Ctx(), c.selection, inspect.ActionDelete, inspect.BulkOptions{})
				require.NoError(t, err)
				assert.Equal(t, c.matched, report.Done)
				assert.True(t, report.Complete)
				assert.Equal(t, before-c.matched, k.Number("HLEN", "jobs"))
			})
		})
	}
}

func TestBulkGoesThroughManyPages(t *testing.T) {
	t.Parallel()
	const many = 1700
	cases := map[string]struct {
		state  work.State
		action inspect.Action
		left   work.State
	}{
		"delete what is queued":   {work.StateQueued, inspect.ActionDelete, ""},
		"stall what is queued":    {work.StateQueued, inspect.ActionStall, work.StateStalled},
		"retry what is dead":      {work.StateDead, inspect.ActionRetryNow(inspect.FreshAttempts()), work.StateQueued},
		"run what is scheduled":   {work.StateScheduled, inspect.ActionRunNow, work.StateQueued},
		"resume what is stalled":  {work.StateStalled, inspect.ActionResume, work.StateQueued},
		"move to the front again": {work.StateQueued, inspect.ActionMoveToFront, work.StateQueued},
		"another time": {work.StateScheduled, inspect.ActionReschedule(time.Now().Add(time.Hour)),
			work.StateScheduled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.crowd(c.state, many)
				var last int
				report, err := k.hands().Bulk(k.LongCtx(), inspect.Selection{State: c.state}, c.action,
					inspect.BulkOptions{
						Progress: func(done, total int) {
							assert.Equal(t, many, total)
							assert.GreaterOrEqual(t, done, last)
							last = done
						},
					})
				require.NoError(t, err)
				assert.Equal(t, inspect.BulkReport{Total: many, Looked: many, Matched: many, Done: many,
					Complete: true}, report)
				assert.Equal(t, many, last)
				count, err := k.hands().Bulk(k.Ctx(), inspect.Selection{State: work.StateQueued}, inspect.ActionDelete,
					inspect.BulkOptions{DryRun: true})
				require.NoError(t, err)
				want := 0
				if c.left == work.StateQueued {
					want = many
				}
				assert.Equal(t, want, count.Matched)
				if name == "move to the front again" {
					assert.Equal(t, []string{"j1", "j0"}, k.Strings("LRANGE", "queue:n", -2, -1), "in their old order")
				}
			})
		})
	}
}

// crowd makes many jobs of one state, all of them since the same moment.
func (k *kit) crowd(state work.State, many int) {
	k.T.Helper()
	shelf := inspect.Selectable[state]
	k.Do("ZADD", "queues", 1, "n")
	for from := 0; from < many; from += 100 {
		var ids, records, scores, names []any
		for i := from; i < min(many, from+100); i++ {
			id := fmt.Sprint("j", many-1-i) // the last first, to the front of the queue
			ids, records = append(ids, id),
				append(records, id, fmt.Sprintf(`{"jid":%q,"name":"n","args":[],"t":1}`, id))
			scores, names = append(scores, 4_000_000_000_001, id), append(names, id, "n")
		}
		k.Do("HSET", "jobs", records...)
		if shelf == "" {
			k.Do("RPUSH", "queue:n", ids...)
			k.Do("SADD", "ready", "n")
			continue
		}
		k.Do("ZADD", string(shelf), scores...)
		k.Do("HSET", "names", names...)
	}
}

func TestBulkPassesWhatIsNotSelected(t *testing.T) {
	t.Parallel()
	for _, state := range []work.State{work.StateQueued, work.StateDead} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				const many = 1300
				k.crowd(state, many)
				for i := range many / 100 {
					id := fmt.Sprint("j", 100*i+50)
					k.Do("HSET", "jobs", id, fmt.Sprintf(`{"jid":%q,"name":"n","args":[],"t":1,"tags":["x"]}`, id))
				}
				report, err := k.hands().Bulk(k.Ctx(), inspect.Selection{State: state, Tag: "x"}, inspect.ActionDelete,
					inspect.BulkOptions{})
				require.NoError(t, err)
				assert.Equal(t, inspect.BulkReport{Total: many, Looked: many, Matched: 13, Done: 13, Complete: true},
					report)
				assert.Equal(t, many-13, k.Number("HLEN", "jobs"))
			})
		})
	}
}

func TestBulkEndsWithItsContextAndItsLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 200)
		ctx, cancel := context.WithCancelCause(k.Ctx())
		report, err := k.hands().Bulk(ctx, inspect.Selection{State: work.StateDead}, inspect.ActionDelete,
			inspect.BulkOptions{
				Progress: func(int, int) { cancel(assert.AnError) },
			})
		assert.ErrorIs(t, err, assert.AnError)
		assert.False(t, report.Complete)
		assert.Equal(t, 16, report.Done, "the first page")
		assert.Equal(t, 200-16, k.Number("ZCARD", "morgue"))
		assert.ErrorContains(t, err, "after 16 of 200 jobs")

		report, err = k.hands().Bulk(k.Ctx(), inspect.Selection{State: work.StateDead}, inspect.ActionDelete,
			inspect.BulkOptions{Limit: 30})
		require.NoError(t, err)
		assert.Equal(t, 30, report.Done)
		assert.Equal(t, 200-16-30, k.Number("ZCARD", "morgue"))
	})
}

func TestBulkCountsWhatHasMovedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 3)
		report, err := inspect.TurnPage(k.Ctx(), k.hands(), inspect.Selection{State: work.StateDead},
			inspect.ActionRetryNow(), func() {
				require.NoError(t, k.hands().Delete(k.Ctx(), "j1"))
				require.NoError(t, k.hands().RetryNow(k.Ctx(), "j2"))
			})
		require.NoError(t, err)
		assert.Equal(t, 3, report.Matched)
		assert.Equal(t, 1, report.Done)
		assert.Equal(t, 2, report.Changed)
	})
}

func TestBulkRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	cases := map[string]struct {
		selection inspect.Selection
		action    inspect.Action
		opts      inspect.BulkOptions
		want      string
	}{
		"no state": {inspect.Selection{}, inspect.ActionDelete, inspect.BulkOptions{}, "the state of the selection"},
		"running": {inspect.Selection{State: work.StateRunning}, inspect.ActionDelete, inspect.BulkOptions{},
			"use StateQueued"},
		"no action": {inspect.Selection{State: work.StateDead}, inspect.Action{}, inspect.BulkOptions{},
			"the zero Action"},
		"an action for others": {inspect.Selection{State: work.StateDead}, inspect.ActionResume, inspect.BulkOptions{},
			"only jobs that are stalled can be resumed"},
		"a time that cannot be": {inspect.Selection{State: work.StateScheduled}, inspect.ActionReschedule(time.Time{}),
			inspect.BulkOptions{},
			"after 1970"},
		"an age below zero": {inspect.Selection{State: work.StateDead, OlderThan: -1}, inspect.ActionDelete,
			inspect.BulkOptions{}, "the age"},
		"a name that cannot be": {inspect.Selection{State: work.StateDead, Name: "a\n"}, inspect.ActionDelete,
			inspect.BulkOptions{}, "name"},
		"a limit that cannot be": {inspect.Selection{State: work.StateDead}, inspect.ActionDelete,
			inspect.BulkOptions{Limit: -1}, "the limit"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.hands().Bulk(k.Ctx(), c.selection, c.action, c.opts)
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// TestBulkLooksAtEachJobOnceHoweverItMoves: what is put off stands before what is still to be read, and new jobs come
// all the time.
func TestBulkLooksAtEachJobOnceHoweverItMoves(t *testing.T) {
	t.Parallel()
	const many = 1000
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		t.Run("into the middle of those that wait", func(t *testing.T) {
			t.Parallel()
			k := newKit(t, s)
			entries, begin := make([]work.Entry, many), time.Now().Add(time.Hour).Truncate(time.Second)
			for i := range entries {
				entries[i] = work.Entry{Name: "n", At: begin.Add(time.Duration(i) * time.Minute)}
			}
			_, err := k.Enq.EnqueueMany(k.LongCtx(), entries)
			require.NoError(t, err)
			to := begin.Add(many / 2 * time.Minute).Add(time.Second)
			report, err := k.hands().Bulk(k.LongCtx(), inspect.Selection{State: work.StateScheduled},
				inspect.ActionReschedule(to), inspect.BulkOptions{})
			require.NoError(t, err)
			assert.Equal(t, inspect.BulkReport{Total: many, Looked: many, Matched: many, Done: many, Complete: true},
				report)
			assert.Equal(t, many, k.Number("ZCOUNT", "scheduled", to.UnixMilli(), to.UnixMilli()))
		})
		t.Run("while others come", func(t *testing.T) {
			t.Parallel()
			k := newKit(t, s)
			k.crowd(work.StateQueued, many)
			report, err := k.hands().Bulk(k.LongCtx(), inspect.Selection{State: work.StateQueued, Name: "n"},
				inspect.ActionStall,
				inspect.BulkOptions{
					Progress: func(int, int) {
						for range 40 {
							k.Enqueue("n")
						}
					},
				})
			require.NoError(t, err)
			assert.True(t, report.Complete)
			for i := range many {
				require.NotNil(t, k.Do("ZSCORE", "stalled", fmt.Sprint("j", i)), "j%d was there when it began", i)
			}
		})
		t.Run("faster than it reads", func(t *testing.T) {
			t.Parallel()
			k := newKit(t, s)
			k.crowd(work.StateQueued, 100)
			come := 0
			_, err := k.hands().Bulk(k.LongCtx(), inspect.Selection{State: work.StateQueued, Name: "n", ID: "none"},
				inspect.ActionDelete,
				inspect.BulkOptions{
					Progress: func(int, int) {
						flood := make([]any, 1000)
						for i := range flood {
							come++
							flood[i] = fmt.Sprint("flood", come)
						}
						k.Do("LPUSH", "queue:n", flood...)
					},
				})
			assert.ErrorContains(t, err, "jobs come faster than they can be looked at: pause n, and do it again")
		})
	})
}
