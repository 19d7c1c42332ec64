package worqr_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/worqr"
)

func cause(p *worqr.Process) error { return context.Cause(p.Context()) }

// corpse leaves what a worker leaves that was killed: it enqueues the tasks, starts all that wait, and neither listens
// nor beats. Its timer stands for a day, unless it is removed.
func (s *site) corpse(worker, queue string, tasks ...string) string {
	s.t.Helper()
	ctx := context.Background()
	store := worqrdb.New(s.driver, s.prefix)
	w := worqrdb.Worker{ID: worker, Registration: "r-" + worker, Life: 24 * time.Hour}
	said, err := store.Register(ctx, w)
	require.NoError(s.t, err)
	require.Equal(s.t, worqrdb.Registered, said)
	_, lapsed, err := store.Serve(ctx, w, queue)
	require.NoError(s.t, err)
	require.False(s.t, lapsed)
	s.enqueue(queue, tasks...)
	for i := range 10_000 {
		taken, err := store.Start(ctx, w, queue, queue+"_"+worker+"-"+string(rune('a'+i%26))+time.Now().
			Format("150405.000000000"))
		require.NoError(s.t, err)
		if taken.State == worqrdb.Empty {
			break
		}
	}
	return worker
}

// lapse makes the timer of a worker run out.
func (s *site) lapse(worker string) {
	s.t.Helper()
	_, err := redisconn.Do(context.Background(), s.driver,
		redisconn.Call{Command: "DEL", Args: []any{s.key("workerTimers:%s", worker)}})
	require.NoError(s.t, err)
}
