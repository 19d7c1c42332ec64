package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// alike makes jobs of one name the same that have this key.
func alike(key string) work.EnqueueOption { return work.Unique(work.UniqueOptions{Key: key}) }

// same stores a job of its own that is the same as a member, and returns the id of the one that lives.
func (k *kit) same(name, key string) string {
	k.T.Helper()
	receipt, err := k.Enq.With(alike(key)).Enqueue(k.Ctx(), name)
	require.NoError(k.T, err)
	if !receipt.Duplicate {
		return ""
	}
	return receipt.ID
}

// locks are who has which lock, and how: without the digests.
func (k *kit) locks() []string {
	all := k.Strings("HVALS", "unique")
	slices.Sort(all)
	return all
}

func TestAMemberHasItsLockFromTheStoreOfItsFlowToItsEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		f := flow.New("f").OnDone("ok")
		a := f.Job("ok").Named("a")
		f.Job("ok").Named("b").With(alike("1")).After(a)
		f.Job("ok").Named("c").With(alike("2"))
		k.stored(f)
		assert.Equal(t, []string{"f/b 0 t", "f/c 0 f"}, k.locks(), "one that waits holds on to it as well")
		assert.Equal(t, "f/b", k.same("ok", "1"))
		assert.Equal(t, "f/c", k.same("ok", "2"))
		pool := k.pool(r)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Empty(t, k.locks())
		ran := r.all()
		slices.Sort(ran)
		assert.Equal(t, []string{"f/@done", "f/a", "f/b", "f/c"}, ran)
	})
}

func TestAFlowIsRefusedWholeWhereTheLockOfAMemberIsHeld(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		holder, err := k.Enq.With(work.ID("holder"), alike("1")).Enqueue(k.Ctx(), "ok")
		require.NoError(t, err)
		before := k.Remains("")
		large := func(members int) *flow.Flow {
			f := flow.New("f")
			for n := range members {
				f.Job("ok").Named(fmt.Sprint("m", n)).With(alike(fmt.Sprint("of ", n)))
			}
			f.Job("ok").Named("late").With(alike("1"))
			return f
		}
		inner := func(int) *flow.Flow {
			f, in := flow.New("f"), flow.New("")
			in.Job("ok").Named("late").With(alike("1"))
			f.Flow("in", in).After(f.Job("ok").Named("first").With(alike("of first")))
			return f
		}
		for name, make := range map[string]func(int) *flow.Flow{"in one call": large, "in the second call": large,
			"in a flow within": inner} {
			_, err := flow.Enqueue(k.Ctx(), k.Enq, make(map[string]int{"in the second call": 501}[name]))
			held := new(flow.LockError)
			require.ErrorAs(t, err, &held, name)
			want := flow.LockError{Flow: "f", Member: "late", Holder: holder.ID}
			if name == "in a flow within" {
				want.Flow = "f/in"
			}
			assert.Equal(t, want, *held)
			left := slices.DeleteFunc(k.Remains(""), func(key string) bool { return strings.HasSuffix(key, "layout") })
			assert.ElementsMatch(t, before, left, name)
			assert.Equal(t, []string{"holder 0 f"}, k.locks(), name)
		}
		require.EqualError(t, &flow.LockError{Flow: "f", Member: "m", Holder: "h"}, `member "m" of flow "f" is `+
			`unique, and job "h" of the same kind lives: wait for its end, or leave the member out`)
		require.NoError(t, k.Inspector().Delete(k.Ctx(), "holder"))
		k.stored(large(2))
	})
}

func TestMistakesWithLocksAreNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for want, build := range map[string]func(f *flow.Flow){
			`member "b" of flow "f/in" is unique, and the same as member "a" of flow "f": give them other args, or ` +
				`another Key in their UniqueOptions, or leave Unique out of one`: func(f *flow.Flow) {
				in := flow.New("")
				in.Job("ok").Named("b").With(alike("1"))
				f.Flow("in", in).After(f.Job("ok").Named("a").With(alike("1")))
			},
			`job "ok" of a flow is given Once: leave it out, or use Unique: the flow is there once, by its id`: func(
				f *flow.Flow) {
				f.Job("ok").With(work.Once("request", time.Hour))
			},
			`job "ok" of a flow is given Unique with OnConflict: leave OnConflict out: where another job of its kind ` +
				`lives the flow is refused`: func(f *flow.Flow) {
				f.Job("ok").With(work.Unique(work.UniqueOptions{OnConflict: work.ReplaceArgs}))
			},
		} {
			f := flow.New("f")
			build(f)
			_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
			var bad *work.InvalidError
			require.ErrorAs(t, err, &bad)
			assert.EqualError(t, err, want)
		}
		assert.Empty(t, k.Remains("flow"))
	})
}

