package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/internal/partition/partitiontest"
)

// TestItFollowsUntilNothingComes has old programs enqueue for a while. What cannot come over does not keep the bridge.
func TestItFollowsUntilNothingComes(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		s.add(k, "never", "\x01") // a name that is none here
		ids := k.fill(s, 7)
		p := k.pool("mail")
		o := short()
		o.Follow, o.Idle = true, 700*time.Millisecond
		looks := 0
		o.Progress = func(done, _ int) { looks = max(looks, done-6) } // 1 at first when all have come
		o.Between = func() {
			if looks > 0 && looks < 5 {
				looks++
			} else if looks == 5 { // it has found nothing, and more comes
				looks++
				s.add(k, "late", "mail")
				ids = append(ids, "late")
			}
		}
		begun := time.Now()
		r, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), o).Run(k.Context())
		require.NoError(k, err)
		assert.GreaterOrEqual(k, time.Since(begun), o.Idle)
		assert.Equal(k, 8, r.Total)
		assert.Equal(k, 1, r.Refused)
		assert.False(k, r.Complete)
		k.once(p, ids)
	})
}

// TestItTellsHowFarItIs: never less than before, and all in the end.
func TestItTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		k.fill(s, 12)
		o := short()
		var done []int
		o.Progress = func(n, total int) {
			assert.Equal(k, 12, total)
			done = append(done, n)
		}
		_, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), o).Run(k.Context())
		require.NoError(k, err)
		assert.Equal(k, []int{5, 10, 12}, done)
	})
}

// TestWhatComesLaterIsCountedInTheTotal has more come after all seemed to be over.
func TestWhatComesLaterIsCountedInTheTotal(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		k.fill(s, 5)
		o := short()
		o.Follow, o.Idle = true, 300*time.Millisecond
		came, more := 0, false
		totals := map[int]int{}
		o.Progress = func(done, total int) { came, totals[done] = done, total }
		o.Between = func() {
			if came == 5 && !more {
				more = true
				for n := range 10 {
					s.add(k, fmt.Sprint("late", n), "mail")
				}
			}
		}
		_, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), o).Run(k.Context())
		require.NoError(k, err)
		assert.Equal(k, map[int]int{5: 5, 10: 15, 15: 15}, totals)
	})
}

// TestItEndsWhereItIsToldTo between two batches, and says how far it came.
func TestItEndsWhereItIsToldTo(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		ids := k.fill(s, 12)
		p := k.pool("mail")
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(k.Context())
		o := short()
		o.Progress = func(int, int) { cancel(cause) }
		r, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), o).Run(ctx)
		require.ErrorIs(k, err, cause)
		assert.Equal(k, 5, r.Total)
		assert.EqualValues(k, 7, s.left(k, "mail"))
		_, err = migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), short()).Run(k.Context())
		require.NoError(k, err)
		k.once(p, ids)
	})
}

// TestJobsComeOverToPartitions, also where these become others while a batch is under way.
func TestJobsComeOverToPartitions(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		partitiontest.WriteMap(k.T, k.old, k.namespace, partitiontest.Divided(1, 2))
		ids := k.fill(s, 40)
		o := short()
		taken := 0
		o.At = func(step string) {
			if step != "taken" {
				return
			}
			if taken++; taken == 2 { // this batch is for a partition that is not the home of its jobs any more
				m := partitiontest.Divided(2, 2)
				for bucket := range m.Buckets {
					m.Buckets[bucket] = 1 - m.Buckets[bucket]
				}
				partitiontest.WriteMap(k.T, k.old, k.namespace, m)
			}
		}
		r, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), o).Run(k.Context())
		require.NoError(k, err)
		assert.True(k, r.Complete)
		assert.Equal(k, 40, r.Total)
		assert.Zero(k, r.Twins)
		in := map[string]int64{"": 0, "/1": 0}
		for part := range in {
			in[part] = k.number("HLEN", "{"+k.namespace+part+"}:jobs")
			assert.Positive(k, in[part], "partition %q", part)
		}
		assert.EqualValues(k, 40, in[""]+in["/1"])
		k.once(k.pool("mail"), ids)
	})
}
