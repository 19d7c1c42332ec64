package resize_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// maintain is what the maintenance of all partitions does in some rounds, by a program that has begun no move.
func (s *town) maintain(t *testing.T) {
	t.Helper()
	ctx, directory := context.Background(), s.another(s.driver)
	for range 10 {
		require.NoError(t, directory.Refresh(ctx))
		require.NoError(t, resize.Continue(ctx, directory))
		for i := range directory.Map().Len() {
			if directory.Map().State(i) != partition.Closed {
				_, err := resize.Settle(ctx, directory, i)
				require.NoError(t, err)
			}
		}
		if directory.Map().Wanted == 0 {
			break
		}
	}
	require.NoError(t, s.directory.Refresh(ctx))
}

// finished looks whether nothing of a resize is left to be done.
func (s *town) finished(t *testing.T, open int) {
	t.Helper()
	m := s.directory.Map()
	assert.Len(t, m.Open(), open)
	assert.Empty(t, m.In(partition.Draining))
	assert.Empty(t, m.Moving)
	assert.Zero(t, m.Wanted)
	assert.False(t, m.Tracking)
	for i := range m.Len() {
		assert.Zero(t, s.cmd(t, i, "EXISTS", "tracked"), "what is stored in partition %d is listed for nobody", i)
	}
}

// Who changes the number of partitions dies, before those that are added are open, or later. Maintenance finishes it.
func TestWhatAMoverHasLeftIsGoneOnWith(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, d := range redistest.SomeOn(server, []*dying{{named: "partition/write_map", at: 1},
			{named: "partition/write_map", at: 1, after: true},
			{named: "partition/write_map", at: 3, after: true}, {named: "partition/lead", at: 1},
			{named: "partition/freeze", at: 3, after: true}, {named: "partition/hand_over", at: 2},
			{named: "partition/forget_tracked", at: 1}}) {
			t.Run(fmt.Sprint(d.named, d.at, d.after), func(t *testing.T) {
				s := newTown(t, server)
				s.namespace = fmt.Sprint(s.namespace, d.named, d.at, d.after)
				s.directory = s.another(s.driver)
				s.settle(t, 6)
				require.Error(t, s.to(d, 3))
				for i := range 3 {
					s.cmd(t, i, "UNLINK", "mover") // its time is over
				}
				require.NoError(t, s.directory.Refresh(context.Background()))
				began := s.directory.Map().Version > 0
				s.maintain(t)
				if !began {
					assert.Zero(t, s.directory.Map().Version, "nobody wants it")
					return
				}
				s.finished(t, 3)
				s.check(t)
			})
		}
	})
}

// Who shrinks and does not wait leaves the rest to the maintenance: also to say in the end that it is done.
func TestAShrinkThatNobodyWaitsForEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		s.settle(t, 5)
		require.NoError(t, resize.To(ctx, s.directory, 3, nil))
		s.cmd(t, 2, "HSET", "jobs", "waits", `{"jid":"waits","name":"plain","args":[],"t":1}`)
		s.cmd(t, 2, "LPUSH", "queue:plain", "waits")
		require.NoError(t, resize.Begin(ctx, s.directory, 1, nil))
		require.Equal(t, partition.Draining, s.directory.Map().State(2))
		s.storeInEachBucket(t, 0)
		require.NotZero(t, s.cmd(t, 0, "LLEN", "tracked"), "it is listed for whoever moves it")
		s.maintain(t)
		require.Equal(t, partition.Draining, s.directory.Map().State(2), "a job waits there")
		s.cmd(t, 2, "LPOP", "queue:plain")
		s.cmd(t, 2, "HDEL", "jobs", "waits") // a worker has run it
		s.maintain(t)
		s.finished(t, 1)
		s.check(t)
	})
}

