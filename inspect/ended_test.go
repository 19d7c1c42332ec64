package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

// over waits until a job has ended, and tells all of it.
func (k *kit) over(id string) *inspect.JobInfo {
	k.T.Helper()
	var info *inspect.JobInfo
	k.Until("job "+id+" has ended", func() bool {
		var err error
		info, err = k.hands().Job(k.Ctx(), id)
		return err == nil && info.State.Ended()
	})
	return info
}

// outcomesOf are how the attempts of a job have ended, without their times.
func outcomesOf(t *testing.T, info *inspect.JobInfo) (outcomes []string) {
	t.Helper()
	last := time.Time{}
	for _, a := range info.Attempts {
		outcomes = append(outcomes, fmt.Sprint(a.Number, " ", a.Outcome, " ", a.Error))
		assert.NotEmpty(t, a.Worker)
		if a.Outcome != inspect.AttemptRunning {
			assert.False(t, a.Begun.IsZero() || a.Begun.After(a.Ended), "%+v", a)
			assert.False(t, a.Ended.Before(last), "%+v", a)
			last = a.Ended
		}
	}
	return outcomes
}

// A job that has ended is known with all that happened to it.
func TestAJobThatHasEndedStaysKnown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		attempt := 0 // of one job on one processor
		running := make(chan bool)
		release := make(chan bool)
		receipt, err := k.Enq.With(work.Retention(time.Hour), work.Meta("m", "1"), work.Tags("red")).
			Enqueue(k.Ctx(), "story", "<arg>", 7)
		require.NoError(t, err)
		k.Do("HSET", "crashes", receipt.ID, fmt.Sprintf("w9@%d:3000.1500:1:1:1:1:7", receipt.RunAt.UnixMilli()))
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("story", work.JobOptions{
				Backoff: func(*work.Job, error) time.Duration { return time.Millisecond },
			}, func(job *work.Job, _ string, _ int) (int, error) {
				switch attempt++; attempt {
				case 1:
					return 0, work.RetryIn(time.Millisecond, errors.New("first try"))
				case 2:
					return 0, work.Snooze(time.Millisecond)
				case 3:
					panic("third try")
				}
				job.Checkin("half way")
				require.NoError(t, job.Progress(map[string]int{"done": 4}))
				running <- true
				<-release
				return 42, nil
			}))
		<-running
		lives, err := k.hands().Job(k.Ctx(), receipt.ID)
		require.NoError(t, err)
		before := []string{"1 crashed ", "1 failed first try", "2 snoozed "}
		assert.Equal(t, append(before, "2 failed panic: third try", "3 running "), outcomesOf(t, lives))
		close(release)

		info := k.over(receipt.ID)
		assert.Equal(t, append(before, "2 failed panic: third try", "3 succeeded "), outcomesOf(t, info))
		assert.Zero(t, info.AttemptsLeftOut)
		assert.Contains(t, info.Attempts[3].Stack, "ended_test.go")
		assert.Equal(t, work.StateSucceeded, info.State)
		assert.Equal(t, "story", info.Name)
		assert.Equal(t, `["<arg>",7]`, string(info.Args))
		assert.Equal(t, "42", string(info.Result))
		assert.Equal(t, map[string]string{"m": "1"}, info.Meta)
		assert.Equal(t, []string{"red"}, info.Tags)
		assert.Equal(t, 2, info.Fails)
		assert.Len(t, info.Errors, 2)
		assert.Equal(t, lives.EnqueuedAt, info.EnqueuedAt)
		assert.Equal(t, lives.RunAt, info.RunAt, "when the last attempt was due")
		assert.Equal(t, time.Hour, info.Options.Retention)
		require.NotNil(t, info.Checkin)
		assert.Equal(t, "half way", info.Checkin.Message)
		assert.JSONEq(t, `{"done":4}`, string(info.Checkin.Progress))
		assert.Equal(t, k.ID(pool), info.Attempts[4].Worker)

		page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateSucceeded, Name: "story"})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		page.Jobs[0].AsOf = info.AsOf
		assert.Equal(t, info, page.Jobs[0], "a page tells the same")
	})
}

