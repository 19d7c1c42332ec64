package codecs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/seal"
)

// Jobs of the same args are found to be the same, whichever key has sealed them, and nobody can guess the args from
// what is stored: the digest is not the one of the open args.
func TestSealedJobsAreUniqueByTheirArgs(t *testing.T) {
	t.Parallel()
	for name, only := range map[string]work.UniqueOptions{
		"all args": {}, "one arg": {Args: []int{0}},
		"made of it": {By: work.KeyOf(func(c card) string { return c.Number })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				entry := work.Entry{Name: "charge", Args: []any{card{Number: secret}},
					Options: []work.EnqueueOption{work.Unique(only)}}
				put := func(enq *work.Enqueuer) work.Receipt {
					receipts, err := enq.EnqueueMany(k.Ctx(), []work.Entry{entry})
					require.NoError(t, err)
					return receipts[0]
				}
				first := put(k.enqueuer(sealer(t, "k1")))
				second := put(k.enqueuer(sealer(t, "k2")))
				assert.True(t, second.Duplicate)
				assert.Equal(t, first.ID, second.ID)
				assert.False(t, put(k.Enq).Duplicate, "the plain digest is another one")
			})
		})
	}
}

func TestSealedJobsWithoutAKeyForLocksAreNotUniqueByTheirArgs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		of := keys("k1", "k1")
		of.Locks = nil
		codec, err := seal.New(of)
		require.NoError(t, err)
		enq := k.enqueuer(codec)
		_, err = enq.With(work.Unique(work.UniqueOptions{})).Enqueue(k.Ctx(), "charge", secret)
		var refused *work.InvalidError
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, err,
			"unique by args that are sealed: give its codec a key for locks (seal.Keys.Locks)")
		assert.Empty(t, k.Keys())
		_, err = enq.With(work.Unique(work.UniqueOptions{Key: "customer 7"})).Enqueue(k.Ctx(), "charge", secret)
		require.NoError(t, err, "a key of the program's own is not sealed")
	})
}

func TestSealedArgsAreReplaced(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		charge := work.Define[card]("charge", work.JobOptions{
			Unique: &work.UniqueOptions{OnConflict: work.ReplaceArgs}})
		_, err := charge.Enqueue(k.Ctx(), k.enqueuer(sealer(t, "k1")), card{secret, "old"})
		require.NoError(t, err)
		receipt, err := charge.Enqueue(k.Ctx(), k.enqueuer(sealer(t, "k2")), card{secret, "new"})
		require.NoError(t, err)
		assert.True(t, receipt.Duplicate)
		assert.NotContains(t, k.everything(), secret)
		got := make(chan card, 1)
		pool := work.NewWorkerPool(nil, 1, k.options(sealer(t, "k2")))
		work.HandleFunc(pool, charge, func(_ context.Context, c card) error { got <- c; return nil })
		k.Start(pool)
		assert.Equal(t, card{secret, "new"}, pooltest.Receive(t, got))
		pooltest.Await[event.JobDone](t, k.Spy, nil)
	})
}
