package pools_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// guarded is a Redis whose programs have a user of their own.
type guarded struct {
	*pooltest.Kit
	t     *testing.T
	admin redis.Conn
	addr  string
}

func newGuarded(t *testing.T, rules ...string) *guarded {
	t.Helper()
	server := redistest.Dedicated(t)
	admin, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close() })
	g := &guarded{Kit: pooltest.NewKit(t, server.Server()), t: t, admin: admin, addr: server.Addr()}
	g.set(append([]string{"on", ">secret", "~{NS}:*"}, rules...)...)
	return g
}

// set changes the user; NS is the namespace.
func (g *guarded) set(rules ...string) {
	g.t.Helper()
	args := []any{"SETUSER", "shop"}
	for _, rule := range rules {
		args = append(args, strings.ReplaceAll(rule, "NS", g.Namespace))
	}
	_, err := g.admin.Do("ACL", args...)
	require.NoError(g.t, err)
}

func (g *guarded) dsn() string { return "redis://shop:secret@" + g.addr + "/0" }

func (g *guarded) options() work.WorkerOptions {
	options := g.Options()
	options.Redis, options.Connection = g.dsn(), nil
	return options
}

// TestWhatAUserMayNotDoIsToldBeforeAnythingIsWritten: by each kind of program, with the rule that grants it.
func TestWhatAUserMayNotDoIsToldBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for name, row := range map[string]struct {
			rules []string
			grant string
		}{
			"no channels":  {[]string{"+@all"}, "'&{NS}:*'"},
			"no HDEL":      {[]string{"&{NS}:*", "+@all", "-hdel"}, "+hdel"},
			"no PUBLISH":   {[]string{"&{NS}:*", "+@all", "-publish"}, "+publish"},
			"other keys":   {[]string{"resetkeys", "~other:*", "&{NS}:*", "+@all"}, "'~{NS}:*'"},
			"no EVAL":      {[]string{"&{NS}:*", "+@all", "-eval"}, "+eval"},
			"none of both": {[]string{"&{NS}:*", "+@all", "-eval", "-evalsha"}, "+eval +evalsha"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := newGuarded(t, row.rules...)
				want := "grant them by ACL SETUSER USER " + strings.ReplaceAll(row.grant, "NS", g.Namespace)
				err := work.NewWorkerPool(nil, 1, g.options()).Job("any", pooltest.Nothing).Start(t.Context())
				require.ErrorContains(t, err, want)

				enq, err := work.NewEnqueuer(g.dsn(), work.Namespace(g.Namespace))
				require.NoError(t, err)
				defer enq.Close()
				_, err = enq.Enqueue(t.Context(), "any")
				var failed *work.EnqueueError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, []int{0}, failed.NotStored)
				require.ErrorContains(t, err, want)

				hands, err := inspect.New(g.dsn(), work.Namespace(g.Namespace))
				require.NoError(t, err)
				defer hands.Close()
				require.ErrorContains(t, hands.PauseQueue(t.Context(), "any"), want)
				_, err = doctor.Examine(t.Context(), hands, doctor.Options{})
				require.Error(t, err)

				stored, err := redis.Int(g.admin.Do("DBSIZE"))
				require.NoError(t, err)
				assert.Zero(t, stored, "nothing was written")
			})
		}
	})
}

// TestAWorkerPausesWhileItsUserLacksRights: it fetches nothing, tells it, keeps what it has, and goes on by itself.
func TestAWorkerPausesWhileItsUserLacksRights(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for taken, doctorKnows := range map[string]bool{"-zrange": true, "-hdel": false, "resetchannels": true} {
			t.Run(taken, func(t *testing.T) {
				t.Parallel()
				g := newGuarded(t, "&{NS}:*", "+@all")
				door := pooltest.NewDoor()
				pool := g.Start(work.NewWorkerPool(nil, 2, g.options()).Job("any", door.Pass))
				held := g.Enqueue("any")
				assert.Equal(t, held.ID, pooltest.Receive(t, door.Began))

				g.set(taken)
				trouble := pooltest.Await(t, g.Spy, func(e event.Trouble) bool { return e.Component == "rights" })
				require.ErrorContains(t, trouble.Err, "lacks rights that the role worker needs")
				err := pool.Healthy(t.Context())
				var unhealthy *work.UnhealthyError
				require.ErrorAs(t, err, &unhealthy)
				require.ErrorContains(t, err, "rights of worker")
				if doctorKnows {
					g.doctorFinds(t, pool)
				}
				waiting := g.Enqueue("any") // by another user
				door.Leave <- held.ID
				select {
				case id := <-door.Began:
					require.Fail(t, "it begins another job", id)
				default:
				}

				g.set("&{NS}:*", "+@all")
				pooltest.Await(t, g.Spy, func(e event.TroubleOver) bool { return e.Component == "rights" })
				assert.Equal(t, waiting.ID, pooltest.Receive(t, door.Began), "it goes on by itself")
				door.Leave <- waiting.ID
				for _, id := range []string{held.ID, waiting.ID} {
					pooltest.Await(t, g.Spy, func(e event.JobDone) bool { return e.ID == id })
				}
				g.Drained(pool)
				require.NoError(t, pool.Healthy(t.Context()))
				_, err = inspect.Of(pool).Job(g.Ctx(), held.ID)
				require.ErrorIs(t, err, work.ErrNotFound, "its outcome was taken")
			})
		}
	})
}

// TestARefusalOfAnyPartHasTheRightsAskedFor: in a large fleet a worker asks for them once a minute by itself, and with
// the next heartbeats after a refusal, also of what no job has to do with.
func TestARefusalOfAnyPartHasTheRightsAskedFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		pooltest.Times(pool).Fleet = 0 // one worker is more
		var mu sync.Mutex
		refusing, beats, asked := false, 0, 0
		note := func(calls []redisconn.Call) (refused bool) {
			mu.Lock()
			defer mu.Unlock()
			for _, call := range calls {
				switch name := pooltest.NameOf(call); {
				case beats > 0 && name == "beat":
					beats++
				case beats > 0 && asked == 0 && name == "rights":
					asked = beats
				case refusing && asked == 0 && name == "move_due":
					beats = max(beats, 1)
					return true
				}
			}
			return false
		}
		d := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if note(calls) {
				return refusal("NOPERM this user has no permissions to run the 'zadd' command", calls), nil
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		d.UntilSent(t, "beat", 3)
		mu.Lock()
		refusing = true
		mu.Unlock()
		_, err := k.Enq.EnqueueIn(t.Context(), "a", time.Second)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return asked > 0
		}, pooltest.Patience, time.Millisecond)
		assert.LessOrEqual(t, asked, 5, "heartbeats between the two")
	})
}

// doctorFinds has a doctor of another user look, until the worker has noted why it rests.
func (g *guarded) doctorFinds(t *testing.T, pool *work.WorkerPool) {
	t.Helper()
	hands, err := inspect.New("redis://"+g.addr+"/0", work.Namespace(g.Namespace))
	require.NoError(t, err)
	defer hands.Close()
	for g.Ctx().Err() == nil {
		found, err := doctor.Examine(g.Ctx(), hands, doctor.Options{})
		require.NoError(t, err)
		for _, f := range found.Findings {
			if f.Check == doctor.CheckRights {
				assert.Equal(t, g.ID(pool), f.ID)
				assert.Contains(t, f.Detail, "fetches nothing")
				return
			}
		}
	}
	require.NoError(t, errors.New("the doctor finds nothing"))
}