// However a job ends, it is listed by that.
func TestEachWayToEndIsListed(t *testing.T) {
	t.Parallel()
	for state, row := range map[work.State]struct {
		options []work.EnqueueOption
		in      time.Duration
		do      func(k *kit, id string)
		reason  string
	}{
		work.StateCancelled: {in: time.Hour, do: func(k *kit, id string) { k.Cancel(id) }},
		work.StateDeleted:   {do: func(k *kit, id string) { require.NoError(k.T, k.hands().Delete(k.Ctx(), id)) }},
		work.StateExpired: {options: []work.EnqueueOption{work.ExpireIn(time.Millisecond)},
			do: func(k *kit, id string) {
				k.Until("its time is over", func() bool { return time.Since(k.enqueuedAt(id)) > 50*time.Millisecond })
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
			}},
		work.StateDiscarded: {reason: "out of retries", do: func(k *kit, _ string) {
			k.Start(work.NewWorkerPool(nil, 1, k.Options()).
				JobWithOptions("n", work.JobOptions{Retries: -1, SkipMorgue: true},
					func() error { return errors.New("no luck") }))
		}},
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				enq := k.Enq.With(append(row.options, work.Retention(time.Hour), work.OmitArgs())...)
				receipt, err := enq.EnqueueIn(k.Ctx(), "n", row.in)
				require.NoError(t, err)
				other, err := k.Enq.EnqueueIn(k.Ctx(), "n", time.Hour) // keeps nothing
				require.NoError(t, err)
				require.NoError(t, k.hands().Delete(k.Ctx(), other.ID))
				row.do(k, receipt.ID)
				info := k.over(receipt.ID)
				assert.Equal(t, state, info.State)
				assert.Equal(t, "n", info.Name)
				assert.Equal(t, "unwanted", info.NoArgs)
				assert.Nil(t, info.Args)
				assert.Equal(t, row.reason, info.Reason)
				page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: state, Name: "n"})
				require.NoError(t, err)
				require.Len(t, page.Jobs, 1)
				assert.Equal(t, 1, page.Total)
				assert.Equal(t, receipt.ID, page.Jobs[0].ID)
				if state == work.StateDiscarded {
					assert.Equal(t, []string{"1 failed no luck"}, outcomesOf(t, info))
				} else {
					assert.Empty(t, info.Attempts)
				}
				counts, err := k.hands().EndedCounts(k.Ctx(), "n")
				require.NoError(t, err)
				sum := counts.Succeeded + counts.Cancelled + counts.Deleted + counts.Discarded + counts.Expired
				assert.Equal(t, 1, sum)

				require.NoError(t, k.deleteAgain(receipt.ID))
			})
		})
	}
}

// enqueuedAt is when a job was.
func (k *kit) enqueuedAt(id string) time.Time {
	info, err := k.hands().Job(k.Ctx(), id)
	require.NoError(k.T, err)
	return info.EnqueuedAt
}

// deleteAgain deletes a job that has ended. Those that were cancelled or deleted go by themselves.
func (k *kit) deleteAgain(id string) error {
	var refused *inspect.StateError
	if err := k.hands().Delete(k.Ctx(), id); errors.As(err, &refused) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := k.hands().Job(k.Ctx(), id); !errors.Is(err, work.ErrNotFound) {
		return fmt.Errorf("it is still known: %w", err)
	}
	counts, err := k.hands().EndedCounts(k.Ctx(), "n")
	if counts != (inspect.EndedCounts{}) {
		return fmt.Errorf("it is still listed: %v", counts)
	}
	return err
}

// What an older version has left of a job says how it ended, and no more.
func TestAnOutcomeWithoutANameIsStillRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("HSET", "outcomes", "old", `{"state":"done","ended":5,"result":6}`)
		info, err := k.hands().Job(k.Ctx(), "old")
		require.NoError(t, err)
		assert.Equal(t, &inspect.JobInfo{ID: "old", State: work.StateSucceeded, AsOf: info.AsOf,
			EndedAt: time.UnixMilli(5), Result: []byte("6")}, info)
	})
}

// A list shows a former job of an id that was used again as that, and Job tells of the newer one.
func TestAFormerJobOfAnIDIsListedAsThat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() (int, error) { return 1, nil }))
		enq := k.Enq.With(work.ID("x"), work.Retention(time.Hour))
		_, err := enq.Enqueue(k.Ctx(), "n")
		require.NoError(t, err)
		k.over("x")
		_, err = enq.EnqueueIn(k.Ctx(), "n", time.Hour)
		require.NoError(t, err)
		page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateSucceeded, Name: "n"})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.True(t, page.Jobs[0].Former)
		assert.Nil(t, page.Jobs[0].Result)
		assert.Len(t, page.Jobs[0].Attempts, 1)
		info, err := k.hands().Job(k.Ctx(), "x")
		require.NoError(t, err)
		assert.Equal(t, work.StateScheduled, info.State)
		assert.False(t, info.Former)
	})
}

