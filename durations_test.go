package work

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// extremes are the durations at which reckoning goes wrong, if anywhere.
var extremes = []time.Duration{
	math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - time.Millisecond, maxAhead + 1, maxAhead, 1, 0, -1, -maxAhead - 1,
	math.MinInt64,
}

// extremeTimes are the same of times.
var extremeTimes = []time.Time{
	{}, time.Unix(0, 0), time.Unix(-1, 0), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	time.Unix(1<<62, 0), time.Unix(-1<<62, 0), time.Now().Add(-time.Hour), time.Now().Add(maxAhead - time.Hour),
	time.Now().Add(maxAhead + time.Hour),
}

// durationsTaken is what is done with each duration that a program may give, so that it has an effect if it has one.
var durationsTaken = map[string]func(k *kit, d time.Duration) error{
	"Timeout":           func(k *kit, d time.Duration) error { return k.through(Timeout(d)) },
	"Retention":         func(k *kit, d time.Duration) error { return k.through(Retention(d)) },
	"Once":              func(k *kit, d time.Duration) error { return k.through(Once(fmt.Sprint("k", int64(d)), d)) },
	"ExpireIn":          func(k *kit, d time.Duration) error { return k.through(ExpireIn(d)) },
	"RetryFor":          func(k *kit, d time.Duration) error { return k.through(RetryFor(d)) },
	"WaitReplicas":      func(k *kit, d time.Duration) error { return k.through(WaitReplicas(1, d)) },
	"UniqueOptions.For": func(k *kit, d time.Duration) error { return k.through(Unique(UniqueOptions{For: d})) },
	"Enqueuer.EnqueueIn": func(k *kit, d time.Duration) error {
		_,
			err := k.enq.EnqueueIn(k.ctx(), "later", d)
		return err
	},
	"Enqueuer.SourcedEnqueueIn": func(k *kit, d time.Duration) error {
		_, err := k.enq.SourcedEnqueueIn(k.ctx(), "later", 1, d)
		return err
	},
	"Entry.In": func(k *kit, d time.Duration) error {
		_, err := k.enq.EnqueueMany(k.ctx(), []Entry{{Name: "later", In: d}})
		return err
	},
	"EnqueueTimeout": func(k *kit, d time.Duration) error {
		enq, err := NewEnqueuer(k.server.DSN(), Namespace(k.namespace), EnqueueTimeout(d))
		if err != nil || d > 0 && d < time.Second { // it is to end then
			return err
		}
		defer enq.Close() //lint:ignore errcheck it was used
		_, err = enq.Enqueue(k.ctx(), "later")
		return err
	},
	"RetryIn": func(k *kit, d time.Duration) error { return k.endsWith(RetryIn(d, errors.New("no"))) },
	"Snooze":  func(k *kit, d time.Duration) error { return k.endsWith(Snooze(d)) },
	"WorkerOptions.ShutdownTimeout": func(k *kit, d time.Duration) error {
		return k.runs(func(o *WorkerOptions) { o.ShutdownTimeout = d }, JobOptions{})
	},
	"WorkerOptions.HeartbeatLife": func(k *kit, d time.Duration) error {
		return k.runs(func(o *WorkerOptions) { o.HeartbeatLife = d }, JobOptions{})
	},
	"WorkerOptions.FenceAfter": func(k *kit, d time.Duration) error {
		return k.runs(func(o *WorkerOptions) { o.FenceAfter = d }, JobOptions{})
	},
	"WorkerOptions.MorgueRetention": func(k *kit, d time.Duration) error {
		return k.runs(func(o *WorkerOptions) { o.MorgueRetention = d }, JobOptions{})
	},
	"WorkerOptions.ObjectGrace": func(k *kit, d time.Duration) error {
		return k.runs(func(o *WorkerOptions) { o.ObjectGrace = d }, JobOptions{})
	},
	"JobOptions.Timeout":   func(k *kit, d time.Duration) error { return k.runs(nil, JobOptions{Timeout: d}) },
	"JobOptions.Retention": func(k *kit, d time.Duration) error { return k.runs(nil, JobOptions{Retention: d}) },
	"JobOptions.RetryFor":  func(k *kit, d time.Duration) error { return k.runs(nil, JobOptions{RetryFor: d}) },
	"JobOptions.Backoff": func(k *kit, d time.Duration) error {
		return k.endsWith(errors.New("no"), JobOptions{Backoff: func(*Job, error) time.Duration { return d }})
	},
	"Limit.Per": func(k *kit, d time.Duration) error {
		return k.runs(nil, JobOptions{Limit: Limit{Rate: 1000, Per: d}})
	},
	"PeriodicOptions.Jitter": func(_ *kit, d time.Duration) error {
		_, mistakes := newSchedule(wish{spec: "0 0 1 1 *", name: "later", opts: PeriodicOptions{Jitter: d}}, 1000)
		return errors.Join(mistakes...)
	},
	"HistoryOptions.By": func(k *kit, d time.Duration) error {
		_, err := k.inspector().History(k.ctx(), HistoryOptions{By: d})
		return err
	},
	"Selection.OlderThan": func(k *kit, d time.Duration) error {
		_, err := k.inspector().Bulk(k.ctx(), Selection{State: StateScheduled, OlderThan: d}, ActionRunNow,
			BulkOptions{DryRun: true})
		return err
	},
	"Histogram.Add": func(_ *kit, d time.Duration) error {
		h := Histogram{}
		h.Add(d)
		h.Add(d)
		if h.Mean() < 0 || h.Quantile(0.5) < 0 {
			return errors.New("it was turned round")
		}
		return nil
	},
}

