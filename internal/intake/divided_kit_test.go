package intake_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/rdb"

	"time"
)

// atlas is a Directory: what this program knows, and what Redis does.
type atlas struct {
	mu      sync.Mutex
	known   *partition.Map
	truth   *partition.Map
	changed chan struct{}
	asked   int
	away    bool // nothing is told
	hangs   int  // who asks this partition waits until its ctx ends; 0 is none
}

func (a *atlas) Map() *partition.Map {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known
}

func (a *atlas) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

func (a *atlas) RefreshFrom(ctx context.Context, i int) error {
	if i > 0 && i == a.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked++; a.away {
		return errNoRedis
	}
	if a.truth.Version > a.known.Version {
		a.known = a.truth
		close(a.changed)
		a.changed = make(chan struct{})
	}
	return nil
}

func (a *atlas) Refresh(ctx context.Context) error { return a.RefreshFrom(ctx, 0) }

// change changes the map in Redis.
func (a *atlas) change(change func(m *partition.Map)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.truth.Clone()
	m.Version++
	change(m)
	a.truth = m
}

func (a *atlas) inForce() *partition.Map {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.truth
}

// divided is an intake over several partitions that a test plays.
type divided struct {
	*intake.Intake
	*atlas
	stores []*played
}

// playedPart plays what a partition answers.
type playedPart func(ctx context.Context, partition int, call sentCall) (rdb.Enqueued, error)

// newDivided makes one over so many partitions. Who comes with an older map than that in force is refused.
func newDivided(t *testing.T, n int, play playedPart) *divided {
	t.Helper()
	m := partitiontest.Divided(1, n)
	d := &divided{atlas: &atlas{known: m, truth: m, changed: make(chan struct{})}}
	for i := range partition.Max {
		d.stores = append(d.stores, &played{back: map[string]int64{}, play: func(ctx context.Context, call sentCall) (
			rdb.Enqueued, error) {
			if at := d.inForce().Version; call.version < at {
				return rdb.Enqueued{}, &rdb.RouteError{Version: at}
			}
			return play(ctx, i, call)
		}})
	}
	config := configured(d.stores[0])
	config.Directory = d.atlas
	config.Others = func(i int) intake.Site { return intake.Site{Store: d.stores[i]} }
	d.Intake = intake.New(config)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// generated is a job whose id is ours.
func generated() *intake.Job { return job(ids.Job(time.Now())) }

// ofLock is a job that is bound to that bucket by its lock.
func ofLock(bucket int) *intake.Job {
	j := generated()
	for n := 0; ; n++ {
		if digest := ids.Random(8); partition.BucketOfLock(digest) == bucket {
			j.Lock = rdb.Lock{Digest: digest, Kind: rdb.UntilEnded}
			return j
		}
	}
}

// landed is in which partition each id is, by the calls that were answered.
type landed struct {
	mu sync.Mutex
	at map[string][]int
}

func (l *landed) note(partition int, call sentCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = map[string][]int{}
	}
	for _, id := range call.ids {
		l.at[id] = append(l.at[id], partition)
	}
}

// per is how many jobs each partition has.
func (l *landed) per(n int) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs := make([]int, n)
	for _, at := range l.at {
		for _, i := range at {
			jobs[i]++
		}
	}
	return jobs
}

// learn makes the program know what is in force.
func (a *atlas) learn(t *testing.T) {
	t.Helper()
	assert.NoError(t, a.RefreshFrom(context.Background(), 0))
}
