package flow_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestMistakesInAFlowAreNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		other := flow.New("other").Job("a")
		for want, build := range map[string]func(f *flow.Flow){
			`flow "f" is a circle: "a" waits for "b" waits for "c" waits for "a": take one of these out: none of ` +
				`them could ever run`: func(f *flow.Flow) {
				a, b, c := f.Job("a"), f.Job("b"), f.Job("c")
				f.Job("free").After(a)
				a.After(b)
				b.After(c)
				c.After(a)
			},
			`flow "f" is a circle: "a" waits for "a": take one of these out: none of them could ever run`: func(
				f *flow.Flow) {
				a := f.Job("a")
				a.After(a)
			},
			`member "a" of flow "f" is there twice: give one of the two another name with Named`: func(f *flow.Flow) {
				f.Job("a")
				f.Job("a")
			},
			`job "b" of flow "f" is after job "a" of flow "other": let it wait for jobs of its own flow only`: func(
				f *flow.Flow) {
				f.Job("b").After(other)
			},
			`job "b" of flow "f" is after job "a" twice: name it once`: func(f *flow.Flow) {
				a := f.Job("a")
				f.Job("b").After(a, a)
			},
			`job "b" of flow "f" is after a nil job: give After jobs that Job has returned`: func(f *flow.Flow) {
				f.Job("b").After(nil)
			},
			`Even of job "a" is called before After: call After first: it says about which jobs`: func(f *flow.Flow) {
				f.Job("a").Even(flow.Dead)
			},
			`flow "f" is without a job: add one with Job`: func(*flow.Flow) {},
			`job "a" of a flow is given Front: leave it out: it is enqueued when its flow lets it`: func(f *flow.Flow) {
				f.Job("a").With(work.Front())
			},
			`argument 1 of job "a" (args[0][1]) is not UTF-8, which JSON cannot hold: encode it, for example as ` +
				`base64`: func(f *flow.Flow) {
				f.Job("a", []string{"a", "file-\xe9"})
			},
			`name of member is "@a": use one that does not begin with "@"`: func(f *flow.Flow) {
				f.Job("a").Named("@a")
			},
		} {
			f := flow.New("f")
			build(f)
			_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
			var bad *work.InvalidError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, want, strings.TrimPrefix(err.Error(), `flow "f": `))
		}
		assert.Empty(t, k.Remains("flow"))
	})
}

// losing is a driver that fails each call of a script, before or after Redis has got it, until it is told otherwise.
type losing struct {
	redisconn.Driver
	script string
	after  bool
	times  int
}

func (l *losing) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	loses := calls[0].Script != nil && calls[0].Script.Name == l.script && l.times > 0
	if loses {
		l.times--
	}
	if loses && !l.after {
		return nil, &redisconn.ServerError{Code: "WRONGPASS", Message: "WRONGPASS cut off"}
	}
	replies, err := l.Driver.Pipeline(ctx, calls...)
	if loses && err == nil {
		return nil, context.DeadlineExceeded
	}
	return replies, err
}

func TestAStoreThatWasCutOffRunsNothingAndIsCompletedByTheSameCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		graph := func(jobs int) *flow.Flow {
			f := flow.New("f")
			last := f.Job("ok").Named("last")
			for n := range jobs {
				last.After(f.Job("ok").Named(strconv.Itoa(n)))
			}
			return f.OnDone("ok")
		}
		driver := &losing{Driver: k.Raw().Driver(), script: "flow/seal", times: 1}
		enq := pooltest.EnqueuerOn(driver, k.Namespace)
		_, err := flow.Enqueue(k.Ctx(), enq, graph(60))
		require.ErrorContains(t, err,
			`it is not known whether flow "f" is sealed; call again to find out: WRONGPASS cut off`)
		pool := k.pool(r)
		k.Drained(pool)
		p, err := flow.Read(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Filling, p.State)
		assert.Empty(t, r.all())

		_, err = flow.Enqueue(k.Ctx(), k.Enq, graph(59))
		require.ErrorContains(t, err, `flow "f" is another one than that whose store was cut off under this id`)
		receipt := k.stored(graph(60))
		assert.Equal(t, flow.Receipt{ID: "f", Jobs: 61}, receipt)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Len(t, r.all(), 62)
	})
}

