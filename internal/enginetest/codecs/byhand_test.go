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
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// inspector is one with codecs, in the namespace of the kit.
func (k *kit) inspector(codecs ...work.Codec) *inspect.Inspector {
	k.T.Helper()
	i, err := inspect.New(k.Server.DSN(), work.Namespace(k.Namespace), work.Codecs(codecs...))
	require.NoError(k.T, err)
	k.T.Cleanup(func() { _ = i.Close() })
	return i
}

func opener(t *testing.T, codecs ...work.Codec) *inspect.Opener {
	t.Helper()
	o, err := inspect.NewOpener(codecs...)
	require.NoError(t, err)
	return o
}

// An Inspector shows what is stored, whoever has made it; an Opener opens it, where it knows the key.
func TestWhatAnInspectorSeesOfSealedJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		codec := sealer(t, "k1")
		i := k.inspector(codec)
		id := k.enqueue(k.enqueuer(codec), "charge", secret, strings.Repeat("x", 9000))
		k.Start(work.NewWorkerPool(nil, 1, k.options(codec)).JobWithOptions("charge",
			work.JobOptions{Retention: time.Hour}, func(ctx context.Context, _, _ string) (string, error) {
				_, err := work.Step(ctx, "look", func(context.Context) (string, error) { return secret, nil })
				require.NoError(t, err)
				return work.Receive[string](ctx, "go")
			}))
		pooltest.Await[event.JobSnoozed](t, k.Spy, nil)
		info, err := i.Job(k.Ctx(), id)
		require.NoError(t, err)
		text, sealed := inspect.Encoded(info.Args)
		assert.True(t, sealed)
		assert.Equal(t, "sealed with key k1, 56 bytes", text)
		args, err := i.FullArgs(k.Ctx(), id)
		require.NoError(t, err)
		assert.Equal(t, string(info.Args), string(args))
		args, err = opener(t, codec).FullArgs(k.Ctx(), i, id)
		require.NoError(t, err)
		assert.Equal(t, `["`+secret+`","`+strings.Repeat("x", 9000)+`"]`, string(args))
		steps, err := i.Steps(k.Ctx(), id)
		require.NoError(t, err)
		require.NoError(t, opener(t, codec).Steps(id, &steps))
		assert.Equal(t, `"`+secret+`"`, string(steps.Done[0].Value))
		require.NoError(t, i.Send(k.Ctx(), id, "go", secret))
		require.NoError(t, k.Enq.WaitEnd(k.Ctx(), id))
		info, err = i.Job(k.Ctx(), id)
		require.NoError(t, err)
		unopened := *info
		var failed *work.CodecError
		require.ErrorAs(t, opener(t, sealer(t, "k2")).Job(&unopened), &failed)
		assert.Equal(t, "k1", failed.Key)
		assert.Equal(t, info, &unopened)
		require.NoError(t, opener(t, codec).Job(info))
		assert.Equal(t, `"`+secret+`"`, string(info.Result))
		assert.Equal(t, `["`+secret+`",null]`, string(info.Args))
	})
}

func TestSealedArgsAreChangedByThoseWhoCanSeal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.enqueue(k.enqueuer(sealer(t, "k1")), "charge", "old")
		open := k.Enqueue("charge", "old").ID
		err := k.Inspector().ChangeArgs(k.Ctx(), id, secret)
		var refused *work.InvalidError
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, err,
			"its args is sealed with key k1, 35 bytes: give the Inspector the codec that seals")
		assert.NotContains(t, k.everything(), secret)
		i := k.inspector(sealer(t, "k2"))
		for _, id := range []string{id, open} {
			require.NoError(t, i.ChangeArgs(k.Ctx(), id, secret))
		}
		assert.NotContains(t, k.everything(), secret)
		got := make(chan string, 2)
		k.Start(work.NewWorkerPool(nil, 1, k.options(sealer(t, "k2"))).
			JobWithOptions("charge", work.JobOptions{Retention: time.Hour},
				func(card string) error { got <- card; return nil }))
		assert.Equal(t, secret, pooltest.Receive(t, got))
		assert.Equal(t, secret, pooltest.Receive(t, got))
		require.NoError(t, k.Enq.WaitEnd(k.Ctx(), id))
		_, err = i.EnqueueAgain(k.Ctx(), id)
		require.NoError(t, err)
		assert.Equal(t, secret, pooltest.Receive(t, got))
	})
}

// A schedule is compared by its text, so its args cannot be sealed, and are not stored in the open instead.
func TestASealedJobHasNoArgsFromItsSchedule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const text = "such as its codec seals: give it none"
		pool := func() *work.WorkerPool {
			return work.NewWorkerPool(nil, 1, k.options(sealer(t, "k1"))).Job("charge",
				func(*work.Job) error { return nil })
		}
		require.ErrorContains(t, pool().Periodic("@daily", "charge", secret).Start(k.Ctx()), text)
		require.ErrorContains(t, k.inspector(sealer(t, "k1")).AddSchedule(k.Ctx(), "@daily", "charge",
			work.PeriodicOptions{}, secret), text)
		assert.NotContains(t, k.everything(), secret)
		k.Start(pool().Periodic("@daily", "charge"))
		assert.Len(t, k.Schedules(), 1)
	})
}
