package work

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestAJobThatHasNotBegunInTimeExpires(t *testing.T) {
	t.Parallel()
	past, future := time.UnixMilli(1), time.Now().Add(time.Hour)
	tests := map[string]struct {
		option  EnqueueOption
		trail   string
		crashes string
		expired bool
	}{
		"expired":                     {option: ExpireAt(past), expired: true},
		"not yet":                     {option: ExpireAt(future)},
		"in a while":                  {option: ExpireIn(time.Hour)},
		"has failed before":           {option: ExpireAt(past), trail: `{"fails":1}`},
		"was put off by its handler":  {option: ExpireAt(past), trail: `{"begun":true}`},
		"was put off before it began": {option: ExpireAt(past), trail: `{"run_at":5}`, expired: true},
		"a worker died with it":       {option: ExpireAt(past), crashes: "w0"},
		"the last of two options":     {option: func(s *jobSettings) { ExpireAt(past)(s); ExpireIn(time.Hour)(s) }},
		"the last of two, otherwise": {option: func(s *jobSettings) { ExpireIn(time.Hour)(s); ExpireAt(past)(s) },
			expired: true},
		"with what else may belong to it": {option: func(s *jobSettings) {
			ExpireAt(past)(s)
			Unique(UniqueOptions{})(s)
		}, expired: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				receipt, err := k.enq.With(tt.option, Tags("big")).SourcedEnqueue(k.ctx(), "a", 7)
				require.NoError(t, err)
				if tt.trail != "" {
					k.do("HSET", "trail", receipt.ID, tt.trail)
				}
				if tt.crashes != "" {
					k.do("HSET", "crashes", receipt.ID, tt.crashes)
				}
				pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func() error { return nil }))
				if !tt.expired {
					await(t, k.spy, ofJob[event.JobDone](receipt.ID))
					return
				}
				e := await(t, k.spy, ofJob[event.JobExpired](receipt.ID))
				assert.Equal(t, past, e.At)
				assert.Equal(t, []string{"big"}, e.Tags)
				assert.Equal(t, int64(7), e.SourceID)
				k.drained(pool)
				k.empty("a")
				assert.Zero(t, k.number("HLEN", "unique"))
				assert.Zero(t, count[event.JobStarted](k.spy))
				_, err = Result[int](k.ctx(), k.enq, receipt.ID)
				var none *NoResultError
				require.ErrorAs(t, err, &none)
				assert.Equal(t, "expired", none.State)
			})
		})
	}
}

func TestAJobThatWasPutOffHasBegun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipt, err := k.enq.With(ExpireIn(time.Hour)).Enqueue(k.ctx(), "a")
		require.NoError(t, err)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func() error { return Snooze(time.Hour) }))
		await(t, k.spy, ofJob[event.JobSnoozed](receipt.ID))
		k.drained(pool)
		assert.True(t, k.trail(receipt.ID).Begun)
	})
}

func TestTheTimeToExpireBeginsWhenAJobIsDue(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	receipt, err := k.enq.With(ExpireIn(time.Minute)).EnqueueIn(k.ctx(), "a", time.Hour)
	require.NoError(t, err)
	r, err := decodeRecord([]byte(k.text("HGET", "jobs", receipt.ID)))
	require.NoError(t, err)
	assert.Equal(t, r.RunAt+time.Minute.Milliseconds(), r.Expires)
}

func TestADeadlineEndsTheCtxAndTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.start(NewWorkerPool(nil, 2, k.options()).
			JobWithOptions("a", JobOptions{Timeout: time.Hour},
				func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }))
		now := k.enq.core.clock
		k.enqueue("other")
		receipt, err := k.enq.With(Deadline(now.now().Add(200*time.Millisecond))).Enqueue(k.ctx(), "a")
		require.NoError(t, err)
		buried := await(t, k.spy, ofJob[event.JobBuried](receipt.ID))
		if errors.Is(buried.Err, ErrDeadline) { // else the machine was so slow that it has not begun
			assert.Equal(t, "its next attempt would come after its deadline", buried.Reason)
			return
		}
		assert.Equal(t, "its deadline has passed", buried.Reason)
	})
}

func TestNoAttemptBeginsAfterTheDeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options JobOptions
		event   func(t *testing.T, k *kit, id string) string
	}{
		"buried": {event: func(t *testing.T, k *kit,
			id string) string {
			return await(t, k.spy, ofJob[event.JobBuried](id)).Reason
		}},
		"dropped": {options: JobOptions{SkipMorgue: true}, event: func(t *testing.T, k *kit, id string) string {
			return await(t, k.spy, ofJob[event.JobDiscarded](id)).Err.Error()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				receipt, err := k.enq.With(Deadline(time.UnixMilli(1))).Enqueue(k.ctx(), "a")
				require.NoError(t, err)
				k.start(NewWorkerPool(nil, 1, k.options()).JobWithOptions("a", tt.options, func() error { return nil }))
				assert.Equal(t, "its deadline has passed", tt.event(t, k, receipt.ID))
				assert.Zero(t, count[event.JobStarted](k.spy))
			})
		})
	}
}