// kept lets jobs have ended, j0 first, every third with an error.
func (k *kit) kept(many int) {
	k.T.Helper()
	for n := range many {
		id, failed := fmt.Sprint("j", n), ""
		if n%3 == 0 {
			failed = `,"attempts":[{"n":1,"begun":1,"ended":2,"outcome":"failed","error":"bad luck"}]`
		}
		k.Do("ZADD", "queues", 1, "n")
		k.Do("ZADD", "ended:done:n", 1000+n/5, id) // some at the same ms
		k.Do("HSET", "details:done:n", id,
			fmt.Sprintf(`{"record":{"jid":%q,"name":"n","args":[%d],"t":1,"tags":["t%d"]}%s}`, id, n, n%2, failed))
		k.Do("HSET", "outcomes", id, record.Outcome{State: record.Succeeded, Name: "n", EndedAt: 1000}.Encode())
	}
}

func TestPagesOfEndedJobsTellAllInTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.kept(57)
		opts := inspect.PageOptions{State: work.StateSucceeded, Name: "n", Newest: true, Limit: 10}
		seen := map[string]bool{}
		all := k.pages(opts, func(read []string) {
			late := fmt.Sprint("late", len(read)) // those that come meanwhile are newer than what was read
			k.Do("ZADD", "ended:done:n", 2000+len(read), late)
			k.Do("HSET", "details:done:n", late, `{}`)
			k.Do("ZREM", "ended:done:n", read[len(read)-1]) // the one that the cursor names
		})
		for _, id := range all {
			assert.False(t, seen[id], "%s twice", id)
			seen[id] = true
		}
		assert.Len(t, all, 57)
		page, err := k.hands().Page(k.Ctx(), opts)
		require.NoError(t, err)
		assert.Equal(t, 57, page.Total, "5 came and 5 went")
	})
}

func TestSearchGoesThroughEndedJobsWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.kept(30)
		_, err := k.Enq.With(work.ID("j-lives"), work.Tags("t0")).EnqueueIn(k.Ctx(), "n", time.Hour, 4)
		require.NoError(t, err)
		search := func(selection inspect.Selection, opts inspect.SearchOptions) (found []string) {
			for {
				page, err := k.hands().Search(k.Ctx(), selection, opts)
				require.NoError(t, err)
				for _, job := range page.Jobs {
					found = append(found, job.ID)
				}
				if opts.Cursor = page.Next; page.Next == "" {
					return found
				}
			}
		}
		ended, few := inspect.SearchOptions{Ended: true}, inspect.SearchOptions{Ended: true, Limit: 4, Newest: true}
		assert.Equal(t, []string{"j-lives"}, search(inspect.Selection{Name: "n"}, inspect.SearchOptions{}))
		assert.Len(t, search(inspect.Selection{}, ended), 31)
		assert.Len(t, search(inspect.Selection{}, few), 31)
		over := inspect.Selection{State: work.StateSucceeded}
		assert.Len(t, search(over, inspect.SearchOptions{}), 30)
		for want, change := range map[int]func(*inspect.Selection){
			10: func(s *inspect.Selection) { s.ErrorText = "bad" },
			15: func(s *inspect.Selection) { s.Tag = "t1" },
			1:  func(s *inspect.Selection) { s.ArgsText = "[17]" },
			11: func(s *inspect.Selection) { s.ID, s.Name = "j2", "n" },
			0:  func(s *inspect.Selection) { s.Name = "other" },
			30: func(s *inspect.Selection) { s.OlderThan = time.Minute },
		} {
			selection := over
			change(&selection)
			assert.Len(t, search(selection, few), want, "%+v", selection)
		}
		_, err = k.hands().Search(context.Background(), inspect.Selection{},
			inspect.SearchOptions{Cursor: func() string {
				page, err := k.hands().Search(k.Ctx(), inspect.Selection{}, few)
				require.NoError(t, err)
				return page.Next
			}(), Newest: true})
		require.ErrorContains(t, err, "the cursor", "one that does not ask for ended jobs")
	})
}
