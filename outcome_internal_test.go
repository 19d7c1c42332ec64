package work

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

func newEnqueuerStore() *rdb.Store { return rdb.NewStore(unopened{errLuck}, "none") }

func TestWhatAPermanentErrorDoes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	permanent := func(err error) bool { return errors.Is(err, errLuck) }
	tests := map[string]struct {
		ask  func(error) bool
		err  error
		want verb
		text string
	}{
		"permanent":         {permanent, fmt.Errorf("wrapped: %w", errLuck), verbBury, "wrapped: no luck"},
		"another error":     {permanent, errors.New("else"), verbRetry, "else"},
		"nobody to ask":     {nil, errLuck, verbRetry, "no luck"},
		"asked for a retry": {permanent, RetryIn(time.Hour, errLuck), verbRetry, "no luck"},
		"Permanent panicked": {func(error) bool { panic("boom") }, errLuck, verbRetry,
			"no luck (and the function Permanent panicked: boom)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := judged(JobOptions{Permanent: tt.ask, Backoff: hourly}).decideByError(tt.err, now)
			assert.Equal(t, tt.want, d.verb)
			assert.EqualError(t, d.err, tt.text)
			if tt.want == verbBury {
				assert.Equal(t, "its error is permanent", d.reason)
			}
		})
	}
	t.Run("dropped where there is no morgue", func(t *testing.T) {
		t.Parallel()
		d := judged(JobOptions{Permanent: permanent, SkipMorgue: true}).decideByError(errLuck, now)
		assert.Equal(t, verbDiscard, d.verb)
		assert.Equal(t, errLuck, d.death)
	})
	t.Run("Permanent ends its goroutine", func(t *testing.T) {
		t.Parallel()
		r := judged(JobOptions{Permanent: func(error) bool { runtime.Goexit(); return true }, Backoff: hourly})
		ended := make(chan struct{})
		go func() { defer close(ended); r.decideByError(errLuck, now) }()
		receive(t, ended)
		assert.Equal(t, verbRetry, r.decideByError(&GoexitError{}, now).verb, "it is not asked again")
	})
}

func TestAMiddlewareIsToldThatAJobDies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options JobOptions
		extras  record.Extras
		err     error
		want    Ending
	}{
		"permanent": {options: JobOptions{Permanent: func(error) bool { return true }}, err: errLuck,
			want: EndingBury},
		"permanent, dropped": {options: JobOptions{Permanent: func(error) bool { return true }, SkipMorgue: true},
			err: errLuck, want: EndingDiscard},
		"permanent, but asks": {options: JobOptions{Permanent: func(error) bool { return true }},
			err: RetryIn(0, errLuck), want: EndingRetry},
		"Permanent panics": {options: JobOptions{Permanent: func(error) bool { panic("boom") }}, err: errLuck,
			want: EndingRetry},
		"past its deadline": {extras: record.Extras{Deadline: 1}, err: errLuck, want: EndingBury},
		"none of these":     {err: errLuck, want: EndingRetry},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(tt.options)
			r.record = &record.Record{Extras: tt.extras}
			r.job.run = r
			got, failed := r.job.Ending(tt.err)
			assert.Equal(t, tt.want, got)
			assert.True(t, failed)
		})
	}
}

func TestAJobThatWasTakenAwayHasNotDiedHere(t *testing.T) {
	t.Parallel()
	r := judged(JobOptions{OnDeath: func(context.Context, *Job, error) {}})
	r.claim.Element = "1:a"
	r.decision = r.buryDecision("reason", nil, time.Now())
	assert.True(t, r.needsDeathHook())
	r.settlement.lostClaim = true
	assert.False(t, r.needsDeathHook())
}

