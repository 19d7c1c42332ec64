package work

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
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
			d := judged(JobOptions{Permanent: tt.ask, Backoff: hourly}).judge(tt.err, now)
			assert.Equal(t, tt.want, d.verb)
			assert.EqualError(t, d.err, tt.text)
			if tt.want == verbBury {
				assert.Equal(t, "its error is permanent", d.reason)
			}
		})
	}
	t.Run("dropped where there is no morgue", func(t *testing.T) {
		t.Parallel()
		d := judged(JobOptions{Permanent: permanent, SkipMorgue: true}).judge(errLuck, now)
		assert.Equal(t, verbDiscard, d.verb)
		assert.Equal(t, errLuck, d.death)
	})
	t.Run("Permanent ends its goroutine", func(t *testing.T) {
		t.Parallel()
		r := judged(JobOptions{Permanent: func(error) bool { runtime.Goexit(); return true }, Backoff: hourly})
		ended := make(chan struct{})
		go func() { defer close(ended); r.judge(errLuck, now) }()
		receive(t, ended)
		assert.Equal(t, verbRetry, r.judge(&GoexitError{}, now).verb, "it is not asked again")
	})
}

type deathTold struct {
	id  string
	err error
}

func TestAMiddlewareIsToldThatAJobDies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options JobOptions
		extras  recordExtras
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
		"past its deadline": {extras: recordExtras{Deadline: 1}, err: errLuck, want: EndingBury},
		"none of these":     {err: errLuck, want: EndingRetry},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(tt.options)
			r.record = &record{recordExtras: tt.extras}
			r.job.run = r
			got, failed := r.job.Ending(tt.err)
			assert.Equal(t, tt.want, got)
			assert.True(t, failed)
		})
	}
}

func TestOnDeathIsToldOncePerDeath(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		handler error
		job     JobOptions
		record  string // stored as another program would
		want    string // empty: it does not die
	}{
		"out of retries": {handler: errLuck, job: JobOptions{Retries: -1}, want: "no luck"},
		"out of retries, no morgue": {handler: errLuck, job: JobOptions{Retries: -1, SkipMorgue: true},
			want: "no luck"},
		"buried by its handler": {handler: Bury(errLuck), want: "no luck"},
		"a record that is none": {record: "no JSON", want: "the record cannot be read"},
		"done":                  {},
		"discarded":             {handler: Discard(errLuck)},
		"will be retried":       {handler: errLuck},
		"expired":               {record: `{"jid":"x","name":"a","args":[],"t":1,"expires":1}`},
		"after its deadline": {record: `{"jid":"x","name":"a","args":[],"t":1,"deadline":1}`,
			want: "its deadline has passed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				deaths := make(chan deathTold, 9)
				tt.job.Backoff = hourly
				tt.job.OnDeath = func(ctx context.Context, job *Job, err error) {
					_, bounded := ctx.Deadline()
					assert.True(t, bounded)
					deaths <- deathTold{job.ID, err}
				}
				pool := NewWorkerPool(nil, 2, k.options()).
					JobWithOptions("a", tt.job, func() error { return tt.handler })
				require.NoError(t, pool.Start(context.Background()))
				id := "x"
				if tt.record != "" {
					k.store("a", id, tt.record)
				} else {
					id = k.enqueue("a").ID
				}
				k.drained(pool)
				require.NoError(t, k.stop(pool), "it waits for the hook")
				close(deaths)
				if tt.want == "" {
					assert.Empty(t, deaths)
					return
				}
				death := receive(t, deaths)
				assert.Equal(t, id, death.id)
				assert.ErrorContains(t, death.err, tt.want)
				assert.Empty(t, deaths)
			})
		})
	}
}

func TestAnOnDeathThatFailsIsReported(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	tests := map[string]struct {
		hook func()
		want func(t *testing.T, err error)
	}{
		"panics": {func() { panic("boom") }, func(t *testing.T, err error) {
			var panicked *PanicError
			require.ErrorAs(t, err, &panicked)
			assert.Equal(t, "boom", panicked.Value)
		}},
		"ends its goroutine": {runtime.Goexit,
			func(t *testing.T, err error) { assert.ErrorAs(t, err, new(*GoexitError)) }},
		"does not return": {func() { <-release },
			func(t *testing.T, err error) { assert.ErrorIs(t, err, errHookLate) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := NewWorkerPool(nil, 2, k.options()).
					JobWithOptions("a", JobOptions{OnDeath: func(context.Context, *Job, error) { tt.hook() }},
						func() error { return Bury(errLuck) })
				if name == "does not return" {
					pool.hookTime = 100 * time.Millisecond
				}
				k.start(pool)
				id := k.enqueue("a").ID
				tt.want(t, await(t, k.spy, ofJob[event.DeathHookFailed](id)).Err)
				k.drained(pool)
				assert.Equal(t, 1, count[event.DeathHookFailed](k.spy))
				await(t, k.spy, ofJob[event.JobBuried](k.enqueue("a").ID)) // it goes on
			})
		})
	}
}

func TestAJobThatWasTakenAwayHasNotDiedHere(t *testing.T) {
	t.Parallel()
	r := judged(JobOptions{OnDeath: func(context.Context, *Job, error) {}})
	r.claim.Element = "1:a"
	r.decision = r.burial("reason", nil, time.Now())
	assert.True(t, r.dies())
	r.lostClaim = true
	assert.False(t, r.dies())
}
