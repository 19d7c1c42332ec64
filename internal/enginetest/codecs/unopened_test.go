package codecs_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/seal"
)

// Whoever lacks the codec or the key puts the job off, and no attempt is used: another worker may have it.
func TestAJobThatCannotBeOpenedHereWaits(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		codecs []work.Codec
		text   string
	}{
		"no codec":    {nil, `needs key "k1" of codec "aes-gcm", which this program does not have`},
		"another key": {[]work.Codec{sealer(t, "k2")}, `by key "k1" of codec "aes-gcm": this program has no such key`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				attempts := make(chan int, 10)
				handler := func(job *work.Job, got string) error {
					assert.Equal(t, secret, got)
					attempts <- job.Attempt
					return nil
				}
				id := k.enqueue(k.enqueuer(sealer(t, "k1")), "charge", secret)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.options(row.codecs...)).
					JobWithOptions("charge", work.JobOptions{Retries: -1}, handler))
				put := pooltest.Await[event.JobSnoozed](t, k.Spy, nil)
				var failed *work.CodecError
				require.ErrorAs(t, put.Err, &failed)
				assert.Equal(t, "k1", failed.Key)
				assert.ErrorContains(t, failed, "the args of job \""+id+"\"")
				assert.ErrorContains(t, failed, row.text)
				require.NoError(t, k.Stop(pool))
				k.Start(work.NewWorkerPool(nil, 1, k.options(sealer(t, "k2", "k1"))).
					JobWithOptions("charge", work.JobOptions{Retries: -1}, handler))
				assert.Equal(t, 1, pooltest.Receive(t, attempts))
				assert.Equal(t, id, pooltest.Await[event.JobDone](t, k.Spy, nil).ID)
			})
		})
	}
}

// Another key of the same id, or bytes that were changed: the attempt fails as any does, and the morgue has the job
// with its args as they were.
func TestAJobThatDoesNotOpenFailsAndIsNotLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		wrong, err := seal.New(seal.Keys{Known: map[string][]byte{"k1": bytes.Repeat([]byte("?"), 32)}})
		require.NoError(t, err)
		id := k.enqueue(k.enqueuer(sealer(t, "k1")), "charge", secret)
		before := k.Text("HGET", "jobs", id)
		got := make(chan string, 1)
		handler := func(card string) error { got <- card; return nil }
		pool := k.Start(work.NewWorkerPool(nil, 1, k.options(wrong)).
			JobWithOptions("charge", work.JobOptions{Retries: 1, Backoff: atOnce}, handler))
		buried := pooltest.Await[event.JobBuried](t, k.Spy, nil)
		assert.Equal(t, 2, buried.Attempt)
		assert.ErrorContains(t, buried.Err, `by key "k1" of codec "aes-gcm": it does not open`)
		require.NoError(t, k.Stop(pool))
		assert.Equal(t, before, k.Text("HGET", "jobs", id))
		require.NoError(t, k.ByHand().Retry(k.Ctx(), id))
		k.Start(work.NewWorkerPool(nil, 1, k.options(sealer(t, "k1"))).Job("charge", handler))
		assert.Equal(t, secret, pooltest.Receive(t, got))
	})
}

// A program that was released before codecs must not take an envelope for an argument: it wants an array.
func TestAnEnvelopeIsNoArrayOfArgs(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	id := k.enqueue(k.enqueuer(sealer(t, "k1")), "charge", secret)
	var stored struct{ Args map[string]any }
	require.NoError(t, json.Unmarshal([]byte(k.Text("HGET", "jobs", id)), &stored))
	assert.Equal(t, []any{"aes-gcm:k1"}, stored.Args["$codec"])
}

// What was given wrongly stores nothing in the open.
func TestCodecsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	twice := []work.Codec{sealer(t, "k1"), sealer(t, "k1")}
	_, err := work.NewEnqueuer(k.Server.DSN(), work.Codecs(twice...))
	require.ErrorContains(t, err, `option Codecs is two codecs called "aes-gcm"`)
	pool := work.NewWorkerPool(nil, 1, k.options(twice...)).Job("charge", func(string) error { return nil })
	_, err = pool.Enqueuer().Enqueue(k.Ctx(), "charge", secret)
	require.ErrorContains(t, err, `WorkerOptions.Codecs is two codecs called "aes-gcm"`)
	require.ErrorContains(t, pool.Start(k.Ctx()), `WorkerOptions.Codecs is two codecs called "aes-gcm"`)
	charge := work.Define[card]("charge", work.JobOptions{Codecs: []work.Codec{nil}})
	_, err = charge.Enqueue(k.Ctx(), k.Enq, card{})
	require.ErrorContains(t, err, `JobOptions.Codecs is nil at index 0`)
	assert.Empty(t, k.Keys())
}
