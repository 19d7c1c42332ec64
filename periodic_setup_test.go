package work

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMistakesInSchedulesAreReturnedByStart(t *testing.T) {
	t.Parallel()
	export := func(table string, rows int) error { return errors.New(table) }
	withOptions := func(opts PeriodicOptions) func(p *WorkerPool) {
		return func(p *WorkerPool) { p.PeriodicWithOptions("0 3 * * *", "export", opts, "users", 7) }
	}
	for name, row := range map[string]struct {
		add  func(p *WorkerPool)
		want []string // each is part of one mistake
	}{
		"a spec with a typo": {func(p *WorkerPool) { p.Periodic("0 3 * *", "export", "users", 7) },
			[]string{`the cron spec is "0 3 * *": write five fields`}},
		"a day that never is": {func(p *WorkerPool) { p.Periodic("0 0 31 2 *", "export", "users", 7) },
			[]string{"no such day ever comes"}},
		"a zone with a typo": {withOptions(PeriodicOptions{TZ: "Europe/Berln"}),
			[]string{`the time zone is "Europe/Berln"`}},
		"a negative jitter": {withOptions(PeriodicOptions{Jitter: -time.Second}),
			[]string{"PeriodicOptions.Jitter is -1s: give a positive duration"}},
		"too large a jitter": {withOptions(PeriodicOptions{Jitter: 24 * time.Hour}),
			[]string{"PeriodicOptions.Jitter is 24h0m0s: give less than the 24h0m0s that may lie between"}},
		"a Missed that is none": {withOptions(PeriodicOptions{Missed: MissedAll(0)}),
			[]string{"PeriodicOptions.Missed is MissedAll(0): give MissedOnce"}},
		"a Missed below": {withOptions(PeriodicOptions{Missed: MissedAll(math.MinInt)}),
			[]string{"PeriodicOptions.Missed is MissedAll(-92"}},
		"a Missed like MissedSkip": {withOptions(PeriodicOptions{Missed: MissedAll(-1)}),
			[]string{"PeriodicOptions.Missed is MissedAll(-1)"}},
		"a Missed of a thousand": {withOptions(PeriodicOptions{Missed: MissedAll(1000)}),
			[]string{"PeriodicOptions.Missed is MissedAll(1000): give MissedOnce"}},
		"too many to make up": {withOptions(PeriodicOptions{Missed: 101}),
			[]string{"PeriodicOptions.Missed is MissedAll(101)"}},
		"an Overlap of its own": {withOptions(PeriodicOptions{Overlap: 2}),
			[]string{"PeriodicOptions.Overlap is 2"}},
		"an id with a newline": {withOptions(PeriodicOptions{ID: "a\nb"}), []string{"schedule id is"}},
		"another service's job": {func(p *WorkerPool) { p.Periodic("@daily", "import") },
			[]string{`of job "import": no such job is registered: add the schedule to the pool that runs it; there are ["export"]`}},
		"args that do not fit": {func(p *WorkerPool) { p.Periodic("@daily", "export", "users", "many") },
			[]string{`args of job "export" do not fit its handler`}},
		"args that are missing": {func(p *WorkerPool) { p.Periodic("@daily", "export") },
			[]string{`args of job "export" do not fit its handler`}},
		"args that do not encode": {func(p *WorkerPool) { p.Periodic("@daily", "export", func() {}) },
			[]string{"does not encode as JSON"}},
		"one id, two specs": {func(p *WorkerPool) {
			p.Periodic("@daily", "export", "users", 7).Periodic("@hourly", "export", "users", 7)
		}, []string{"another one than that of the same id at periodic_setup_test.go:"}},
		"one id, two args": {func(p *WorkerPool) {
			p.Periodic("@daily", "export", "users", 7).Periodic("@daily", "export", "users", 8)
		}, []string{"give each an ID of its own"}},
		"all of them at once": {func(p *WorkerPool) {
			p.Periodic("@dayly", "import").PeriodicWithOptions("x", "export", PeriodicOptions{Jitter: -1, TZ: "Mars"})
		}, []string{"@dayly", "Jitter is -1ns", `the time zone is "Mars"`, "no such job", "do not fit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).
				Job("export", export)
			row.add(pool)
			err := pool.Start(context.Background())
			var setup *SetupError
			require.ErrorAs(t, err, &setup)
			require.Len(t, setup.Mistakes, len(row.want), "%v", err)
			for i, part := range row.want {
				assert.Contains(t, setup.Mistakes[i].Error(), part)
				assert.Contains(t, setup.Mistakes[i].Error(), "(added at periodic_setup_test.go:")
			}
			var invalid *InvalidError
			if name != "args that do not fit" && name != "args that are missing" {
				assert.ErrorAs(t, err, &invalid)
			}
		})
	}
}

func TestTheSameScheduleTwiceIsOne(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).
		Job("export", func() error { return nil }).
		Periodic("@daily", "export").
		Periodic("@daily", "export").
		PeriodicWithOptions("@hourly", "export", PeriodicOptions{ID: "export hourly"})
	require.NoError(t, pool.prepare())
	assert.Equal(t, "export\nexport hourly", pool.declaredIDs())
}

func TestAScheduleAfterTheStartHasNoEffect(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).
		Job("export", func() error { return nil })
	pool.state = poolStarted
	pool.Periodic("@daily", "export")
	assert.Empty(t, pool.periodics)
}

func TestAServiceIsNamedOrMadeOfTheServedNames(t *testing.T) {
	t.Parallel()
	made := func(opts WorkerOptions, names ...string) string {
		opts.Redis, opts.Logger = "redis://127.0.0.1:1/0", silent()
		pool := NewWorkerPool(nil, 1, opts)
		for _, name := range names {
			pool.Job(name, func() error { return nil })
		}
		require.NoError(t, pool.prepare())
		return pool.service()
	}
	assert.Equal(t, "shop", made(WorkerOptions{Service: "shop"}, "a"))
	assert.Equal(t, made(WorkerOptions{}, "a", "b"), made(WorkerOptions{}, "b", "a"))
	assert.NotEqual(t, made(WorkerOptions{}, "a", "b"), made(WorkerOptions{}, "a"))
	assert.Equal(t, made(WorkerOptions{Only: []string{"a"}}, "a", "b"), made(WorkerOptions{}, "a"))

	err := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent(), Service: "default:x"}).
		Job("a", func() error { return nil }).Start(context.Background())
	assert.ErrorContains(t, err, `WorkerOptions.Service is "default:x": use one that does not begin with default:`)
}
