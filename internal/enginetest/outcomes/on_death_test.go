package outcomes_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

type deathTold struct {
	id  string
	err error
}

func TestOnDeathIsToldOncePerDeath(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		handler error
		job     work.JobOptions
		record  string // stored as another program would
		want    string // empty: it does not die
	}{
		"out of retries": {handler: pooltest.ErrLuck, job: work.JobOptions{Retries: -1}, want: "no luck"},
		"out of retries, no morgue": {handler: pooltest.ErrLuck, job: work.JobOptions{Retries: -1, SkipMorgue: true},
			want: "no luck"},
		"buried by its handler": {handler: work.Bury(pooltest.ErrLuck), want: "no luck"},
		"a record that is none": {record: "no JSON", want: "the record cannot be read"},
		"done":                  {},
		"discarded":             {handler: work.Discard(pooltest.ErrLuck)},
		"will be retried":       {handler: pooltest.ErrLuck},
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
				tt.job.Backoff = pooltest.Hourly
				tt.job.OnDeath = func(ctx context.Context, job *work.Job, err error) {
					_, bounded := ctx.Deadline()
					assert.True(t, bounded)
					deaths <- deathTold{job.ID, err}
				}
				pool := work.NewWorkerPool(nil, 2, k.Options()).
					JobWithOptions("a", tt.job, func() error { return tt.handler })
				require.NoError(t, pool.Start(context.Background()))
				id := "x"
				if tt.record != "" {
					k.Store("a", id, tt.record)
				} else {
					id = k.Enqueue("a").ID
				}
				k.Drained(pool)
				require.NoError(t, k.Stop(pool), "it waits for the hook")
				close(deaths)
				if tt.want == "" {
					assert.Empty(t, deaths)
					return
				}
				death := pooltest.Receive(t, deaths)
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
			var panicked *work.PanicError
			require.ErrorAs(t, err, &panicked)
			assert.Equal(t, "boom", panicked.Value)
		}},
		"ends its goroutine": {runtime.Goexit,
			func(t *testing.T, err error) { assert.ErrorAs(t, err, new(*work.GoexitError)) }},
		"does not return": {func() { <-release },
			func(t *testing.T, err error) { assert.ErrorContains(t, err, enginetest.HookLate) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := work.NewWorkerPool(nil, 2, k.Options()).
					JobWithOptions("a", work.JobOptions{OnDeath: func(context.Context, *work.Job, error) { tt.hook() }},
						func() error { return work.Bury(pooltest.ErrLuck) })
				if name == "does not return" {
					pooltest.Times(pool).Hook = 100 * time.Millisecond
				}
				k.Start(pool)
				id := k.Enqueue("a").ID
				tt.want(t, pooltest.Await(t, k.Spy, pooltest.OfJob[event.DeathHookFailed](id)).Err)
				k.Drained(pool)
				assert.Equal(t, 1, pooltest.Count[event.DeathHookFailed](k.Spy))
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](k.Enqueue("a").ID)) // it goes on
			})
		})
	}
}
