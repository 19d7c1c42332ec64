package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// doomed is in the ctx of what a program does that dies; before has what is done before a member is named.
type (
	doomed struct{}
	before struct{}
)

// adder is the driver of a pool of which one handler dies at its n-th call about flows: see dying.
type adder struct {
	redisconn.Driver
	dies *dying
}

func (a *adder) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if ctx.Value(doomed{}) != nil {
		return a.dies.Pipeline(ctx, calls...)
	}
	if first, is := ctx.Value(before{}).(func()); is && pooltest.NameOf(calls[0]) == "add" {
		first()
	}
	return a.Driver.Pipeline(ctx, calls...)
}

// adding is a flow of which a member adds one that is at home elsewhere, in an attempt that dies. The next attempt does
// what comes behind that.
type adding struct {
	*divided
	counts
	dies  *dying
	errs  []error // of additions
	atEnd int     // how often it had run when the flow has ended
}

func newAdding(t *testing.T, s redistest.Server, n int, how string,
	next func(ctx context.Context, a *adding, add func(ctx context.Context) error) error) *adding {
	a := &adding{divided: newDivided(t, s, 3), counts: counts{ran: map[string]int{}}}
	o := a.Options()
	driver, err := o.Connection.Driver()
	require.NoError(t, err)
	a.dies = &dying{Driver: driver, left: n, how: how}
	o.Connection = pooltest.Connection{Of: &adder{driver, a.dies}}
	options := []work.EnqueueOption{work.Key(a.keyAt("ok", 2, 0)), work.Unique(work.UniqueOptions{Key: "x"})}
	add := func(ctx context.Context, job *work.Job) error {
		err := flow.Add(ctx, job, "added", work.Entry{Name: "ok", Options: options})
		a.mu.Lock()
		defer a.mu.Unlock()
		a.errs = append(a.errs, err)
		return err
	}
	a.Start(work.NewWorkerPool(nil, 4, o).
		Job("ok", func(job *work.Job) (string, error) { return job.ID, a.note(job) }).
		Job("end", func(job *work.Job) error {
			ran := a.of("f/added/@job")
			a.mu.Lock()
			a.atEnd = ran
			a.mu.Unlock()
			return a.note(job)
		}).
		Job("adds", func(ctx context.Context, job *work.Job) error {
			if job.Attempt > 1 {
				return next(ctx, a, func(ctx context.Context) error { return add(ctx, job) })
			}
			if err := add(context.WithValue(ctx, doomed{}, true), job); err != nil || a.dies.dead() {
				return work.RetryIn(0, errors.New("its program has died"))
			}
			return nil
		}))
	f := flow.New("f").OnDone("end")
	f.Job("ok").Named("here").With(work.Key(a.keyAt("ok", 0, 0)))
	f.Job("adds").With(work.Key(a.keyAt("adds", 1, 0)))
	_, err = flow.Enqueue(a.Ctx(), a.Enq, f)
	require.NoError(t, err)
	return a
}

// eachAddition has an addition die at each of its calls.
func eachAddition(t *testing.T, do func(t *testing.T, s redistest.Server, n int, how string) (hit bool)) {
	t.Helper()
	each(t, func(t *testing.T, s redistest.Server) {
		for _, how := range []string{"before", "after", "lost"} {
			hit, step := true, 1
			if strings.Contains(t.Name(), "embedded") {
				step = 4 // as atEachCall has it
			}
			for n := 0; hit && !t.Failed(); n += step {
				t.Run(fmt.Sprint(how, n), func(t *testing.T) {
					hit = do(t, s, n, how)
					assert.True(t, hit || n > 0, "it makes no call")
				})
			}
		}
	})
}

// adds is a next attempt that adds the member.
func adds(ctx context.Context, _ *adding, add func(context.Context) error) error { return add(ctx) }

// ended waits for the flow, and for what runs at its end.
func (a *adding) ended() flow.Progress {
	a.T.Helper()
	p, err := flow.Wait(a.Ctx(), a.Enq, "f")
	require.NoError(a.T, err)
	a.Until("its end has run", func() bool { return a.of("f/@done") == 1 })
	assert.Equal(a.T, flow.Done, p.State)
	assert.Equal(a.T, p.Total, p.Done)
	return p
}

// age has an hour pass in which nobody looks at the added member.
func (a *adding) age() {
	_, err := redisconn.Do(a.Ctx(), a.Raw().Driver(), redisconn.Call{Command: "ZADD",
		Args: []any{a.store(2).Key("flows:away"), "XX", 1, "f/added"}})
	assert.NoError(a.T, err)
}

// look is what is done then.
func (a *adding) look() {
	directory := partition.NewDirectory(a.Raw().Driver(), a.Namespace)
	assert.NoError(a.T, directory.Refresh(a.Ctx()))
	assert.NoError(a.T, maintain.AgreeUnseen(a.Ctx(), directory.Store(2)))
}

// Whoever adds a member at home elsewhere may die at any call, or lose the reply: the next attempt adds it, it runs
// once, and the flow does not end before it.
func TestAwayAMemberIsAddedAlthoughItsProgramDies(t *testing.T) {
	eachAddition(t, func(t *testing.T, s redistest.Server, n int, how string) bool {
		a := newAdding(t, s, n, how, adds)
		assert.Equal(t, 3, a.ended().Total)
		assert.Equal(t, []int{1, 1}, []int{a.of("f/added/@job"), a.atEnd})
		require.NoError(t, a.errs[len(a.errs)-1])
		assert.Empty(t, a.where("unique"))
		return a.dies.hit
	})
}

// Where the next attempt adds nothing the flow has the member or not. What was stored of one that it has not goes when
// somebody looks, with its lock.
func TestAwayAMemberWhoseAdditionWasCutOffGoes(t *testing.T) {
	eachAddition(t, func(t *testing.T, s redistest.Server, n int, how string) bool {
		a := newAdding(t, s, n, how, func(context.Context, *adding, func(context.Context) error) error {
			return nil
		})
		added := a.ended().Total - 2
		assert.Equal(t, []int{added, added}, []int{a.of("f/added/@job"), a.atEnd})
		if added == 0 {
			a.age()
			a.look()
			assert.NotContains(t, a.where("flows:away"), 2)
			assert.Empty(t, a.where("flow:f/added"))
		}
		assert.Empty(t, a.where("unique"))
		return a.dies.hit
	})
}

// The next attempt comes so late that somebody looks at what was stored of the member, while it adds it: that stays.
func TestAwayAMemberIsAddedLate(t *testing.T) {
	eachAddition(t, func(t *testing.T, s redistest.Server, n int, how string) bool {
		a := newAdding(t, s, n, how, func(ctx context.Context, a *adding, add func(context.Context) error) error {
			a.age()
			return add(context.WithValue(ctx, before{}, a.look))
		})
		assert.Equal(t, 3, a.ended().Total)
		assert.Equal(t, []int{1, 1}, []int{a.of("f/added/@job"), a.atEnd})
		return a.dies.hit
	})
}
