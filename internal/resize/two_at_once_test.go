package resize_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// Who binds a name waits for the move of its bucket: else both bring its jobs to and fro.
func TestANameIsBoundWhileItsBucketMoves(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		s.settle(t, 10)
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		m := s.directory.Map().Clone()
		from := m.Home(partition.Job{Name: "limited"})
		m.Moving = map[int]int{from.Bucket: 1 - from.Partition}
		m.Version++
		for i := range 2 {
			_, err := s.directory.Store(i).WriteMap(ctx, m.Version, m.Encode(), -1)
			require.NoError(t, err)
		}
		// as if the mover had brought one of them already
		first := s.cmd(t, from.Partition, "RPOP", "queue:limited").([]byte)
		s.cmd(t, 1-from.Partition, "HSET", "jobs", string(first), s.jobs[string(first)])
		s.cmd(t, 1-from.Partition, "LPUSH", "queue:limited", string(first))
		s.cmd(t, from.Partition, "HDEL", "jobs", string(first))
		trying, over := context.WithCancel(ctx)
		defer over()
		cut := &cutting{Driver: s.driver, left: 6, over: over} // in the second look or a later one
		require.ErrorContains(t, resize.Bind(trying, s.another(cut), "limited"), "on its way")
		assert.Contains(t, s.hash(t, 1-from.Partition, "jobs"), string(first), "it was not brought back")
	})
}

// cutting ends somebody's time with one of the calls.
type cutting struct {
	redisconn.Driver
	mu   sync.Mutex
	left int
	over func()
}

func (c *cutting) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	c.mu.Lock()
	c.left--
	if c.left == 0 {
		c.over()
	}
	c.mu.Unlock()
	return c.Driver.Pipeline(ctx, calls...)
}

// An operator who ends leaves alone what another one has begun, and says that it goes on.
func TestAnotherNumberIsWantedAtTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		var side sync.WaitGroup
		walked, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		whole := 0
		err := resize.To(ctx, s.another(s.driver), 2, func(p resize.Progress) {
			if p.Buckets == 0 || p.Moved < p.Buckets {
				return
			}
			if whole++; whole != 2 {
				return
			}
			side.Go(func() {
				assert.NoError(t, resize.To(ctx, s.directory, 3, func(p resize.Progress) {
					if p.Moved == 1 {
						once.Do(func() {
							s.storeInEachBucket(t, 0)
							close(walked)
							<-goOn
						})
					}
				}))
			})
			<-walked
		})
		var superseded *resize.SupersededError
		if assert.ErrorAs(t, err, &superseded) {
			assert.Equal(t, 3, superseded.Wanted)
		}
		close(goOn)
		side.Wait()
		m := s.directory.Map()
		for i := range m.Len() {
			for digest := range s.hash(t, i, "unique") {
				assert.Equal(t, m.At(partition.BucketOfLock(digest)), i)
			}
		}
	})
}

// storeInEachBucket stores a job with a lock in each bucket of a partition that is not on its way.
func (s *town) storeInEachBucket(t *testing.T, at int) {
	m, done := s.directory.Map(), map[int]bool{}
	for i := range 3000 {
		digest := fmt.Sprintf("digest%d", i)
		bucket := partition.BucketOfLock(digest)
		if _, moving := m.Moving[bucket]; m.At(bucket) == at && !moving && !done[bucket] {
			done[bucket] = true
			s.store(t, rdb.NewJob{Queue: "uni", ID: "u" + digest, Lock: rdb.Lock{Digest: digest, Kind: rdb.UntilEnded}})
		}
	}
}