func TestHowLongAJobIsRetried(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	since := func(d time.Duration) trail { return trail{Fails: 3, First: now.Add(-d).UnixMilli()} }
	later := "its next attempt would come later"
	tests := map[string]struct {
		record  record
		options JobOptions
		trail   trail
		reason  string // of a burial; empty is a retry
		first   int64
	}{
		"no limit":      {first: 0},
		"first failure": {options: JobOptions{RetryFor: 2 * time.Hour}, first: now.UnixMilli()},
		"just in time": {options: JobOptions{RetryFor: 2 * time.Hour}, trail: since(time.Hour),
			first: now.Add(-time.Hour).UnixMilli()},
		"too late": {options: JobOptions{RetryFor: 2 * time.Hour}, trail: since(time.Hour + 1e6),
			reason: later},
		"shorter than a wait": {options: JobOptions{RetryFor: time.Minute}, reason: later},
		"option of the enqueue": {options: JobOptions{RetryFor: time.Minute},
			record: record{recordExtras: recordExtras{RetryFor: 7200_000}}, first: now.UnixMilli()},
		"of an older trail": {options: JobOptions{RetryFor: 2 * time.Hour}, reason: later,
			trail: trail{Fails: 1, Errors: []failure{{At: now.Add(-2 * time.Hour).UnixMilli()}}}},
		"before the deadline": {record: record{recordExtras: recordExtras{Deadline: now.Add(time.Hour + 1e6).
			UnixMilli()}}},
		"at the deadline": {record: record{recordExtras: recordExtras{Deadline: now.Add(time.Hour).UnixMilli()}},
			reason: "its next attempt would come after its deadline"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.Backoff = hourly
			r := judged(tt.options)
			r.record, r.trail = &tt.record, &tt.trail
			d := r.judge(errLuck, now)
			if tt.reason != "" {
				require.Equal(t, verbBury, d.verb)
				assert.True(t, strings.HasSuffix(d.reason, tt.reason), d.reason)
				assert.Equal(t, errLuck, d.death)
				return
			}
			require.Equal(t, verbRetry, d.verb)
			assert.Equal(t, tt.first, decodeTrail(d.trail).First)
			assert.NoError(t, d.death)
		})
	}
}

// judged is a run that is good for judge.
func judged(options JobOptions) *run {
	return &run{
		record: &plainRecord, trail: &noTrail,
		ctx: context.Background(), job: &Job{Attempt: 1, RetriesLeft: 5}, registration: &registration{options: options},
		claimant: newClaimant(newEnqueuerStore(), context.Background()),
	}
}

func TestOptionsThatMakeAJobTooLate(t *testing.T) {
	t.Parallel()
	scheduled := time.Now().Add(time.Hour)
	tests := map[string]struct {
		option EnqueueOption
		want   string
	}{
		"ExpireIn of nothing":    {ExpireIn(0), "use a duration above zero"},
		"ExpireIn for ever":      {ExpireIn(200 * 365 * 24 * time.Hour), "use at most 100 years"},
		"ExpireAt the zero time": {ExpireAt(time.Time{}), "use one after 1970 and at most 100 years ahead"},
		"ExpireAt before due": {ExpireAt(scheduled.Add(-time.Minute)),
			"use one after the time for which the job is scheduled"},
		"Deadline far ahead": {Deadline(scheduled.Add(101 * 365 * 24 * time.Hour)), "at most 100 years ahead"},
		"Deadline before due": {Deadline(scheduled.Add(-time.Minute)),
			"use one after the time for which the job is scheduled"},
		"RetryFor below zero": {RetryFor(-1), "use a duration above zero"},
		"an empty tag":        {Tags("a", ""), "use 1 to 100 bytes"},
		"a long tag":          {Tags(strings.Repeat("a", 101)), "use at most 100"},
		"a tag of two lines":  {Tags("a\nb"), "use one without control characters"},
		"many tags":           {Tags(make([]string, 21)...), "use at most 20"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enq, err := NewEnqueuer("redis://127.0.0.1:1/0") // nothing is sent
			require.NoError(t, err)
			defer enq.Close()
			_, err = enq.With(tt.option).EnqueueAt(t.Context(), "a", scheduled)
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("JobOptions", func(t *testing.T) {
		t.Parallel()
		var invalid *InvalidError
		require.ErrorAs(t, errors.Join(JobOptions{RetryFor: -1}.validate()...), &invalid)
		assert.Equal(t, "JobOptions.RetryFor", invalid.What)
	})
}

func TestTagsReachTheHandlerAndEveryEvent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := make(chan []string, 1)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error { seen <- job.Tags; return nil }))
		receipt, err := k.enq.With(Tags("old"), Tags("eu", `"quoted"`)).Enqueue(k.ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, []string{"eu", `"quoted"`}, receive(t, seen))
		assert.Equal(t, []string{"eu", `"quoted"`}, await(t, k.spy, ofJob[event.JobDone](receipt.ID)).Tags)
	})
}
