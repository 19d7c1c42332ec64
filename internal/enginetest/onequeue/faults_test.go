package onequeue_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func shelves(calls []redisconn.Call) bool {
	return slices.ContainsFunc(calls, func(call redisconn.Call) bool {
		return call.Script != nil && call.Script.Name == "job/shelve"
	})
}

// A worker dies when it has fetched a job for which it has no handler, and has not handed it on.
func TestAJobThatWasNotHandedOnGoesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		a, b, reached := newRecorder(), newRecorder(), make(chan struct{}, 100)
		p := k.pool(b, 1, "b")
		k.TamperWith(p, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			if !shelves(calls) {
				return pass(ctx, calls...)
			}
			reached <- struct{}{}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
		k.Start(p)
		k.Enqueue("a", 1)
		pooltest.Receive(t, reached)
		k.Crash(p)
		other := k.Start(k.pool(a, 1, "a"))
		assert.Equal(t, []string{"a 1"}, a.ran(t, 1))
		k.Drained(other)
		a.idle(t)
		k.Empty("a", "mail", needs.HandOn("mail", "a"))
	})
}

// It dies when it has handed the job on, or the answer to that is lost: the job is there once.
func TestAJobIsHandedOnOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		a, b := newRecorder(), newRecorder()
		p := k.pool(b, 1, "b")
		k.LoseReplies(p, "job/shelve", func(sent int) bool { return sent == 1 })
		k.Start(p)
		k.Enqueue("a", 1)
		handedOn := needs.HandOn("mail", "a")
		k.Until("it is handed on", func() bool { return k.Number("LLEN", "queue:"+handedOn) == 1 })
		k.Crash(p)
		other := k.Start(k.pool(a, 1, "a"))
		assert.Equal(t, []string{"a 1"}, a.ran(t, 1))
		k.Drained(other)
		a.idle(t)
		k.Empty("a", "mail", handedOn)
	})
}

// forget has a replica take over that has not got the map of the namespace, which is written at once with its version.
func (k *kit) forget() {
	k.T.Helper()
	k.Do("DEL", "map")
	k.Do("HDEL", "lanes", "")
}

// A failover to a replica that has not heard yet of the names that share a queue: the pool that says so, says it again,
// and no job is lost that was enqueued meanwhile by who did not know.
func TestAPoolGivesBackWhatAFailoverForgotOfNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newRecorder()
		p := k.Start(k.pool(ran, 1, "a", "b"))
		k.Enqueue("a", 1)
		assert.Equal(t, []string{"a 1"}, ran.ran(t, 1))
		i := k.Inspector()
		require.NoError(t, i.PauseQueue(k.Ctx(), "mail"))
		k.Enqueue("b", 2)
		known := k.Text("GET", "map")
		k.forget()
		k.Until("the map is there again", func() bool { return k.Number("EXISTS", "map") == 1 })
		assert.JSONEq(t, known, k.Text("GET", "map"))

		fresh := pooltest.EnqueuerOn(k.Raw().Driver(), k.Namespace)
		_, err := fresh.Enqueue(k.Ctx(), "a", 3)
		require.NoError(t, err)
		assert.Equal(t, 2, k.Number("LLEN", "queue:mail"))
		require.NoError(t, i.ResumeQueue(k.Ctx(), "mail"))
		assert.Equal(t, []string{"b 2", "a 3"}, ran.ran(t, 2))
		require.NoError(t, p.Drain(k.Ctx()))
		k.Empty("a", "b", "mail")
	})
}

// Nobody is left who knew: the next pool says it anew, and runs what waits in the queue that was shared as well as what
// was enqueued since then under its own name.
func TestTheNextPoolSaysAgainWhatAllHaveForgottenOfNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		k.Enqueue("a", 1)
		k.forget()
		fresh := pooltest.EnqueuerOn(k.Raw().Driver(), k.Namespace)
		_, err := fresh.Enqueue(k.Ctx(), "a", 2)
		require.NoError(t, err)
		assert.Equal(t, 1, k.Number("LLEN", "queue:mail"))
		assert.Equal(t, 1, k.Number("LLEN", "queue:a"))
		ran := newRecorder()
		p := k.Start(k.pool(ran, 1, "a", "b"))
		assert.ElementsMatch(t, []string{"a 1", "a 2"}, ran.ran(t, 2))
		k.Enqueue("b", 3)
		assert.Equal(t, []string{"b 3"}, ran.ran(t, 1))
		require.NoError(t, p.Drain(k.Ctx()))
		ran.idle(t)
		k.Empty("a", "b", "mail")
	})
}
