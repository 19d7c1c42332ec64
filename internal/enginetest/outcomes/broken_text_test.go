package outcomes_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

const broken = "file-\xe9"

type listing struct{ Files []string }

var brokenListing = listing{[]string{"a", broken}}

// What a program gets back is refused where JSON would change it, by each call, which names the field.
func TestTextThatIsNotUTF8IsRefusedInWhatAProgramGetsBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		told := make(chan map[string]error, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("try", work.JobOptions{Retries: -1}, func(
				ctx context.Context, job *work.Job,
			) (listing, error) {
				errs := map[string]error{"state": job.SaveState(ctx, brokenListing)}
				_, errs["step"] = work.Step(ctx, "list", func(context.Context) (listing, error) {
					return brokenListing, nil
				})
				errs["message"] = work.Send(ctx, k.Enq, job.ID, "list", brokenListing)
				_, errs["args"] = k.Enq.Enqueue(ctx, "try", brokenListing)
				told <- errs
				return brokenListing, nil
			}))
		receipt, err := k.EnqueueEntry(work.Entry{Name: "try",
			Options: []work.EnqueueOption{work.Retention(pooltest.Patience)}})
		require.NoError(t, err)
		errs := pooltest.Receive(t, told)
		errs["result"] = pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](receipt.ID)).Err
		for of, err := range errs {
			require.ErrorContains(t, err, ".Files[1]", of)
			require.ErrorContains(t, err, "is not UTF-8, which JSON cannot hold: encode it, for example as base64", of)
			var invalid *work.InvalidError
			assert.True(t, errors.As(err, &invalid), "%s: %v", of, err)
		}
	})
}

// What people read is kept, with U+FFFD for what JSON cannot hold.
func TestTextThatIsNotUTF8IsReplacedInWhatPeopleRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		raw := json.RawMessage(`"` + broken + `"`)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("try", work.JobOptions{Retries: 1, Backoff: pooltest.Hourly}, func(job *work.Job) error {
				job.Logger().Info(broken, "plain", broken, "raw", raw)
				require.NoError(t, job.Progress([]any{broken, raw}))
				return errors.New(broken)
			}))
		id := k.Enqueue("try").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		progress := pooltest.Await(t, k.Spy, func(e event.JobCheckedIn) bool { return e.Progress != nil }).Progress
		assert.Equal(t, "[\"file-\\ufffd\",\"file-\ufffd\"]", string(progress))
		lines := k.Strings("LRANGE", "log:"+id, 1, -1)
		require.Len(t, lines, 1)
		assert.Contains(t, lines[0], `"raw":"file-`+"\ufffd")
		for _, stored := range append(lines, k.Text("HGET", "trail", id)) {
			assert.True(t, utf8.ValidString(stored), "%q", stored)
		}
	})
}
