package schedules_test

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
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/span"
)

// extremes are the durations at which reckoning goes wrong, if anywhere.
var extremes = []time.Duration{
	math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - time.Millisecond, span.Longest + 1, span.Longest, 1, 0, -1,
	-span.Longest - 1,
	math.MinInt64,
}

// extremeTimes are the same of times.
var extremeTimes = []time.Time{
	{}, time.Unix(0, 0), time.Unix(-1, 0), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	time.Unix(1<<62, 0), time.Unix(-1<<62, 0), time.Now().Add(-time.Hour), time.Now().Add(span.Longest - time.Hour),
	time.Now().Add(span.Longest + time.Hour),
}

// durationsTaken is what is done with each duration that a program may give, so that it has an effect if it has one.
var durationsTaken = map[string]func(k *kit, d time.Duration) error{
	"Timeout":   func(k *kit, d time.Duration) error { return k.through(work.Timeout(d)) },
	"Retention": func(k *kit, d time.Duration) error { return k.through(work.Retention(d)) },
	"Once": func(k *kit, d time.Duration) error {
		return k.through(work.Once(fmt.Sprint("k", int64(d)), d))
	},
	"ExpireIn":     func(k *kit, d time.Duration) error { return k.through(work.ExpireIn(d)) },
	"RetryFor":     func(k *kit, d time.Duration) error { return k.through(work.RetryFor(d)) },
	"WaitReplicas": func(k *kit, d time.Duration) error { return k.through(work.WaitReplicas(1, d)) },
	"UniqueOptions.For": func(k *kit, d time.Duration) error {
		return k.through(work.Unique(work.UniqueOptions{For: d}))
	},
	"Enqueuer.EnqueueIn": func(k *kit, d time.Duration) error {
		_,
			err := k.Enq.EnqueueIn(k.Ctx(), "later", d)
		return err
	},
	"Enqueuer.SourcedEnqueueIn": func(k *kit, d time.Duration) error {
		_, err := k.Enq.SourcedEnqueueIn(k.Ctx(), "later", 1, d)
		return err
	},
	"Entry.In": func(k *kit, d time.Duration) error {
		_, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "later", In: d}})
		return err
	},
	"EnqueueTimeout": func(k *kit, d time.Duration) error {
		enq, err := work.NewEnqueuer(k.Server.DSN(), work.Namespace(k.Namespace), work.EnqueueTimeout(d))
		if err != nil || d > 0 && d < time.Second { // it is to end then
			return err
		}
		defer enq.Close() //lint:ignore errcheck it was used
		_, err = enq.Enqueue(k.Ctx(), "later")
		return err
	},
	"RetryIn": func(k *kit, d time.Duration) error { return k.endsWith(work.RetryIn(d, errors.New("no"))) },
	"Snooze":  func(k *kit, d time.Duration) error { return k.endsWith(work.Snooze(d)) },
	"Sleep": func(k *kit, d time.Duration) error {
		return k.asks(func(ctx context.Context) error { return work.Sleep(ctx, "rest", d) })
	},
	"ReceiveWithin": func(k *kit, d time.Duration) error {
		return k.asks(func(ctx context.Context) error {
			_, err := work.ReceiveWithin[int](ctx, "approval", d)
			if errors.Is(err, work.ErrNoMessage) {
				return nil
			}
			return err
		})
	},
	"WorkerOptions.ShutdownTimeout": func(k *kit, d time.Duration) error {
		return k.runs(func(o *work.WorkerOptions) { o.ShutdownTimeout = d }, work.JobOptions{})
	},
	"WorkerOptions.HeartbeatLife": func(k *kit, d time.Duration) error {
		return k.runs(func(o *work.WorkerOptions) { o.HeartbeatLife = d }, work.JobOptions{})
	},
	"WorkerOptions.FenceAfter": func(k *kit, d time.Duration) error {
		return k.runs(func(o *work.WorkerOptions) { o.FenceAfter = d }, work.JobOptions{})
	},
	"WorkerOptions.WaitTimeout": func(k *kit, d time.Duration) error {
		return k.runs(func(o *work.WorkerOptions) { o.WaitReplicas, o.WaitTimeout = 1, d }, work.JobOptions{})
	},
	"WorkerOptions.IdleTimeout": func(k *kit, d time.Duration) error {
		return k.runs(func(o *work.WorkerOptions) { o.IdleTimeout = d }, work.JobOptions{})
	},
	"WorkerOptions.MorgueRetention": func(k *kit, d time.Duration) error {
		return k.runs(func(o *work.WorkerOptions) { o.MorgueRetention = d }, work.JobOptions{})
	},
	"WorkerOptions.ObjectGrace": func(k *kit, d time.Duration) error {
		return k.runs(func(o *work.WorkerOptions) { o.ObjectGrace = d }, work.JobOptions{})
	},
	"JobOptions.Timeout":   func(k *kit, d time.Duration) error { return k.runs(nil, work.JobOptions{Timeout: d}) },
	"JobOptions.Retention": func(k *kit, d time.Duration) error { return k.runs(nil, work.JobOptions{Retention: d}) },
	"JobOptions.RetryFor":  func(k *kit, d time.Duration) error { return k.runs(nil, work.JobOptions{RetryFor: d}) },
	"JobOptions.Backoff": func(k *kit, d time.Duration) error {
		return k.endsWith(errors.New("no"), work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return d }})
	},
	"Limit.Per": func(k *kit, d time.Duration) error {
		return k.runs(nil, work.JobOptions{Limit: work.Limit{Rate: 1000, Per: d}})
	},
	"PeriodicOptions.Jitter": func(k *kit, d time.Duration) error {
		return k.drains(work.NewWorkerPool(nil, 1, k.Options()).Job("later", pooltest.Nothing).
			PeriodicWithOptions("0 0 1 1 *", "later", work.PeriodicOptions{Jitter: d}))
	},
}

