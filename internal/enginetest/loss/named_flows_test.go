package loss_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// eachStore runs a test with an Enqueuer behind the proxy, which is heard, and has stored a flow that is not forgotten.
func eachStore(t *testing.T, test func(t *testing.T, th *theater, enq *work.Enqueuer)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th := newTheater(t, s)
		enq, err := work.NewEnqueuer(th.proxy.DSN(), work.Namespace(th.Namespace), work.WithObserver(th.Spy))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, enq.Close()) })
		stored(t, th, enq, "before")
		test(t, th, enq)
	})
}

// stored stores a flow with another in it.
func stored(t *testing.T, th *theater, enq *work.Enqueuer, id string) {
	t.Helper()
	f, inner := flow.New(id), flow.New("")
	inner.Job("b")
	f.Flow("in", inner).After(f.Job("b"))
	receipt, err := flow.Enqueue(th.Ctx(), enq, f)
	require.NoError(t, err)
	require.Equal(t, flow.Receipt{ID: id, Jobs: 2}, receipt)
}

func entries(n int) iter.Seq[work.Entry] {
	return slices.Values(slices.Repeat([]work.Entry{{Name: "b"}}, n))
}

// Flows that a failover has forgotten are named by whoever stored them, and the same calls store them again.
func TestFlowsThatAFailoverForgotAreNamed(t *testing.T) {
	eachStore(t, func(t *testing.T, th *theater, enq *work.Enqueuer) {
		th.fallBehind()
		stored(t, th, enq, "f")
		_, err := flow.Batch(th.Ctx(), enq, "g", entries(700))
		require.NoError(t, err)
		duplicate, err := flow.Batch(th.Ctx(), enq, "g", entries(700))
		require.NoError(t, err)
		require.True(t, duplicate.Duplicate)
		th.failOver(nil)
		stored(t, th, enq, "later") // which finds it
		th.told(event.DataLost{Flows: []string{"f", "g"}})
		_, err = flow.Read(th.Ctx(), enq, "f")
		require.ErrorIs(t, err, flow.ErrNoFlow)
		stored(t, th, enq, "f")
		receipt, err := flow.Batch(th.Ctx(), enq, "g", entries(700))
		require.NoError(t, err)
		assert.False(t, receipt.Duplicate)
		assert.Equal(t, 1, pooltest.Count[event.DataLost](th.Spy))
	})
}

// A program that stores no more flows finds it with its next enqueue, or as it ends.
func TestAnEnqueueFindsThatAFailoverForgotAFlow(t *testing.T) {
	for _, closes := range []bool{false, true} {
		t.Run(map[bool]string{false: "enqueue", true: "close"}[closes], func(t *testing.T) {
			eachStore(t, func(t *testing.T, th *theater, enq *work.Enqueuer) {
				_, err := enq.Enqueue(th.Ctx(), "b")
				require.NoError(t, err)
				th.fallBehind()
				job, err := enq.Enqueue(th.Ctx(), "b")
				require.NoError(t, err)
				stored(t, th, enq, "f")
				th.failOver(nil)
				if closes {
					require.NoError(t, enq.Close())
				} else {
					_, err = enq.Enqueue(th.Ctx(), "b")
					require.NoError(t, err)
				}
				th.told(event.DataLost{Enqueued: []string{job.ID}, Flows: []string{"f"}})
			})
		})
	}
}

// Of all that is lost nobody says that a replica has taken over.
func TestFlowsOfARedisThatWasEmptiedAreNamed(t *testing.T) {
	eachStore(t, func(t *testing.T, th *theater, enq *work.Enqueuer) {
		stored(t, th, enq, "f")
		th.Unlink(th.Keys()...)
		stored(t, th, enq, "later")
		assert.Equal(t, event.DataLost{Flows: []string{"before", "f"}},
			pooltest.Await[event.DataLost](t, th.Spy, nil))
	})
}

// The handler runs on, and its flow does not have the member any more that it has added.
func TestAMemberThatAFailoverForgotIsNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, added, next := newTheater(t, s), make(chan error), make(chan string)
		add := func(ctx context.Context, job *work.Job) error {
			for name := range next {
				added <- flow.Add(ctx, job, name, work.Entry{Name: "b"})
			}
			return nil
		}
		options := th.options()
		options.EnqueueAnyName = true
		pool := th.Start(work.NewWorkerPool(nil, 1, options).Job("adds", add))
		f := flow.New("f")
		f.Job("adds")
		_, err := flow.Enqueue(th.Ctx(), pool.Enqueuer(), f)
		require.NoError(t, err)
		pooltest.Await[event.JobStarted](t, th.Spy, nil)
		give := func(name string) {
			next <- name
			require.NoError(t, pooltest.Receive(t, added))
		}
		give("one")
		th.fallBehind()
		give("two")
		give("three")
		th.failOver(nil)
		give("four")
		lost := pooltest.Await(t, th.Spy, func(e event.DataLost) bool { return e.Worker == "" })
		assert.Equal(t, event.DataLost{Failover: true, Enqueued: []string{"f/two", "f/three"}}, lost)
		give("two")
		assert.Equal(t, []string{"f/four", "f/one", "f/two"},
			slices.Sorted(slices.Values(th.Strings("LRANGE", "queue:b", 0, -1))))
		close(next)
	})
}
