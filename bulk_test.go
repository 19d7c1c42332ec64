package work

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestBulkActsOnWhatIsSelected(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		selection Selection
		matched   int
	}{
		"all that are dead":  {Selection{State: StateDead}, 6},
		"by name":            {Selection{State: StateDead, Name: "b"}, 2},
		"by tag":             {Selection{State: StateDead, Tag: "blue"}, 3},
		"by error":           {Selection{State: StateDead, ErrorText: "luck"}, 6},
		"by another error":   {Selection{State: StateDead, ErrorText: "disk"}, 0},
		"old enough":         {Selection{State: StateDead, OlderThan: 30 * time.Second}, 6},
		"not old enough":     {Selection{State: StateDead, OlderThan: time.Hour}, 0},
		"by name and by tag": {Selection{State: StateDead, Name: "a", Tag: "blue"}, 2},
		"queued":             {Selection{State: StateQueued}, 2},
		"queued, of a name":  {Selection{State: StateQueued, Name: "b"}, 1},
		"scheduled":          {Selection{State: StateScheduled, OlderThan: time.Minute}, 0},
		"stalled":            {Selection{State: StateStalled, OlderThan: time.Second}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				for i := range 6 {
					id := k.standing(StateDead, []string{"a", "a", "b"}[i%3])
					if i%2 == 0 {
						record := k.text("HGET", "jobs", id)
						k.do("HSET", "jobs", id, record[:len(record)-1]+`,"tags":["red","blue"]}`)
					}
				}
				k.standing(StateQueued, "a")
				k.standing(StateQueued, "b")
				k.standing(StateScheduled, "a")
				k.standing(StateStalled, "b")
				before := k.number("HLEN", "jobs")
				report, err := k.hands().Bulk(k.ctx(), c.selection, ActionDelete, BulkOptions{DryRun: true})
				require.NoError(t, err)
				assert.Equal(t, c.matched, report.Matched)
				assert.Zero(t, report.Done)
				assert.Equal(t, before, k.number("HLEN", "jobs"), "a dry run counts only")

				report, err = k.hands().Bulk(k.ctx(), c.selection, ActionDelete, BulkOptions{})
				require.NoError(t, err)
				assert.Equal(t, c.matched, report.Done)
				assert.True(t, report.Complete)
				assert.Equal(t, before-c.matched, k.number("HLEN", "jobs"))
			})
		})
	}
}

func TestBulkGoesThroughManyPages(t *testing.T) {
	t.Parallel()
	const many = 1700
	cases := map[string]struct {
		state  State
		action Action
		left   State
	}{
		"delete what is queued":   {StateQueued, ActionDelete, ""},
		"stall what is queued":    {StateQueued, ActionStall, StateStalled},
		"retry what is dead":      {StateDead, ActionRetryNow(FreshAttempts()), StateQueued},
		"run what is scheduled":   {StateScheduled, ActionRunNow, StateQueued},
		"resume what is stalled":  {StateStalled, ActionResume, StateQueued},
		"move to the front again": {StateQueued, ActionMoveToFront, StateQueued},
		"another time":            {StateScheduled, ActionReschedule(time.Now().Add(time.Hour)), StateScheduled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.crowd(c.state, many)
				var last int
				report, err := k.hands().Bulk(k.longCtx(), Selection{State: c.state}, c.action, BulkOptions{
					Progress: func(done, total int) {
						assert.Equal(t, many, total)
						assert.GreaterOrEqual(t, done, last)
						last = done
					},
				})
				require.NoError(t, err)
				assert.Equal(t, BulkReport{Total: many, Looked: many, Matched: many, Done: many, Complete: true},
					report)
				assert.Equal(t, many, last)
				count, err := k.hands().Bulk(k.ctx(), Selection{State: StateQueued}, ActionDelete,
					BulkOptions{DryRun: true})
				require.NoError(t, err)
				want := 0
				if c.left == StateQueued {
					want = many
				}
				assert.Equal(t, want, count.Matched)
				if name == "move to the front again" {
					assert.Equal(t, []string{"j1", "j0"}, k.strings("LRANGE", "queue:n", -2, -1), "in their old order")
				}
			})
		})
	}
}

// crowd makes many jobs of one state, all of them since the same moment.
func (k *kit) crowd(state State, many int) {
	k.t.Helper()
	shelf := selectable[state]
	k.do("ZADD", "queues", 1, "n")
	for from := 0; from < many; from += 100 {
		var ids, records, scores, names []any
		for i := from; i < min(many, from+100); i++ {
			id := fmt.Sprint("j", many-1-i) // the last first, to the front of the queue
			ids, records = append(ids, id),
				append(records, id, fmt.Sprintf(`{"jid":%q,"name":"n","args":[],"t":1}`, id))
			scores, names = append(scores, 4_000_000_000_001, id), append(names, id, "n")
		}
		k.do("HSET", "jobs", records...)
		if shelf == "" {
			k.do("RPUSH", "queue:n", ids...)
			k.do("SADD", "ready", "n")
			continue
		}
		k.do("ZADD", string(shelf), scores...)
		k.do("HSET", "names", names...)
	}
}

func TestBulkPassesWhatIsNotSelected(t *testing.T) {
	t.Parallel()
	for _, state := range []State{StateQueued, StateDead} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				const many = 1300
				k.crowd(state, many)
				for i := range many / 100 {
					id := fmt.Sprint("j", 100*i+50)
					k.do("HSET", "jobs", id, fmt.Sprintf(`{"jid":%q,"name":"n","args":[],"t":1,"tags":["x"]}`, id))
				}
				report, err := k.hands().Bulk(k.ctx(), Selection{State: state, Tag: "x"}, ActionDelete, BulkOptions{})
				require.NoError(t, err)
				assert.Equal(t, BulkReport{Total: many, Looked: many, Matched: 13, Done: 13, Complete: true}, report)
				assert.Equal(t, many-13, k.number("HLEN", "jobs"))
			})
		})
	}
}

func TestBulkEndsWithItsContextAndItsLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 200)
		ctx, cancel := context.WithCancelCause(k.ctx())
		report, err := k.hands().Bulk(ctx, Selection{State: StateDead}, ActionDelete, BulkOptions{
			Progress: func(int, int) { cancel(assert.AnError) },
		})
		assert.ErrorIs(t, err, assert.AnError)
		assert.False(t, report.Complete)
		assert.Equal(t, 16, report.Done, "the first page")
		assert.Equal(t, 200-16, k.number("ZCARD", "morgue"))
		assert.ErrorContains(t, err, "after 16 of 200 jobs")

		report, err = k.hands().Bulk(k.ctx(), Selection{State: StateDead}, ActionDelete, BulkOptions{Limit: 30})
		require.NoError(t, err)
		assert.Equal(t, 30, report.Done)
		assert.Equal(t, 200-16-30, k.number("ZCARD", "morgue"))
	})
}

func TestBulkCountsWhatHasMovedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 3)
		b := &bulk{Inspector: k.hands(), selection: Selection{State: StateDead}, action: ActionRetryNow()}
		sources, err := b.sources(k.ctx())
		require.NoError(t, err)
		page, err := sources[0].next(k.ctx(), 10)
		require.NoError(t, err)
		now, _, err := b.store.Describe(k.ctx(), page)
		require.NoError(t, err)
		require.NoError(t, k.hands().Delete(k.ctx(), "j1"))
		require.NoError(t, k.hands().RetryNow(k.ctx(), "j2"))
		_, err = b.turn(k.ctx(), page, now)
		require.NoError(t, err)
		assert.Equal(t, 3, b.report.Matched)
		assert.Equal(t, 1, b.report.Done)
		assert.Equal(t, 2, b.report.Changed)
	})
}

func TestBulkRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	cases := map[string]struct {
		selection Selection
		action    Action
		opts      BulkOptions
		want      string
	}{
		"no state":  {Selection{}, ActionDelete, BulkOptions{}, "the state of the selection"},
		"running":   {Selection{State: StateRunning}, ActionDelete, BulkOptions{}, "use StateQueued"},
		"no action": {Selection{State: StateDead}, Action{}, BulkOptions{}, "the zero Action"},
		"an action for others": {Selection{State: StateDead}, ActionResume, BulkOptions{},
			"only jobs that are stalled can be resumed"},
		"a time that cannot be": {Selection{State: StateScheduled}, ActionReschedule(time.Time{}), BulkOptions{},
			"after 1970"},
		"an age below zero":      {Selection{State: StateDead, OlderThan: -1}, ActionDelete, BulkOptions{}, "the age"},
		"a name that cannot be":  {Selection{State: StateDead, Name: "a\n"}, ActionDelete, BulkOptions{}, "name"},
		"a limit that cannot be": {Selection{State: StateDead}, ActionDelete, BulkOptions{Limit: -1}, "the limit"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.hands().Bulk(k.ctx(), c.selection, c.action, c.opts)
			var invalid *InvalidError
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
			entries, begin := make([]Entry, many), time.Now().Add(time.Hour).Truncate(time.Second)
			for i := range entries {
				entries[i] = Entry{Name: "n", At: begin.Add(time.Duration(i) * time.Minute)}
			}
			_, err := k.enq.EnqueueMany(k.longCtx(), entries)
			require.NoError(t, err)
			to := begin.Add(many / 2 * time.Minute).Add(time.Second)
			report, err := k.hands().Bulk(k.longCtx(), Selection{State: StateScheduled}, ActionReschedule(to),
				BulkOptions{})
			require.NoError(t, err)
			assert.Equal(t, BulkReport{Total: many, Looked: many, Matched: many, Done: many, Complete: true}, report)
			assert.Equal(t, many, k.number("ZCOUNT", "scheduled", to.UnixMilli(), to.UnixMilli()))
		})
		t.Run("while others come", func(t *testing.T) {
			t.Parallel()
			k := newKit(t, s)
			k.crowd(StateQueued, many)
			report, err := k.hands().Bulk(k.longCtx(), Selection{State: StateQueued, Name: "n"}, ActionStall,
				BulkOptions{
					Progress: func(int, int) {
						for range 40 {
							k.enqueue("n")
						}
					},
				})
			require.NoError(t, err)
			assert.True(t, report.Complete)
			for i := range many {
				require.NotNil(t, k.do("ZSCORE", "stalled", fmt.Sprint("j", i)), "j%d was there when it began", i)
			}
		})
		t.Run("faster than it reads", func(t *testing.T) {
			t.Parallel()
			k := newKit(t, s)
			k.crowd(StateQueued, 100)
			come := 0
			_, err := k.hands().Bulk(k.longCtx(), Selection{State: StateQueued, Name: "n", ID: "none"}, ActionDelete,
				BulkOptions{
					Progress: func(int, int) {
						flood := make([]any, 1000)
						for i := range flood {
							come++
							flood[i] = fmt.Sprint("flood", come)
						}
						k.do("LPUSH", "queue:n", flood...)
					},
				})
			assert.ErrorContains(t, err, "jobs come faster than they can be looked at: pause n, and do it again")
		})
	})
}