// timesTaken is the same of times.
var timesTaken = map[string]func(k *kit, at time.Time) error{
	"ExpireAt": func(k *kit, at time.Time) error { return k.through(work.ExpireAt(at)) },
	"Deadline": func(k *kit, at time.Time) error { return k.through(work.Deadline(at)) },
	"Enqueuer.EnqueueAt": func(k *kit, at time.Time) error {
		_,
			err := k.Enq.EnqueueAt(k.Ctx(), "later", at)
		return err
	},
	"Enqueuer.SourcedEnqueueAt": func(k *kit, at time.Time) error {
		_, err := k.Enq.SourcedEnqueueAt(k.Ctx(), "later", 1, at)
		return err
	},
	"Entry.At": func(k *kit, at time.Time) error {
		_, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "later", At: at}})
		return err
	},
}

// through runs a job with an option beside one without.
func (k *kit) through(option work.EnqueueOption) error {
	k.Enqueue("job")
	_, err := k.Enq.With(option).Enqueue(k.Ctx(), "job")
	if short := (*work.ReplicasError)(nil); err != nil && !errors.As(err, &short) {
		return err
	}
	return k.drains(work.NewWorkerPool(nil, 2, k.Options()).Job("job", func(ctx context.Context) error {
		if until, has := ctx.Deadline(); has && time.Until(until) < 0 {
			return errors.New("no time")
		}
		return nil
	}))
}

func (k *kit) runs(change func(o *work.WorkerOptions), job work.JobOptions) error {
	opts := k.Options()
	if change != nil {
		change(&opts)
	}
	k.Enqueue("job")
	defer func() { require.Zero(k.T, k.Number("ZCARD", "morgue")) }()
	return k.drains(work.NewWorkerPool(nil, 1, opts).JobWithOptions("job", job, func() error { return nil }))
}

func (k *kit) asks(handler func(ctx context.Context) error) error {
	k.Enqueue("job")
	return k.drains(work.NewWorkerPool(nil, 1, k.Options()).Job("job", handler))
}

func (k *kit) endsWith(err error, opts ...work.JobOptions) error {
	k.Enqueue("job")
	return k.drains(work.NewWorkerPool(nil, 1, k.Options()).
		JobWithOptions("job", append(opts, work.JobOptions{})[0], func() error { return err }))
}

// drains runs what is there, and looks that nothing is put off out of all bounds.
func (k *kit) drains(pool *work.WorkerPool) error {
	if err := pool.Start(k.Ctx()); err != nil {
		return err
	}
	defer pool.Stop(k.Ctx()) //lint:ignore errcheck the drain was fine
	require.NoError(k.T, pool.Drain(k.Ctx()))
	for _, due := range []string{"scheduled", "retry"} {
		late := k.Number("ZCOUNT", due, fmt.Sprint("(", time.Now().Add(span.Longest+time.Minute).UnixMilli()), "+inf")
		early := k.Number("ZCOUNT", due, "-inf", time.Now().Add(-time.Hour).UnixMilli())
		require.Zero(k.T, late+early, "a time out of all bounds in %s", due)
	}
	return nil
}

// Whatever duration or time a program gives, it is used, as 100 years if it is longer, or refused by an error that says
// so.
func TestDurationsAndTimesOfAllSizes(t *testing.T) {
	t.Parallel()
	judge := func(t *testing.T, err error, value any) {
		var invalid *work.InvalidError
		var limit *work.LimitError
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
			options []work.EnqueueOption
			job     work.JobOptions
		}{
			"of the enqueue": {[]work.EnqueueOption{work.Timeout(math.MaxInt64), work.Retention(math.MaxInt64)},
				work.JobOptions{}},
			"of the job": {[]work.EnqueueOption{work.Meta("a", "b")}, work.JobOptions{Timeout: math.MaxInt64,
				Retention: math.MaxInt64, RetryFor: math.MaxInt64}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				until := make(chan time.Time, 1)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("job", row.job, func(ctx context.Context) (int, error) {
						deadline, _ := ctx.Deadline()
						until <- deadline
						return 7, ctx.Err()
					}))
				receipt, err := k.Enq.With(row.options...).Enqueue(k.Ctx(), "job")
				require.NoError(t, err)
				assert.Greater(t, time.Until(pooltest.Receive(t, until)), 99*365*24*time.Hour)
				require.NoError(t, pool.Drain(k.Ctx()))
				kept := asScore(t, k.Do("ZSCORE", "outcomes:until", receipt.ID))
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

// taken finds the durations and times that a program gives: parameters of exported functions, and fields of what they
// take.
func taken(t *testing.T, kind string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("../../../*.go")
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
