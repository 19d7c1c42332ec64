package liveness

import (
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// The times of a heartbeat.
const (
	Interval = time.Second
	Life     = rdb.BeatLife // how long a worker counts as alive after its last heartbeat, by default
	MinLife  = rdb.MinBeatLife
	MaxLife  = rdb.MaxBeatLife

	timeout = time.Second
	retry   = 300 * time.Millisecond
)

// Beats are the times of a worker's heartbeat. A short life needs more of them, and less time for each; with a long one
// they still come each second, because of what else they bring.
type Beats struct {
	Life     time.Duration // how long the worker counts as alive after one
	Interval time.Duration // from one to the next
	Timeout  time.Duration // for the answer
	Retry    time.Duration // from one that failed to the next
}

// BeatsOf are the times for such a life.
func BeatsOf(life time.Duration) Beats {
	return Beats{
		Life: life, Interval: min(Interval, life/3), Timeout: min(timeout, life/3), Retry: min(retry, life/10),
	}
}

// Rhythm has the workers of a pool beat together, so that when their process dies they are found dead together, and
// what they held goes back in its order. It may be used concurrently, and not be copied.
type Rhythm struct{ first atomic.Int64 } // ns

// Rest is how long it is until the next heartbeat.
func (r *Rhythm) Rest(now time.Time, interval time.Duration) time.Duration {
	r.first.CompareAndSwap(0, now.UnixNano())
	since := now.Sub(time.Unix(0, r.first.Load()))
	wait := interval - since%interval
	if wait < interval/10 { // there was a beat just now
		wait += interval
	}
	return wait
}
