package resize_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// foreigners are all notes of jobs that are held in one partition and live in another.
func (s *town) foreigners(t *testing.T) (notes []string) {
	t.Helper()
	for i := range s.directory.Map().Len() {
		for _, key := range []string{"foreign", "stragglers"} {
			for id, note := range s.hash(t, i, key) {
				notes = append(notes, fmt.Sprintf("%d %s %s: %q", i, key, id, note))
			}
		}
	}
	slices.Sort(notes)
	return notes
}

// A job that a worker holds lives in a partition, then in another one, then in a third: each but the last forgets it,
// and the last one hears of its end.
func TestWhatIsHeldMovesOnAndEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		const digest, limited = "held-b", "limited"
		s.settle(t, 1)
		w, claims := s.work(t, 0, "busy", 1)
		require.Len(t, claims, 1)
		wl, running := s.work(t, 0, limited, 1)
		require.Len(t, running, 1)
		homes := map[int]bool{}
		for _, n := range []int{2, 5, 3} {
			_ = resize.Begin(ctx, s.directory, n, nil)
			m := s.directory.Map()
			homes[m.At(partition.BucketOfLock(digest))] = true
			want := 0
			for _, home := range []int{m.At(partition.BucketOfLock(digest)), m.At(partition.BucketOfName(limited))} {
				if home != 0 {
					want += 2
				}
			}
			require.Len(t, s.foreigners(t), want, "%d partitions: %v", n, s.foreigners(t))
			counts := s.texts(t, s.cmd(t, m.At(partition.BucketOfName(limited)), "SMEMBERS", "running:"+limited))
			require.Len(t, counts, 1, "it counts where it lives, before anybody has counted again")
		}
		require.Greater(t, len(homes), 1, "it moved on")
		end := func(w *rdb.Worker, claim rdb.Claim, ending rdb.Ending) {
			settled, err := w.Settle(ctx, []redisconn.Call{w.End(claim, ending)})
			require.NoError(t, err)
			require.NoError(t, settled[0].Err)
		}
		end(w, claims[0],
			rdb.Ending{ID: "held", Queue: "busy", State: "done", Belongings: rdb.Belongings{Lock: digest}})
		_, id, _ := strings.Cut(running[0].Element, ":")
		end(wl, running[0], rdb.Ending{ID: id, Queue: limited, State: "done"})
		for i := range s.directory.Map().Len() {
			if s.directory.Map().State(i) != partition.Closed {
				_, err := resize.Settle(ctx, s.directory, i)
				require.NoError(t, err)
			}
		}
		assert.Empty(t, s.foreigners(t))
		for i := range s.directory.Map().Len() {
			assert.NotContains(t, s.hash(t, i, "unique"), digest)
			assert.Empty(t, s.texts(t, s.cmd(t, i, "SMEMBERS", "running:"+limited)))
		}
	})
}

// A job lived elsewhere, by its id, while a worker held it. Its name becomes limited, and lives where the worker is.
func TestANameIsBoundWhereItsJobIsHeld(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		plan := resize.Plan(resize.Wanted(s.directory.Map(), 2))
		id, name := "", ""
		for i := 0; id == "" || name == ""; i++ {
			if text := fmt.Sprint("x", i); plan[partition.BucketOfID(text)] == 1 {
				id = text
			}
			if text := fmt.Sprint("x", i); plan[partition.BucketOfName(text)] == 0 {
				name = text
			}
		}
		s.store(t, rdb.NewJob{Queue: name, ID: id, Chosen: true})
		w, claims := s.work(t, 0, name, 1)
		require.Len(t, claims, 1)
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		require.Len(t, s.foreigners(t), 2)
		require.NoError(t, resize.Bind(ctx, s.directory, name))
		assert.Empty(t, s.foreigners(t))
		settled, err := w.Settle(ctx, []redisconn.Call{
			w.Release(rdb.Released{Queue: name, Elements: []string{claims[0].Element}, Ended: true})})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		_, err = resize.Settle(ctx, s.directory, 0)
		require.NoError(t, err)
		assert.Contains(t, s.hash(t, 0, "jobs"), id)
		answer := s.store(t, rdb.NewJob{Queue: name, ID: id, Chosen: true})
		assert.NotEmpty(t, answer.Problems, "it is there already")
	})
}