// timesTaken is the same of times.
var timesTaken = map[string]func(k *kit, at time.Time) error{
	"ExpireAt": func(k *kit, at time.Time) error { return k.through(ExpireAt(at)) },
	"Deadline": func(k *kit, at time.Time) error { return k.through(Deadline(at)) },
	"Enqueuer.EnqueueAt": func(k *kit, at time.Time) error {
		_,
			err := k.enq.EnqueueAt(k.ctx(), "later", at)
		return err
	},
	"Enqueuer.SourcedEnqueueAt": func(k *kit, at time.Time) error {
		_, err := k.enq.SourcedEnqueueAt(k.ctx(), "later", 1, at)
		return err
	},
	"Entry.At": func(k *kit, at time.Time) error {
		_, err := k.enq.EnqueueMany(k.ctx(), []Entry{{Name: "later", At: at}})
		return err
	},
	"Inspector.Reschedule": func(k *kit, at time.Time) error {
		return k.inspector().Reschedule(k.ctx(), k.later("later", time.Hour).ID, at)
	},
	"ActionReschedule": func(k *kit, at time.Time) error {
		_, err := k.inspector().Bulk(k.ctx(), Selection{State: StateScheduled}, ActionReschedule(at), BulkOptions{})
		return err
	},
	"HistoryOptions.Since": func(k *kit, at time.Time) error {
		_, err := k.inspector().History(k.ctx(), HistoryOptions{Since: at})
		return err
	},
	"HistoryOptions.Until": func(k *kit, at time.Time) error {
		_, err := k.inspector().History(k.ctx(), HistoryOptions{Until: at})
		return err
	},
	"RunningJob.Age": func(_ *kit, at time.Time) error { RunningJob{Since: time.Now()}.Age(at); return nil },
}

// through runs a job with an option beside one without.
func (k *kit) through(option EnqueueOption) error {
	k.enqueue("job")
	_, err := k.enq.With(option).Enqueue(k.ctx(), "job")
	if short := (*ReplicasError)(nil); err != nil && !errors.As(err, &short) {
		return err
	}
	return k.drains(NewWorkerPool(nil, 2, k.options()).Job("job", func(ctx context.Context) error {
		if until, has := ctx.Deadline(); has && time.Until(until) < 0 {
			return errors.New("no time")
		}
		return nil
	}))
}

func (k *kit) runs(change func(o *WorkerOptions), job JobOptions) error {
	opts := k.options()
	if change != nil {
		change(&opts)
	}
	k.enqueue("job")
	defer func() { require.Zero(k.t, k.number("ZCARD", "morgue")) }()
	return k.drains(NewWorkerPool(nil, 1, opts).JobWithOptions("job", job, func() error { return nil }))
}

func (k *kit) endsWith(err error, opts ...JobOptions) error {
	k.enqueue("job")
	return k.drains(NewWorkerPool(nil, 1, k.options()).
		JobWithOptions("job", append(opts, JobOptions{})[0], func() error { return err }))
}

// drains runs what is there, and looks that nothing is put off out of all bounds.
func (k *kit) drains(pool *WorkerPool) error {
	if err := pool.Start(k.ctx()); err != nil {
		return err
	}
	defer pool.Stop(k.ctx()) //lint:ignore errcheck the drain was fine
	require.NoError(k.t, pool.Drain(k.ctx()))
	for _, due := range []string{"scheduled", "retry"} {
		late := k.number("ZCOUNT", due, fmt.Sprint("(", time.Now().Add(maxAhead+time.Minute).UnixMilli()), "+inf")
		early := k.number("ZCOUNT", due, "-inf", time.Now().Add(-time.Hour).UnixMilli())
		require.Zero(k.t, late+early, "a time out of all bounds in %s", due)
	}
	return nil
}

