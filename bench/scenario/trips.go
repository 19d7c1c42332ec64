package scenario

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/265d0351/work/bench/peer"
)

// pingEvery is how often the round trip is measured while something else is.
const pingEvery = 5 * time.Millisecond

// trips measures the round trip of a PING while something else is measured, on a connection of its own, that rests in
// between as those of workers do.
type trips struct {
	end   context.CancelFunc
	done  sync.WaitGroup
	taken []time.Duration
}

// pings begins to measure; nil where the library does not use Redis.
func (r *Run) pings(ctx context.Context) (*trips, error) {
	if r.Library.Store() != peer.Redis {
		return nil, nil
	}
	conn, err := redis.Dial("tcp", r.Stage.Redis.Addr)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	t := &trips{end: end}
	t.done.Go(func() {
		defer conn.Close() //lint:ignore errcheck nothing is outstanding
		tick := time.NewTicker(pingEvery)
		defer tick.Stop()
		for {
			begun := time.Now()
			if _, err := conn.Do("PING"); err != nil {
				return
			}
			t.taken = append(t.taken, time.Since(begun))
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return t, nil
}

// stop ends the measurement. It may be called twice, and on nil.
func (t *trips) stop() {
	if t != nil {
		t.end()
		t.done.Wait()
	}
}

// in are metrics of times also in round trips of this run, by their median.
func (t *trips) in(metrics []Metric) []Metric {
	t.stop()
	if t == nil || len(t.taken) == 0 {
		return metrics
	}
	trip := millis(quantile(slices.Sorted(slices.Values(t.taken)), 0.5))
	all := append(metrics, Metric{Name: "round trip", Unit: "ms", Value: trip, Lower: true})
	for _, m := range metrics {
		all = append(all, Metric{Name: m.Name + ", in round trips", Value: m.Value / trip, Lower: true})
	}
	return all
}
