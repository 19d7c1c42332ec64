package inspect_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// pages reads all pages, and calls between before each but the first.
func (k *kit) pages(opts inspect.PageOptions, between func(read []string)) (ids []string) {
	k.T.Helper()
	for {
		page, err := k.hands().Page(k.Ctx(), opts)
		require.NoError(k.T, err)
		for _, job := range page.Jobs {
			assert.Equal(k.T, opts.State, job.State)
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
	for _, state := range []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
		work.StateDead} {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprint(state, " newest ", newest), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					k.crowd(state, many)
					opts := inspect.PageOptions{State: state, Newest: newest, Limit: 20}
					want := numbered(many)
					if state == work.StateQueued {
						opts.Name = "n"
					} else {
						slices.Sort(want) // all have the same score
					}
					if newest {
						slices.Reverse(want)
					}
					assert.Equal(t, want, k.pages(opts, nil))
					page, err := k.hands().Page(k.Ctx(), opts)
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
	k.T.Helper()
	w := k.Raw().Worker(worker)
	_, _, err := w.Register(k.Ctx(), rdb.Registration{Life: time.Hour, Epoch: "e", Queues: []string{name}})
	require.NoError(k.T, err)
	fetched, err := w.Fetch(k.Ctx(), 1, jobs, false, []rdb.Share{{Queue: name, Jobs: jobs}})
	require.NoError(k.T, err)
	require.Len(k.T, fetched.Jobs, jobs)
}

func TestAPageOfRunningJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for range 30 {
			k.standing(work.StateQueued, "a")
			k.standing(work.StateQueued, "b")
		}
		for n, name := range []string{"a", "b", "a"} {
			k.takes(fmt.Sprint("hand", n), name, 10)
		}
		ofA := k.pages(inspect.PageOptions{State: work.StateRunning, Name: "a", Limit: 3}, nil)
		assert.Len(t, ofA, 20)
		all := k.pages(inspect.PageOptions{State: work.StateRunning, Limit: 7}, nil)
		assert.Len(t, all, 30)
		assert.Subset(t, all, ofA)
		newest := k.pages(inspect.PageOptions{State: work.StateRunning, Newest: true, Limit: 7}, nil)
		slices.Reverse(newest)
		assert.Equal(t, all, newest)
		page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateRunning, Name: "b"})
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
		k.crowd(work.StateQueued, 30)
		for _, newest := range []bool{false, true} {
			opts := inspect.PageOptions{State: work.StateQueued, Name: "n", Newest: newest, Limit: 7}
			for more := true; more; more = opts.Cursor != "" {
				page, err := k.hands().Page(k.Ctx(), opts)
				require.NoError(t, err)
				for _, job := range page.Jobs {
					assert.Equal(t, job.ID, "j"+strconv.Itoa(job.Ahead))
					behind := slices.ContainsFunc(job.Why, func(why inspect.WaitReason) bool {
						return why.Kind == inspect.WaitBehind &&
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
	for _, state := range []work.State{work.StateQueued, work.StateDead} {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprint(state, " newest ", newest), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					k.crowd(state, many)
					opts := inspect.PageOptions{State: state, Newest: newest, Limit: 10}
					if state == work.StateQueued {
						opts.Name = "n"
					}
					gone := map[string]bool{}
					times := map[string]int{}
					for _, id := range k.pages(opts, func(read []string) {
						last := read[len(read)-1]
						require.NoError(t, k.hands().Delete(k.Ctx(), last))
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
		k.crowd(work.StateQueued, 20)
		first, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "n", Limit: 5})
		require.NoError(t, err)
		assert.Regexp(t, `^[A-Za-z0-9_-]+$`, first.Next)
		other, err := inspect.New(s.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		defer other.Close()
		second, err := other.Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "n", Limit: 5,
			Cursor: first.Next})
		require.NoError(t, err)
		assert.Equal(t, "j5", second.Jobs[0].ID)
	})
}

func TestAPageLeavesOutWhatHasMovedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 4)
		i, err := inspect.New("", work.Namespace(k.Namespace),
			work.WithConnection(k.Interfering(func(
				ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
			) ([]redisconn.Reply, error) {
				replies, err := pass(ctx, calls...)
				if pooltest.NameOf(calls[0]) == "page" {
					require.NoError(t, k.hands().RetryNow(k.Ctx(), "j1"))
					require.NoError(t, k.hands().Delete(k.Ctx(), "j2"))
				}
				return replies, err
			})))
		require.NoError(t, err)
		page, err := i.Page(k.Ctx(), inspect.PageOptions{State: work.StateDead})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 2)
		assert.Equal(t, []string{"j0", "j3"}, []string{page.Jobs[0].ID, page.Jobs[1].ID})
	})
}