// Between any two of its round trips somebody else wants another number and has it done: that stays so.
func TestWhoContinuesUndoesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		if server.Embedded() != nil {
			t.Skip("it makes many moves, and the embedded one is slow")
		}
		for at, last := 1, 2; at < last; at += 1 + at*redistest.Volume(2, 8)/4 {
			t.Run(fmt.Sprint(at), func(t *testing.T) {
				s := newTown(t, server)
				s.namespace = fmt.Sprint(s.namespace, at)
				s.directory = s.another(s.driver)
				s.settle(t, 3)
				require.Error(t, s.to(&dying{named: "partition/lead", at: 1}, 3))
				trips := 0
				hook := &hooked{Driver: s.driver, before: func() {
					if trips++; trips == at {
						for i := range 3 {
							s.cmd(t, i, "UNLINK", "mover")
						}
						require.NoError(t, resize.To(context.Background(), s.another(s.driver), 2, nil))
					}
				}}
				directory := s.another(hook)
				require.NoError(t, directory.Refresh(context.Background()))
				_ = resize.Continue(context.Background(), directory) // it may find that it leads no more
				last = max(last, min(trips, 400))
				for i := range 3 {
					s.cmd(t, i, "UNLINK", "mover")
				}
				s.maintain(t)
				if trips >= at {
					s.finished(t, 2)
				}
				s.check(t)
			})
		}
	})
}

// hooked is a driver that does something before each of its round trips, one after the other.
type hooked struct {
	redisconn.Driver
	mu     sync.Mutex // several partitions are asked at once
	before func()
}

func (h *hooked) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	h.mu.Lock()
	h.before()
	h.mu.Unlock()
	return h.Driver.Pipeline(ctx, calls...)
}

// Where a mover is at work it is left alone.
func TestWhoContinuesLeavesAMoverAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		s.settle(t, 2)
		require.Error(t, s.to(&dying{named: "partition/lead", at: 1}, 2))
		leads, err := s.directory.Store(0).TakeLead(ctx, rdb.Lead{Token: "mover", Life: time.Minute})
		require.NoError(t, err)
		require.True(t, leads)
		require.NoError(t, s.directory.Refresh(ctx))
		require.NoError(t, resize.Continue(ctx, s.directory))
		assert.Equal(t, make([]int, partition.Buckets), s.directory.Map().Buckets, "no bucket was moved")
		s.cmd(t, 0, "UNLINK", "mover")
		s.maintain(t)
		s.finished(t, 2)
	})
}

// late has the jobs of a town stored when the map is about to say that a resize is done: they are listed as those are
// that somebody is to move.
type late struct {
	redisconn.Driver
	store func()
}

func (l *late) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if s := calls[0].Script; s != nil && s.Name == "partition/write_map" &&
		!strings.Contains(fmt.Sprintf("%s", calls[0].Args), `"tracking":true`) {
		l.store()
	}
	return l.Driver.Pipeline(ctx, calls...)
}

// Who has said that a change of the number of partitions is done dies before it has removed the lists of what was
// stored meanwhile: in the first partition, or in a later one. They would stay for ever, as large as they are.
func TestListsThatAMoverHasLeftAreForgotten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		ctx := context.Background()
		for _, d := range redistest.SomeOn(server, []*dying{{named: "partition/forget_tracked", at: 1},
			{named: "partition/forget_tracked", at: 2, after: true}, {named: "partition/forget_tracked", at: 3}}) {
			t.Run(fmt.Sprint(d.at, d.after), func(t *testing.T) {
				s := newTown(t, server)
				s.namespace = fmt.Sprint(s.namespace, d.at)
				s.directory = s.another(s.driver)
				s.settle(t, 2)
				done := false
				life, die := context.WithCancel(ctx)
				defer die()
				d.die, d.Driver = die, &late{Driver: s.driver, store: func() {
					if require.NoError(t, s.directory.Refresh(ctx)); s.directory.Map().Tracking && !done {
						done = true
						for i := range 3 {
							s.storeInEachBucket(t, i)
						}
					}
				}}
				require.Error(t, resize.To(life, s.another(d), 3, nil))
				require.NoError(t, s.directory.Refresh(ctx))
				require.False(t, s.directory.Map().Tracking, "it has ended")
				require.NotZero(t, s.cmd(t, 2, "LLEN", "tracked"), "and its list is there")
				s.maintain(t)
				s.finished(t, 3)
				s.check(t)
			})
		}
	})
}