func TestALostReplyOfTheSealIsNoDuplicate(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		for _, script := range []string{"flow/store", "flow/seal"} {
			driver := &losing{Driver: k.Raw().Driver(), script: script, times: 2, after: true}
			f := flow.New(strings.ReplaceAll(script, "/", "-")).OnDone("ok")
			f.Job("ok").Named("b").After(f.Job("ok").Named("a"))
			receipt, err := flow.Enqueue(k.Ctx(), pooltest.EnqueuerOn(driver, k.Namespace), f)
			require.NoError(t, err)
			assert.False(t, receipt.Duplicate)
			assert.Zero(t, driver.times)
		}
		k.Drained(k.pool(r))
		assert.Len(t, r.all(), 6)
	})
}

func TestAFlowThatWasNeverSealedIsRemoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := pooltest.StoreOf(k.Enq)
		_, _, err := flowdb.Of(store).Store(k.Ctx(), flowdb.Keeping{ID: "f", Digest: "d", Token: "t", Keep: time.Hour},
			[]flowdb.Member{{Name: "a", Free: true, Queue: "ok", Record: []byte("{}")}}, nil)
		require.NoError(t, err)
		removed, err := flowdb.Of(store).Remove(k.Ctx(), "f", time.Hour)
		require.NoError(t, err)
		assert.False(t, removed, "somebody may be storing it")
		k.Do("ZADD", "flows:filling", 1, "f")
		over, cutOff, err := flowdb.Of(store).ToRemove(k.Ctx(), time.Hour)
		require.NoError(t, err)
		assert.Empty(t, over)
		assert.Equal(t, []string{"f"}, cutOff)
		removed, err = flowdb.Of(store).Remove(k.Ctx(), "f", time.Hour)
		require.NoError(t, err)
		assert.True(t, removed)
		assert.Empty(t, k.Remains("flow"))
	})
}

func TestASealOfAnotherNumberOfMembersIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store, of := pooltest.StoreOf(k.Enq), flowdb.Keeping{ID: "f", Digest: "d", Token: "t", Keep: time.Hour}
		_, _, err := flowdb.Of(store).Store(k.Ctx(), of,
			[]flowdb.Member{{Name: "a", Free: true, Queue: "ok", Record: []byte("{}")}}, nil)
		require.NoError(t, err)
		answer, detail, err := flowdb.Of(store).Seal(k.Ctx(), of, 2, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"count", "1"}, []string{string(answer), detail})
		other := of
		other.Digest = "another"
		answer, _, err = flowdb.Of(store).Seal(k.Ctx(), other, 1, nil)
		require.NoError(t, err)
		assert.Equal(t, flowdb.Other, answer)
	})
}

func TestAFlowThatRunsIsNotOpenedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Job("ok")
		k.stored(f)
		_, err := flow.Retry(k.Ctx(), k.Enq, "f")
		require.EqualError(t, err, `flow "f" is running: retry it when it has ended`)
		for _, step := range []flowdb.Reopening{flowdb.ReopenBack, flowdb.ReopenSeal} {
			state, err := flowdb.Of(pooltest.StoreOf(k.Enq)).Reopen(k.Ctx(), "f", step, nil)
			require.NoError(t, err)
			assert.Equal(t, flowdb.IsRunning, state)
		}
		_, err = flow.Retry(k.Ctx(), k.Enq, "g")
		assert.ErrorIs(t, err, flow.ErrNoFlow)
	})
}

func TestAFlowOfLargeArgsIsStoredInSmallCalls(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		driver := &counting{Driver: k.Raw().Driver()}
		f := flow.New("f")
		for n := range 5 {
			f.Job("n", strings.Repeat("x", 600_000)).Named(strconv.Itoa(n))
		}
		_, err := flow.Enqueue(k.Ctx(), pooltest.EnqueuerOn(driver, k.Namespace), f)
		require.NoError(t, err)
		assert.Equal(t, 5, driver.stores)
		assert.Equal(t, 5, k.Number("LLEN", "queue:n"))
	})
}

// counting counts the parts of flows that are stored.
type counting struct {
	redisconn.Driver
	stores int
}

func (c *counting) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Script != nil && calls[0].Script.Name == "flow/store" {
		c.stores++
	}
	return c.Driver.Pipeline(ctx, calls...)
}