func TestHowLongAJobIsRetried(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	since := func(d time.Duration) record.Trail { return record.Trail{Fails: 3, First: now.Add(-d).UnixMilli()} }
	later := "its next attempt would come later"
	tests := map[string]struct {
		record  record.Record
		options JobOptions
		trail   record.Trail
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
			record: record.Record{Extras: record.Extras{RetryFor: 7200_000}}, first: now.UnixMilli()},
		"of an older trail": {options: JobOptions{RetryFor: 2 * time.Hour}, reason: later,
			trail: record.Trail{Fails: 1, Errors: []record.Failure{{At: now.Add(-2 * time.Hour).UnixMilli()}}}},
		"before the deadline": {record: record.Record{Extras: record.Extras{Deadline: now.Add(time.Hour + 1e6).
			UnixMilli()}}},
		"at the deadline": {record: record.Record{Extras: record.Extras{Deadline: now.Add(time.Hour).UnixMilli()}},
			reason: "its next attempt would come after its deadline"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.Backoff = hourly
			r := judged(tt.options)
			r.record, r.trail = &tt.record, &tt.trail
			d := r.decideByError(errLuck, now)
			if tt.reason != "" {
				require.Equal(t, verbBury, d.verb)
				assert.True(t, strings.HasSuffix(d.reason, tt.reason), d.reason)
				assert.Equal(t, errLuck, d.death)
				return
			}
			require.Equal(t, verbRetry, d.verb)
			assert.Equal(t, tt.first, record.DecodeTrail(d.trail).First)
			assert.NoError(t, d.death)
		})
	}
}

// judged is a run that is good for decideByError.
func judged(options JobOptions) *run {
	return &run{
		record: &record.Default, trail: &record.NoTrail,
		ctx: context.Background(), job: &Job{Attempt: 1, RetriesLeft: 5}, registration: &registration{options: options},
		session: newSession(newEnqueuerStore(), context.Background()),
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

func TestTimesAreAtMostACentury(t *testing.T) {
	t.Parallel()
	const century, far = 100 * 365 * 24 * time.Hour, 1<<63 - 1
	byOption := &run{record: &record.Default,
		registration: &registration{options: JobOptions{Timeout: far, Retention: far}}}
	byRecord := &run{registration: &registration{}, record: &record.Record{Timeout: far, Retention: far}}
	for _, r := range []*run{byOption, byRecord} {
		assert.Equal(t, century, r.timeout())
		assert.Equal(t, century, r.retention())
	}
}

// The defaults bound all durations that there are.
func TestNoDurationOfTheOptionsIsUnbounded(t *testing.T) {
	t.Parallel()
	worker, job := WorkerOptions{}, JobOptions{}
	for _, options := range []any{&worker, &job} {
		options := reflect.ValueOf(options).Elem()
		for i := range options.NumField() {
			if value := options.Field(i); value.Type() == reflect.TypeFor[time.Duration]() {
				value.SetInt(math.MaxInt64)
			}
		}
	}
	for _, options := range []any{worker.withDefaults(), job.withDefaults()} {
		options := reflect.ValueOf(options)
		for i := range options.NumField() {
			if value := options.Field(i); value.Type() == reflect.TypeFor[time.Duration]() {
				assert.EqualValues(t, span.Longest, value.Int(), options.Type().Field(i).Name)
			}
		}
	}
}

func TestHistoryCountsWhatHasSettled(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		run  run
		want history.Result
	}{
		{"done", run{decision: decision{verb: verbDone}}, history.Done},
		{"to be tried again", run{decision: decision{verb: verbRetry}}, history.Failed},
		{"to the morgue", run{decision: decision{verb: verbBury}}, history.Dead},
		{"dead without a morgue", run{decision: decision{verb: verbDiscard, death: errors.New("x")}}, history.Dead},
		{"discarded", run{decision: decision{verb: verbDiscard}}, 0},
		{"put off", run{decision: decision{verb: verbSnooze}}, 0},
		{"given back", run{decision: decision{verb: verbRelease}}, 0},
		{"cancelled", run{decision: decision{verb: verbCancel}}, 0},
		{"expired", run{decision: decision{verb: verbExpire}}, 0},
		{"somebody else's", run{decision: decision{verb: verbDone}, settlement: settlement{lostClaim: true}}, 0},
	}
	for i := range rows {
		t.Run(rows[i].name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, rows[i].want, rows[i].run.historyResult())
		})
	}
}