func TestABatchThatMeetsALockIsNotSealedAndNamesTheEntry(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		_, err := k.Enq.With(work.ID("holder"), alike("501")).Enqueue(k.Ctx(), "ok")
		require.NoError(t, err)
		entries := func(yield func(work.Entry) bool) {
			for n := range 502 {
				entry := work.Entry{Name: "ok"}
				if n > 499 {
					entry.Options = []work.EnqueueOption{alike(fmt.Sprint(n))}
				}
				if n == 0 {
					entry.Options = []work.EnqueueOption{alike("0")}
				}
				if !yield(entry) {
					return
				}
			}
		}
		_, err = flow.Batch(k.Ctx(), k.Enq, "f", entries)
		require.EqualError(t, err, `entry 501 of flow "f", which is not stored to its end: member "502" of flow "f" `+
			`is unique, and job "holder" of the same kind lives: wait for its end, or leave the member out`)
		held := new(flow.LockError)
		require.ErrorAs(t, err, &held)
		assert.Equal(t, flow.Filling, k.stateOf("f"))
		assert.Equal(t, []string{"f/1 0 t", "holder 0 f"}, k.locks(), "those before keep theirs")

		require.NoError(t, k.Inspector().Delete(k.Ctx(), "holder"))
		receipt, err := flow.Batch(k.Ctx(), k.Enq, "f", entries)
		require.NoError(t, err)
		assert.Equal(t, flow.Receipt{ID: "f", Jobs: 502}, receipt)
		pool := k.pool(r)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Len(t, r.all(), 502)
		assert.Empty(t, k.locks())

		twice := slices.Values([]work.Entry{{Name: "ok", Options: []work.EnqueueOption{alike("x")}},
			{Name: "ok", Options: []work.EnqueueOption{alike("x")}}})
		_, err = flow.Batch(k.Ctx(), k.Enq, "g", twice)
		require.ErrorAs(t, err, &held)
		assert.Equal(t, flow.LockError{Flow: "g", Member: "2", Holder: "g/1"}, *held)
		_, err = flow.Cancel(k.Ctx(), k.Enq, "g")
		require.ErrorIs(t, err, flow.ErrNoFlow)
		assert.Empty(t, k.locks())
	})
}

func TestAStoreThatIsSentAgainDoesNotMeetItsOwnLocks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		graph := func(id string) *flow.Flow {
			f := flow.New(id)
			f.Job("ok").Named("b").With(alike(id)).After(f.Job("ok").Named("a").With(alike("a" + id)))
			f.Job("ok").Named("t").With(work.Unique(work.UniqueOptions{Key: "t" + id, For: time.Hour}))
			return f
		}
		for _, script := range []string{"flow/store", "flow/seal", "flow/advance"} {
			driver := &losing{Driver: k.Raw().Driver(), script: script, times: 1, after: true}
			id := strings.ReplaceAll(script, "/", "-")
			receipt, err := flow.Enqueue(k.Ctx(), pooltest.EnqueuerOn(driver, k.Namespace), graph(id))
			require.NoError(t, err)
			assert.False(t, receipt.Duplicate)
			again, err := flow.Enqueue(k.Ctx(), k.Enq, graph(id))
			require.NoError(t, err)
			assert.True(t, again.Duplicate)
			assert.Zero(t, driver.times)
		}
		// cut off for good before the seal: the same call completes it
		driver := &losing{Driver: k.Raw().Driver(), script: "flow/seal", times: 1}
		_, err := flow.Enqueue(k.Ctx(), pooltest.EnqueuerOn(driver, k.Namespace), graph("cut"))
		require.Error(t, err)
		assert.Equal(t, "cut/b", k.same("ok", "cut"), "it keeps its locks meanwhile")
		assert.False(t, k.stored(graph("cut")).Duplicate)
		pool := k.pool(r)
		for _, id := range []string{"flow-store", "flow-seal", "flow-advance", "cut"} {
			assert.Equal(t, flow.Done, k.ended(id).State)
		}
		k.Drained(pool)
		assert.Len(t, r.all(), 12)
		for _, lock := range k.locks() {
			assert.Regexp(t, `/t \d{13} t$`, lock, "a lock for a time outlives its job")
		}
		assert.Len(t, k.locks(), 4)
	})
}