// Whatever duration or time a program gives, it is used, as 100 years if it is longer, or refused by an error that says
// so.
func TestDurationsAndTimesOfAllSizes(t *testing.T) {
	t.Parallel()
	judge := func(t *testing.T, err error, value any) {
		var invalid *InvalidError
		var limit *LimitError
		if err != nil && !errors.As(err, &invalid) && !errors.As(err, &limit) {
			assert.NoError(t, err, "%v", value)
		}
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, probe := range durationsTaken {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, d := range extremes {
					judge(t, probe(newKit(t, s), d), d)
				}
			})
		}
		for name, probe := range timesTaken {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, at := range extremeTimes {
					judge(t, probe(newKit(t, s), at), at)
				}
			})
		}
	})
}

// What the program asks for has an effect, at both ends.
func TestALongRetentionAndALongTimeoutAreLong(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]struct {
			option EnqueueOption
			job    JobOptions
		}{
			"of the enqueue": {func(s *jobSettings) { Timeout(math.MaxInt64)(s); Retention(math.MaxInt64)(s) },
				JobOptions{}},
			"of the job": {Meta("a", "b"), JobOptions{Timeout: math.MaxInt64, Retention: math.MaxInt64,
				RetryFor: math.MaxInt64}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				until := make(chan time.Time, 1)
				pool := k.start(NewWorkerPool(nil, 1, k.options()).
					JobWithOptions("job", row.job, func(ctx context.Context) (int, error) {
						deadline, _ := ctx.Deadline()
						until <- deadline
						return 7, ctx.Err()
					}))
				receipt, err := k.enq.With(row.option).Enqueue(k.ctx(), "job")
				require.NoError(t, err)
				assert.Greater(t, time.Until(receive(t, until)), 99*365*24*time.Hour)
				require.NoError(t, pool.Drain(k.ctx()))
				kept := asScore(t, k.do("ZSCORE", "outcomes:until", receipt.ID))
				assert.Greater(t, kept, float64(time.Now().AddDate(99, 0, 0).UnixMilli()))
			})
		}
	})
}

func asScore(t *testing.T, reply any) (score float64) {
	t.Helper()
	text, is := reply.([]byte)
	require.True(t, is, "%v", reply)
	_, err := fmt.Sscan(string(text), &score)
	require.NoError(t, err)
	return score
}

// The defaults bound all durations that there are.
func TestNoDurationOfTheOptionsIsUnbounded(t *testing.T) {
	t.Parallel()
	worker, job := WorkerOptions{}, JobOptions{}
	for _, options := range []any{&worker, &job} {
		for _, value := range reflect.ValueOf(options).Elem().Fields() {
			if value.Type() == reflect.TypeFor[time.Duration]() {
				value.SetInt(math.MaxInt64)
			}
		}
	}
	for _, options := range []any{worker.withDefaults(), job.withDefaults()} {
		for field, value := range reflect.ValueOf(options).Fields() {
			if value.Type() == reflect.TypeFor[time.Duration]() {
				assert.EqualValues(t, maxAhead, value.Int(), "%T.%s", options, field.Name)
			}
		}
	}
}

// taken finds the durations and times that a program gives: parameters of exported functions, and fields of what they
// take.
func taken(t *testing.T, kind string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			files = append(files, file)
		}
	}
	has := func(types ast.Expr) (found bool) {
		ast.Inspect(types, func(n ast.Node) bool {
			selector, is := n.(*ast.SelectorExpr)
			found = found || is && selector.Sel.Name == kind && fmt.Sprint(selector.X) == "time"
			return true
		})
		return found
	}
	options := regexp.MustCompile(`^((Worker|Job|Periodic|History|Unique|Bulk)Options|Entry|Limit|Selection)$`)
	names := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				name := n.Name.Name
				if n.Recv != nil {
					receiver := n.Recv.List[0].Type
					if star, is := receiver.(*ast.StarExpr); is {
						receiver = star.X
					}
					name = fmt.Sprint(receiver) + "." + name
				}
				for _, parameter := range n.Type.Params.List {
					if n.Name.IsExported() && ast.IsExported(name) && has(parameter.Type) {
						names[name] = true
					}
				}
				return false
			case *ast.TypeSpec:
				fields, is := n.Type.(*ast.StructType)
				if !is || !options.MatchString(n.Name.Name) {
					return true
				}
				for _, field := range fields.Fields.List {
					for _, name := range field.Names {
						if name.IsExported() && has(field.Type) {
							names[n.Name.Name+"."+name.Name] = true
						}
					}
				}
			}
			return true
		})
	}
	return names
}

func TestNoDurationAndNoTimeIsForgotten(t *testing.T) {
	t.Parallel()
	assert.Equal(t, slices.Sorted(maps.Keys(taken(t, "Duration"))), slices.Sorted(maps.Keys(durationsTaken)))
	assert.Equal(t, slices.Sorted(maps.Keys(taken(t, "Time"))), slices.Sorted(maps.Keys(timesTaken)))
}
