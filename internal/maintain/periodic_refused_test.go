package maintain_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// counted is a driver that refuses every call with words that nobody knows, and counts them.
type counted struct {
	redisconn.Driver
	pipelines int
}

func (d *counted) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.pipelines++
	replies := make([]redisconn.Reply, len(calls))
	for i := range replies {
		replies[i].Err = redisconn.ParseServerError("ERR the moon is in the way")
	}
	return replies, nil
}

// A Redis that refuses to say which schedules there are is asked about twice a second: a provider may count requests.
func TestSchedulesThatAreRefusedAreNotAskedForInALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &counted{}
		e := maintain.NewPeriodicEnqueuer(maintain.Env{Store: rdb.NewStore(d, "shop"), Emit: func(event.Event) {}},
			nil, nil)
		e.Told(rdb.Pulse{Leased: true, Time: time.Now()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e.Run(ctx)
		assert.LessOrEqual(t, d.pipelines, 130)
		assert.Greater(t, d.pipelines, 20)
	})
}
