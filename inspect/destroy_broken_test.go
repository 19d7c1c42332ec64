package inspect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/destroy"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// errDied is what a program that has died would read.
var errDied = errors.New("it has died")

// mortal dies after some calls.
type mortal struct {
	redisconn.Driver
	left int
}

func (m *mortal) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if m.left == 0 {
		return nil, errDied
	}
	m.left--
	return m.Driver.Pipeline(ctx, calls...)
}

// destroyDue destroys the queue if its date is there, as a janitor that dies after so many calls.
func (k *kit) destroyDue(driver redisconn.Driver, calls int) error {
	k.T.Helper()
	dates, err := k.Raw().Doomed(k.Ctx(), time.Now())
	require.NoError(k.T, err)
	if due, doomed := dates["doomed"]; doomed {
		q := destroy.Queue{Store: rdb.NewStore(&mortal{driver, calls}, k.Namespace), Name: "doomed", Due: due}
		_, _, err = q.Run(k.Ctx())
	}
	return err
}

// Wherever one who does the maintenance dies, the next one finds what is left to do: no queue stays paused.
func TestADatedDestructionIsEndedByTheNextJanitor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		require.NoError(t, k.Stop(k.Start(k.limited())))
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = driver.Close() })
		died := 0
		for {
			k.Enqueue("doomed")
			require.NoError(t, k.Raw().Doom(k.Ctx(), "doomed", time.UnixMilli(1)))
			err := k.destroyDue(driver, died)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errDied)
			require.NoError(t, k.destroyDue(driver, 1000))
			require.Emptyf(t, k.Remains(":doomed"), "after %d calls", died)
			for _, key := range []string{"limits", "doomed", "queues", "jobs"} {
				require.Zerof(t, k.Number("EXISTS", key), "%s after %d calls", key, died)
			}
			died++
		}
		assert.Greater(t, died, 10)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("doomed", func() error { return nil }))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](k.Enqueue("doomed").ID))
	})
}