func TestLocksOfMembersThatDoNotRunAreFreed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		store := pooltest.StoreOf(k.Enq)
		flows := func() *flow.Flow {
			f, in := flow.New("f"), flow.New("")
			bad := f.Job("bad").Named("bad").With(alike("bad"))
			f.Job("ok").Named("b").With(alike("1")).After(bad)
			in.Job("ok").Named("c").With(alike("2"))
			in.Job("ok").Named("d").With(work.Unique(work.UniqueOptions{Key: "3", For: time.Hour}))
			f.Flow("in", in).After(bad)
			return f
		}
		k.stored(flows())
		require.Len(t, k.locks(), 4)
		_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		require.NoError(t, maintain.AdvanceFlows(k.Ctx(), store))
		assert.Equal(t, flow.Cancelled, k.stateOf("f"))
		assert.Empty(t, k.locks(), "of one that was cancelled")

		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []string{"f/b 0 t", "f/bad 0 f", "f/in/c 0 t"}, k.locks(), "taken again, but for a time")
		pool := k.pool(r)
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		require.NoError(t, maintain.AdvanceFlows(k.Ctx(), store))
		assert.Empty(t, k.locks(), "of those that waited for one that has died, which is in the morgue")
		assert.Equal(t, []string{"f/bad"}, r.all())
	})
}

func TestARetryMeetsALockThatSomebodyElseHasByNow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		f := flow.New("f")
		bad := f.Job("bad").With(alike("bad"))
		f.Job("ok").Named("b").With(alike("1")).After(bad)
		k.stored(f)
		pool := k.pool(r)
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		require.NoError(t, pool.Stop(k.Ctx()))
		for name, key := range map[string]string{"ok": "1", "bad": "bad"} {
			_, err := k.Enq.With(work.ID("holder"), alike(key)).Enqueue(k.Ctx(), name)
			require.NoError(t, err)
			_, err = flow.Retry(k.Ctx(), k.Enq, "f")
			held := new(flow.LockError)
			require.ErrorAs(t, err, &held)
			assert.Equal(t, flow.LockError{Flow: "f", Member: map[string]string{"ok": "b", "bad": "bad"}[name],
				Holder: "holder"}, *held)
			assert.Equal(t, flow.DeadEnded, k.stateOf("f"), "nothing was done")
			require.NoError(t, k.Inspector().Delete(k.Ctx(), "holder"))
		}
		p, err := flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Running, p.State)
		assert.Equal(t, []string{"f/b 0 t", "f/bad 0 f"}, k.locks())
	})
}

func TestAnAddedMemberMeetsALock(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		_, err := k.Enq.With(work.ID("holder"), alike("1")).EnqueueIn(k.Ctx(), "ok", time.Hour)
		require.NoError(t, err)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("ok", r.done).
			Job("adds", func(ctx context.Context, job *work.Job) error {
				entry := func(key string) work.Entry {
					return work.Entry{Name: "ok", Options: []work.EnqueueOption{alike(key)}}
				}
				err := flow.Add(ctx, job, "x", entry("1"))
				held := new(flow.LockError)
				if !errors.As(err, &held) || *held != (flow.LockError{Flow: "f", Member: "x", Holder: "holder"}) {
					return work.Bury(fmt.Errorf("added: %w", err))
				}
				for range 2 {
					if err := flow.Add(ctx, job, "y", entry("2"), "adds"); err != nil {
						return err
					}
				}
				r.note(strings.Join(k.locks(), ", "))
				return flow.Add(ctx, job, "z", entry("3"))
			}))
		f := flow.New("f")
		f.Job("adds")
		k.stored(f)
		p := k.ended("f")
		k.Drained(pool)
		assert.Equal(t, []int{3, 3}, []int{p.Total, p.Done})
		ran := r.all()
		require.Len(t, ran, 3)
		assert.Equal(t, "f/y 0 t, holder 0 f", ran[0])
		assert.Equal(t, []string{"holder 0 f"}, k.locks())
	})
}

func TestWhoeverGoesOnFreesLocksOfMembersThatAreGone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := pooltest.StoreOf(k.Enq)
		for _, id := range []string{"f", "g"} {
			f := flow.New(id)
			f.Job("ok").Named("b").With(alike(id)).After(f.Job("ok").Named("a"))
			k.stored(f)
		}
		for _, key := range k.Remains("flow") { // a failover has forgotten the flow, and not the lock
			if _, name, _ := strings.Cut(key, "}:"); strings.HasSuffix(name, ":f") {
				k.Number("UNLINK", name)
			}
		}
		next, _, err := store.FreeLocks(k.Ctx(), "")
		require.NoError(t, err)
		assert.Empty(t, next)
		assert.Equal(t, []string{"g/b 0 t"}, k.locks())
	})
}
