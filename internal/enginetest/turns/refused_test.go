package turns_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// badTurn is a key and a weight that cannot be, as options and as those of a schedule.
type badTurn struct {
	options  []work.EnqueueOption
	schedule *work.PeriodicOptions // nil where the zero value means something else there
	says     string                // a regular expression of what and of the remedy
}

func badTurns() map[string]badTurn {
	long := strings.Repeat("k", 201)
	return map[string]badTurn{
		"a key of 201 bytes": {[]work.EnqueueOption{work.Key(long)}, &work.PeriodicOptions{Key: long},
			`Key is .*201 bytes.*: use at most 200`},
		"a key with a NUL": {[]work.EnqueueOption{work.Key("a\x00b")}, &work.PeriodicOptions{Key: "a\x00b"},
			`Key is .*: use .*without control characters`},
		"an empty key": {[]work.EnqueueOption{work.Key("")}, nil, `Key is empty: use one of one byte or more, or none`},
		"a weight of 0": {[]work.EnqueueOption{work.Key("a"), work.Weight(0)}, nil,
			`Weight is 0: use 1 to 100`},
		"a weight below": {[]work.EnqueueOption{work.Key("a"), work.Weight(-1)},
			&work.PeriodicOptions{Key: "a", Weight: -1}, `Weight is -1: use 1 to 100`},
		"a weight of 101": {[]work.EnqueueOption{work.Key("a"), work.Weight(101)},
			&work.PeriodicOptions{Key: "a", Weight: 101}, `Weight is 101: use 1 to 100`},
		"a weight of no key": {[]work.EnqueueOption{work.Weight(2)}, &work.PeriodicOptions{Weight: 2},
			`(is )?given (Weight )?without Key: give (it )?the key`},
	}
}

// TestTurnsThatCannotBeAreRefusedAtEachDoor, also beside jobs that could be: nothing is stored.
func TestTurnsThatCannotBeAreRefusedAtEachDoor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, bad := range badTurns() {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				kind, good := work.Define[string]("sync"), work.Entry{Name: "sync", Args: []any{"x"}}
				doors := map[string]func() error{
					"Enqueue": func() error {
						_, err := k.Enq.With(bad.options...).Enqueue(k.Ctx(), "sync", "x")
						return err
					},
					"EnqueueIn": func() error {
						_, err := k.Enq.With(bad.options...).EnqueueIn(k.Ctx(), "sync", time.Hour, "x")
						return err
					},
					"EnqueueMany": func() error {
						_, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{good,
							{Name: "sync", Args: []any{"x"}, Options: bad.options}, good})
						return err
					},
					"a kind": func() error {
						_, err := kind.Enqueue(k.Ctx(), k.Enq, "x", bad.options...)
						return err
					},
				}
				if o := bad.schedule; o != nil {
					doors["a schedule of a pool"] = func() error {
						return work.NewWorkerPool(nil, 1, k.Options()).Job("sync", func(string) error { return nil }).
							PeriodicWithOptions("@yearly", "sync", *o, "x").Start(k.Ctx())
					}
					doors["a schedule of a kind"] = func() error {
						p := work.NewWorkerPool(nil, 1, k.Options()).Job("sync", func(string) error { return nil })
						return kind.Periodic(p, "@yearly", "x", *o).Start(k.Ctx())
					}
					doors["a schedule that is added"] = func() error {
						return k.Inspector().AddSchedule(k.Ctx(), "@yearly", "sync", *o, "x")
					}
				}
				for door, enter := range doors {
					err := enter()
					var invalid *work.InvalidError
					require.ErrorAs(t, err, &invalid, door)
					assert.Regexp(t, bad.says, err.Error(), door)
					assert.NotEmpty(t, invalid.Remedy, door)
				}
				for _, of := range []string{"jobs", "queue:sync", "turns", "scheduled", "schedules", "workers"} {
					assert.Zero(t, k.Number("EXISTS", of), of)
				}
			})
		}
	})
}

// TestRulesOfKeysThatCannotBeAreRefusedAtEachDoor before anything is declared.
func TestRulesOfKeysThatCannotBeAreRefusedAtEachDoor(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]struct {
		options work.JobOptions
		says    string
	}{
		"a rate of nothing": {work.JobOptions{PerKey: work.Limit{Per: time.Minute}},
			`limit of keys of job "sync" cannot be: `},
		"a rate in no time": {work.JobOptions{PerKey: work.Limit{Rate: 5}},
			`limit of keys of job "sync" cannot be: .*Per is 0s`},
		"none at once": {work.JobOptions{PerKey: work.Limit{Concurrent: -1}},
			`limit of keys of job "sync" cannot be: Concurrent is -1`},
		"two at once in order": {work.JobOptions{Ordered: true, PerKey: work.Limit{Concurrent: 2}},
			`JobOptions.Ordered is true beside a PerKey.Concurrent of 2: leave one of both out`},
		"a stop of no order": {work.JobOptions{StopAtDeath: true},
			`JobOptions.StopAtDeath is true: set Ordered as well`},
		"the back of no order": {work.JobOptions{RetryAtBack: true},
			`JobOptions.RetryAtBack is true: set Ordered as well`},
		"a shared queue with limits of keys": {
			work.JobOptions{Queue: "mail", PerKey: work.Limit{Concurrent: 2}},
			`JobOptions.Queue is given beside PerKey or Ordered: leave one of both out`},
		"a shared queue with order": {work.JobOptions{Queue: "mail", Ordered: true},
			`JobOptions.Queue is given beside PerKey or Ordered: leave one of both out`},
		"together of a handler of one": {work.JobOptions{Together: work.Together{Most: 5}},
			`JobOptions.Together is given with the handler .*: have that take a work.Batch`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				one := func(context.Context, string) error { return nil }
				kind := work.Define[string]("sync", bad.options)
				doors := map[string]func() error{
					"a job": func() error {
						p := work.NewWorkerPool(nil, 1, k.Options())
						return p.JobWithOptions("sync", bad.options, one).Start(k.Ctx())
					},
					"a kind": func() error {
						p := work.NewWorkerPool(nil, 1, k.Options())
						return work.HandleFunc(p, kind, one).Start(k.Ctx())
					},
				}
				if bad.options.Together == (work.Together{}) { // who enqueues does not know the handler
					doors["an enqueue of a kind"] = func() error {
						_, err := kind.Enqueue(k.Ctx(), k.Enq, "x")
						return err
					}
				}
				for door, enter := range doors {
					err := enter()
					var invalid *work.InvalidError
					var limit *work.LimitError
					assert.True(t, errors.As(err, &invalid) || errors.As(err, &limit), "%s: %v", door, err)
					assert.Regexp(t, bad.says, err.Error(), door)
				}
				assert.Empty(t, k.Keys())
			})
		})
	}
}
