package codecs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/seal"
)

type card struct {
	Number string `json:"number" work:"unique"`
	Note   string `json:"note"`
}

// A job that uses all that is stored of it: small and large args, a step, a state, a message, a result.
func TestNothingOfASealedJobCanBeRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		codec := sealer(t, "k1")
		enq := k.enqueuer(codec)
		got := make(chan []string, 2)
		pool := k.Start(work.NewWorkerPool(nil, 2, k.options(codec)).JobWithOptions("charge",
			work.JobOptions{Retention: time.Hour},
			func(ctx context.Context, job *work.Job, small, large card) ([]string, error) {
				step, err := work.Step(ctx, "look up", func(context.Context) (string, error) { return secret, nil })
				require.NoError(t, err)
				require.NoError(t, job.SaveState(ctx, secret))
				said, err := work.Receive[string](ctx, "approval")
				if err != nil {
					return nil, err
				}
				var state string
				found, err := job.LoadState(ctx, &state)
				require.NoError(t, err)
				require.True(t, found)
				all := []string{small.Number, large.Number, step, state, said, strings.Repeat("y", 9000)}
				got <- all
				return all, nil
			}))
		id := k.enqueue(enq, "charge", card{Number: secret}, card{secret, strings.Repeat("x", 9000)})
		assert.NotContains(t, k.everything(), secret)
		assert.NotContains(t, k.everything(), strings.Repeat("x", 20))
		pooltest.Await[event.JobSnoozed](t, k.Spy, nil)
		assert.NotContains(t, k.everything(), secret, "a step and a state are there")
		require.NoError(t, work.Send(k.Ctx(), enq, id, "approval", secret))
		all := pooltest.Receive(t, got)
		assert.Equal(t, []string{secret, secret, secret, secret, secret}, all[:5])
		result, err := work.Wait[[]string](k.Ctx(), enq, id)
		require.NoError(t, err)
		assert.Equal(t, all, result)
		assert.NotContains(t, k.everything(), secret, "a result is there")
		assert.NotContains(t, k.everything(), strings.Repeat("y", 20), "four stand in sealed text by chance")
		var unopened *work.CodecError
		_, err = work.Result[[]string](k.Ctx(), k.Enq, id)
		require.ErrorAs(t, err, &unopened)
		assert.Equal(t, "k1", unopened.Key)
		k.Drained(pool)
	})
}

// A message that waits for its job, which has not begun yet.
func TestAMessageIsSealedBeforeItsJobAsks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq := k.enqueuer(sealer(t, "k1"))
		id := k.enqueue(enq, "charge")
		require.NoError(t, work.Send(k.Ctx(), enq, id, "approval", secret))
		assert.NotContains(t, k.everything(), secret)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.options(sealer(t, "k2", "k1"))).Job("charge",
			func(ctx context.Context) error {
				said, err := work.Receive[string](ctx, "approval")
				assert.Equal(t, secret, said)
				return err
			}))
		pooltest.Await[event.JobDone](t, k.Spy, nil)
		k.Drained(pool)
	})
}

func TestMembersOfAFlowAreSealed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		codec := sealer(t, "k1")
		enq := k.enqueuer(codec)
		build := func() *flow.Flow {
			f := flow.New("trip")
			f.Job("charge", secret).After(f.Job("quote", secret))
			return f
		}
		_, err := flow.Enqueue(k.Ctx(), enq, build())
		require.NoError(t, err)
		receipt, err := flow.Enqueue(k.Ctx(), enq, build())
		require.NoError(t, err)
		assert.True(t, receipt.Duplicate, "whatever its nonces")
		assert.NotContains(t, k.everything(), secret)
		charged := make(chan string, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.options(codec)).
			Job("quote", func(card string) (string, error) { return "quote for " + card, nil }).
			Job("charge", func(ctx context.Context, job *work.Job, card string) error {
				assert.NotContains(t, k.everything(), secret, "the result of the first is there")
				quote, err := flow.Result[string](ctx, job, "quote")
				charged <- quote
				return err
			}))
		assert.Equal(t, "quote for "+secret, pooltest.Receive(t, charged))
		pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.Name == "charge" })
		k.Drained(pool)
	})
}

// The old keys still open, and all that is new is sealed with the new one.
func TestKeysRotateWhileJobsWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var want []string
		for _, codec := range []*seal.Sealer{sealer(t, "k1"), sealer(t, "k1", "k2"), sealer(t, "k2", "k1"),
			sealer(t, "k2")} {
			want = append(want, k.enqueue(k.enqueuer(codec), "charge", secret))
		}
		open := k.Enqueue("charge", secret).ID // by a program that does not seal yet
		_, err := k.enqueuer(sealer(t, "k2")).EnqueueMany(k.Ctx(), []work.Entry{{Name: "charge", Args: []any{secret}},
			{Name: "charge", Args: []any{secret}}})
		require.NoError(t, err)
		all := k.everything()
		assert.Equal(t, 2, strings.Count(all, "aes-gcm:k1"))
		assert.Equal(t, 4, strings.Count(all, "aes-gcm:k2"))
		done := make(chan string, 7)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.options(sealer(t, "k2", "k1"))).Job("charge",
			func(job *work.Job, card string) error {
				assert.Equal(t, secret, card)
				done <- job.ID
				return nil
			}))
		for _, id := range append(want, open) {
			assert.Equal(t, id, pooltest.Receive(t, done))
		}
		pooltest.Receive(t, done)
		pooltest.Receive(t, done)
		k.Drained(pool)
		k.Empty("charge")
	})
}

// The codecs of a kind beat those of its enqueuer, and nobody else's jobs have them.
func TestTheCodecsOfAKind(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		charge := work.DefineResult[card, string]("charge", work.JobOptions{Retention: time.Hour,
			Codecs: []work.Codec{sealer(t, "k1")}})
		receipt, err := charge.Enqueue(k.Ctx(), k.Enq, card{Number: secret})
		require.NoError(t, err)
		all := k.everything()
		assert.NotContains(t, all, secret)
		assert.Contains(t, all, "aes-gcm:k1")
		pool := work.NewWorkerPool(nil, 1, k.Options())
		work.HandleFuncResult(pool, charge, func(_ context.Context, c card) (string, error) { return c.Number, nil })
		pool.Job("other", func(string) error { return nil })
		k.Start(pool)
		result, err := charge.Wait(k.Ctx(), k.Enq, receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, secret, result)
		assert.NotContains(t, k.everything(), secret)
		second, err := pool.Enqueuer().EnqueueIn(k.Ctx(), "charge", time.Hour, card{Number: secret})
		require.NoError(t, err)
		assert.NotContains(t, k.everything(), secret, "by its name, through the enqueuer of the pool")
		assert.NotEmpty(t, second.ID)
		_, err = pool.Enqueuer().EnqueueIn(k.Ctx(), "other", time.Hour, "in the open")
		require.NoError(t, err)
		assert.Contains(t, k.everything(), "in the open")
		k.Drained(pool)
	})
}

func TestJobsTakenTogetherAreSealed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq := k.enqueuer(sealer(t, "k1"))
		for range 3 {
			k.enqueue(enq, "charge", card{Number: secret})
		}
		got := make(chan string, 3)
		k.Start(work.NewWorkerPool(nil, 1, k.options(sealer(t, "k1"))).JobWithOptions("charge",
			work.JobOptions{Together: work.Together{Most: 3}}, func(_ context.Context, batch work.Batch[card]) error {
				for _, c := range batch.Args() {
					got <- c.Number
				}
				return nil
			}))
		for range 3 {
			assert.Equal(t, secret, pooltest.Receive(t, got))
		}
	})
}