func TestABadRecordDoesNotHideThePage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 3)
		k.Do("HSET", "jobs", "j1", "{")
		page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateDead})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 3)
		assert.NotEmpty(t, page.Jobs[1].Problem)
		assert.Empty(t, page.Jobs[0].Problem)

		k.Do("UNLINK", "trail")
		k.Do("SET", "trail", "x")
		page, err = k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateDead})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 3)
		assert.Contains(t, page.Jobs[0].Problem, "BADKEY")
	})
}

func TestPageRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.crowd(work.StateQueued, 10)
	k.crowd(work.StateDead, 10)
	ofQueue, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "n", Limit: 3})
	require.NoError(t, err)
	ofMorgue, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateDead, Limit: 3})
	require.NoError(t, err)
	forged := func(state work.State, m inspect.Mark) string {
		return inspect.EncodeCursor(inspect.PageCursor{State: state, Mark: m})
	}
	cases := map[string]struct {
		opts inspect.PageOptions
		want string
	}{
		"no state":           {inspect.PageOptions{}, "the state of the page"},
		"one of no list":     {inspect.PageOptions{State: work.StateLost}, "use StateQueued"},
		"ended, no name":     {inspect.PageOptions{State: work.StateSucceeded}, "job name is empty"},
		"no queue":           {inspect.PageOptions{State: work.StateQueued}, "job name is empty"},
		"a name of the dead": {inspect.PageOptions{State: work.StateDead, Name: "n"}, "Search finds those of one"},
		"too many":           {inspect.PageOptions{State: work.StateDead, Limit: 501}, "use 1 to 500"},
		"fewer than none":    {inspect.PageOptions{State: work.StateDead, Limit: -1}, "use 1 to 500"},
		"no cursor": {inspect.PageOptions{State: work.StateDead, Cursor: "hello, world"},
			`the cursor is "hello, world"`},
		"a cursor of nothing": {inspect.PageOptions{State: work.StateDead, Cursor: "e30"}, "the cursor"},
		"of another state": {inspect.PageOptions{State: work.StateRetrying, Cursor: ofMorgue.Next},
			"use Next of the page before"},
		"of another queue": {inspect.PageOptions{State: work.StateQueued, Name: "m", Cursor: ofQueue.Next},
			"the cursor"},
		"of the other order": {inspect.PageOptions{State: work.StateDead, Newest: true, Cursor: ofMorgue.Next},
			"the cursor"},
		"of another kind of place": {inspect.PageOptions{State: work.StateDead,
			Cursor: forged(work.StateDead, *markOf(t, ofQueue.Next))},
			"the cursor"},
		"with a score of letters": {inspect.PageOptions{State: work.StateDead,
			Cursor: forged(work.StateDead, inspect.Mark{Score: "x", ID: "j1"})}, "the cursor"},
		"without a score": {inspect.PageOptions{State: work.StateDead,
			Cursor: forged(work.StateDead, inspect.Mark{ID: "j1"})},
			"the cursor"},
		"longer than any": {inspect.PageOptions{State: work.StateDead,
			Cursor: string(slices.Repeat([]byte("A"), inspect.MaxCursor+1))}, "the cursor"},
		"with more behind it": {inspect.PageOptions{State: work.StateDead, Cursor: ofMorgue.Next + "AAAA"},
			"the cursor"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.hands().Page(k.Ctx(), c.opts)
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func markOf(t *testing.T, cursor string) *inspect.Mark {
	t.Helper()
	var read inspect.PageCursor
	require.NoError(t, inspect.DecodeCursor(cursor, &read))
	return &read.Mark
}

// A queue whose workers take from it while it is read by page.
func TestPagesOfAQueueThatIsWorkedOff(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateQueued, 300)
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("n", func() error { return nil }))
		deadline := time.Now().Add(pooltest.Patience)
		seen := map[string]bool{}
		for opts := (inspect.PageOptions{State: work.StateQueued, Name: "n", Limit: 5}); time.Now().Before(deadline); {
			page, err := k.hands().Page(k.Ctx(), opts)
			require.NoError(t, err)
			for _, job := range page.Jobs {
				assert.False(t, seen[job.ID], "%s came twice", job.ID)
				seen[job.ID] = true
			}
			if opts.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		require.NoError(t, pool.Drain(k.Ctx()))
	})
}
