package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// pages reads all pages, and calls between before each but the first.
func (k *kit) pages(opts PageOptions, between func(read []string)) (ids []string) {
	k.t.Helper()
	for {
		page, err := k.hands().Page(k.ctx(), opts)
		require.NoError(k.t, err)
		for _, job := range page.Jobs {
			assert.Equal(k.t, opts.State, job.State)
			ids = append(ids, job.ID)
		}
		if opts.Cursor = page.Next; page.Next == "" {
			return ids
		}
		if between != nil {
			between(ids)
		}
	}
}

// numbered are the ids that crowd makes: j0, j1, ...
func numbered(many int) []string {
	ids := make([]string, many)
	for n := range ids {
		ids[n] = "j" + strconv.Itoa(n)
	}
	return ids
}

func TestPagesTellAllJobsInTheirOrder(t *testing.T) {
	t.Parallel()
	const many = 130
	for _, state := range []State{StateQueued, StateScheduled, StateRetrying, StateStalled, StateDead} {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprint(state, " newest ", newest), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					k.crowd(state, many)
					opts := PageOptions{State: state, Newest: newest, Limit: 20}
					want := numbered(many)
					if state == StateQueued {
						opts.Name = "n"
					} else {
						slices.Sort(want) // all have the same score
					}
					if newest {
						slices.Reverse(want)
					}
					assert.Equal(t, want, k.pages(opts, nil))
					page, err := k.hands().Page(k.ctx(), opts)
					require.NoError(t, err)
					assert.Equal(t, many, page.Total)
					assert.Len(t, page.Jobs, 20)
				})
			})
		}
	}
}

// takes has a worker take some jobs.
func (k *kit) takes(worker, name string, jobs int) {
	k.t.Helper()
	w := k.enq.core.store.Worker(worker)
	_, _, err := w.Register(k.ctx(), rdb.Registration{Life: time.Minute, Epoch: "e", Queues: []string{name}})
	require.NoError(k.t, err)
	fetched, err := w.Fetch(k.ctx(), 1, jobs, false, []rdb.Share{{Queue: name, Jobs: jobs}})
	require.NoError(k.t, err)
	require.Len(k.t, fetched.Jobs, jobs)
}

func TestAPageOfRunningJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for range 30 {
			k.standing(StateQueued, "a")
			k.standing(StateQueued, "b")
		}
		for n, name := range []string{"a", "b", "a"} {
			k.takes(fmt.Sprint("hand", n), name, 10)
		}
		ofA := k.pages(PageOptions{State: StateRunning, Name: "a", Limit: 3}, nil)
		assert.Len(t, ofA, 20)
		all := k.pages(PageOptions{State: StateRunning, Limit: 7}, nil)
		assert.Len(t, all, 30)
		assert.Subset(t, all, ofA)
		newest := k.pages(PageOptions{State: StateRunning, Newest: true, Limit: 7}, nil)
		slices.Reverse(newest)
		assert.Equal(t, all, newest)
		page, err := k.hands().Page(k.ctx(), PageOptions{State: StateRunning, Name: "b"})
		require.NoError(t, err)
		assert.Equal(t, 10, page.Total)
		assert.Empty(t, page.Next, "50 are more than there are")
		assert.Equal(t, "hand1", page.Jobs[0].Worker)
		assert.False(t, page.Jobs[0].BegunAt.IsZero())
	})
}

func TestAPageSaysHowManyRunBefore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateQueued, 30)
		for _, newest := range []bool{false, true} {
			opts := PageOptions{State: StateQueued, Name: "n", Newest: newest, Limit: 7}
			for more := true; more; more = opts.Cursor != "" {
				page, err := k.hands().Page(k.ctx(), opts)
				require.NoError(t, err)
				for _, job := range page.Jobs {
					assert.Equal(t, job.ID, "j"+strconv.Itoa(job.Ahead))
					behind := slices.ContainsFunc(job.Why, func(why WaitReason) bool {
						return why.Kind == WaitBehind &&
							why.Ahead == job.Ahead
					})
					assert.Equal(t, job.Ahead > 0, behind)
				}
				opts.Cursor = page.Next
			}
		}
	})
}

func TestJobsThatComeAndLeaveBetweenPages(t *testing.T) {
	t.Parallel()
	const many = 120
	for _, state := range []State{StateQueued, StateDead} {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprint(state, " newest ", newest), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					k.crowd(state, many)
					opts := PageOptions{State: state, Newest: newest, Limit: 10}
					if state == StateQueued {
						opts.Name = "n"
					}
					gone := map[string]bool{}
					times := map[string]int{}
					for _, id := range k.pages(opts, func(read []string) {
						last := read[len(read)-1]
						require.NoError(t, k.hands().Delete(k.ctx(), last))
						gone[last] = true
						if len(read) < many {
							k.standing(state, "n")
						}
					}) {
						times[id]++
					}
					for _, id := range numbered(many) {
						if !gone[id] {
							assert.Equal(t, 1, times[id], id)
						}
					}
				})
			})
		}
	}
}

// A cursor is all that the next page needs: it may be read by another process.
func TestACursorIsGoodForAnotherInspector(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateQueued, 20)
		first, err := k.hands().Page(k.ctx(), PageOptions{State: StateQueued, Name: "n", Limit: 5})
		require.NoError(t, err)
		assert.Regexp(t, `^[A-Za-z0-9_-]+$`, first.Next)
		other, err := NewInspector(s.DSN(), Namespace(k.namespace))
		require.NoError(t, err)
		defer other.Close()
		second, err := other.Page(k.ctx(), PageOptions{State: StateQueued, Name: "n", Limit: 5, Cursor: first.Next})
		require.NoError(t, err)
		assert.Equal(t, "j5", second.Jobs[0].ID)
	})
}

func TestAPageLeavesOutWhatHasMovedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 4)
		i := k.interfering(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			replies, err := pass(ctx, calls...)
			if nameOf(calls[0]) == "page" {
				require.NoError(t, k.hands().RetryNow(k.ctx(), "j1"))
				require.NoError(t, k.hands().Delete(k.ctx(), "j2"))
			}
			return replies, err
		})
		page, err := i.Page(k.ctx(), PageOptions{State: StateDead})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 2)
		assert.Equal(t, []string{"j0", "j3"}, []string{page.Jobs[0].ID, page.Jobs[1].ID})
	})
}

func TestABadRecordDoesNotHideThePage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 3)
		k.do("HSET", "jobs", "j1", "{")
		page, err := k.hands().Page(k.ctx(), PageOptions{State: StateDead})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 3)
		assert.NotEmpty(t, page.Jobs[1].Problem)
		assert.Empty(t, page.Jobs[0].Problem)

		k.do("UNLINK", "trail")
		k.do("SET", "trail", "x")
		page, err = k.hands().Page(k.ctx(), PageOptions{State: StateDead})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 3)
		assert.Contains(t, page.Jobs[0].Problem, "BADKEY")
	})
}

func TestPageRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.crowd(StateQueued, 10)
	k.crowd(StateDead, 10)
	ofQueue, err := k.hands().Page(k.ctx(), PageOptions{State: StateQueued, Name: "n", Limit: 3})
	require.NoError(t, err)
	ofMorgue, err := k.hands().Page(k.ctx(), PageOptions{State: StateDead, Limit: 3})
	require.NoError(t, err)
	forged := func(state State, m mark) string { return encodeCursor(pageCursor{State: state, Mark: m}) }
	cases := map[string]struct {
		opts PageOptions
		want string
	}{
		"no state":           {PageOptions{}, "the state of the page"},
		"one that has ended": {PageOptions{State: StateSucceeded}, "use StateQueued"},
		"no queue":           {PageOptions{State: StateQueued}, "job name is empty"},
		"a name of the dead": {PageOptions{State: StateDead, Name: "n"}, "Search finds those of one"},
		"too many":           {PageOptions{State: StateDead, Limit: 501}, "use 1 to 500"},
		"fewer than none":    {PageOptions{State: StateDead, Limit: -1}, "use 1 to 500"},
		"no cursor": {PageOptions{State: StateDead, Cursor: "hello, world"},
			`the cursor is "hello, world"`},
		"a cursor of nothing": {PageOptions{State: StateDead, Cursor: "e30"}, "the cursor"},
		"of another state": {PageOptions{State: StateRetrying, Cursor: ofMorgue.Next},
			"use Next of the page before"},
		"of another queue":   {PageOptions{State: StateQueued, Name: "m", Cursor: ofQueue.Next}, "the cursor"},
		"of the other order": {PageOptions{State: StateDead, Newest: true, Cursor: ofMorgue.Next}, "the cursor"},
		"of another kind of place": {PageOptions{State: StateDead, Cursor: forged(StateDead, *markOf(t, ofQueue.Next))},
			"the cursor"},
		"with a score of letters": {PageOptions{State: StateDead,
			Cursor: forged(StateDead, mark{Score: "x", ID: "j1"})}, "the cursor"},
		"without a score": {PageOptions{State: StateDead, Cursor: forged(StateDead, mark{ID: "j1"})},
			"the cursor"},
		"longer than any": {PageOptions{State: StateDead,
			Cursor: string(slices.Repeat([]byte("A"), maxCursor+1))}, "the cursor"},
		"with more behind it": {PageOptions{State: StateDead, Cursor: ofMorgue.Next + "AAAA"}, "the cursor"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.hands().Page(k.ctx(), c.opts)
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func markOf(t *testing.T, cursor string) *mark {
	t.Helper()
	var read pageCursor
	require.NoError(t, decodeCursor(cursor, &read))
	return &read.Mark
}

// What is no cursor is refused, and what is comes back as it was.
func FuzzPageCursor(f *testing.F) {
	f.Add("")
	f.Add(encodeCursor(pageCursor{State: StateDead, Mark: mark{Score: "1", ID: "a"}}))
	f.Add(encodeCursor(pageCursor{State: StateQueued, Name: "n", Newest: true, Mark: mark{}}))
	f.Fuzz(func(t *testing.T, text string) {
		var cursor pageCursor
		if decodeCursor(text, &cursor) != nil || cursor.Mark.validate(cursor.State) != nil {
			return
		}
		var again pageCursor
		require.NoError(t, decodeCursor(encodeCursor(cursor), &again))
		first, _ := json.Marshal(cursor)
		second, _ := json.Marshal(again)
		assert.Equal(t, string(first), string(second))
	})
}

// A queue whose workers take from it while it is read by page.
func TestPagesOfAQueueThatIsWorkedOff(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateQueued, 300)
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("n", func() error { return nil }))
		deadline := time.Now().Add(patience)
		seen := map[string]bool{}
		for opts := (PageOptions{State: StateQueued, Name: "n", Limit: 5}); time.Now().Before(deadline); {
			page, err := k.hands().Page(k.ctx(), opts)
			require.NoError(t, err)
			for _, job := range page.Jobs {
				assert.False(t, seen[job.ID], "%s came twice", job.ID)
				seen[job.ID] = true
			}
			if opts.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		require.NoError(t, pool.Drain(k.ctx()))
	})
}
