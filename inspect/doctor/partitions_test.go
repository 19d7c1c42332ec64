package doctor

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// newDoctor examines a namespace with one partition.
func newDoctor(i *inspect.Inspector, opts Options) *doctor {
	e := &examination{of: inside.Inspector(i), opts: opts, diagnosis: &Diagnosis{More: map[Check]int{}},
		newest: &partition.Map{}, seed: maphash.MakeSeed()}
	return e.doctor(0)
}

func TestTheDoctorLooksIntoEachPartition(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := pooltest.NewKit(t, s)
		m := partitiontest.Divided(1, 3)
		home := m.At(partition.BucketOfID("given"))
		away := (home + 1) % 3
		for n := range 3 {
			part := k.Part(n)
			store := func(id, more string) {
				part.Do("HSET", "jobs", id, fmt.Sprintf(`{"jid":%q,"name":"a","args":[],"t":1%s}`, id, more))
				part.Do("LPUSH", "queue:a", id)
				part.Do("SADD", "ready", "a")
				part.Do("ZADD", "queues", 1, "a")
			}
			store(fmt.Sprint("plain", n), "")
			if n == home {
				store("at-home", "")
			}
			if n == away {
				store("given", `,"given":true`)
				store("straggler", `,"given":true`)
				part.Do("HSET", "stragglers", "straggler", "0\x00a\x00")
			}
			if n < 2 {
				store("twin", "")
			}
		}
		k.Part(2).Do("SADD", "ready", "nothing-there")
		driver := k.Raw().Driver()
		partitiontest.WriteMap(t, driver, k.Namespace, m)
		m.Version = 7
		parts := partition.NewDirectory(driver, k.Namespace)
		_, err := parts.Store(1).WriteMap(k.Ctx(), 7, m.Encode(), -1)
		require.NoError(t, err)

		outages := partitiontest.NewOutages(driver, k.Namespace)
		i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: outages}), work.Namespace(k.Namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = i.Close() })
		found := func() (at map[string]int, of map[Check]int, d *Diagnosis, err error) {
			d, err = Examine(k.LongCtx(), i, Options{Patience: soon})
			at, of = map[string]int{}, map[Check]int{}
			for _, f := range d.Findings {
				at[string(f.Check)+" "+f.ID] = f.Partition
				of[f.Check]++
			}
			return at, of, d, err
		}
		at, of, d, err := found()
		require.NoError(t, err)
		assert.Equal(t, 2, of[CheckMap], "the map is older in two: %+v", d.Findings)
		assert.Equal(t, 1, of[CheckHome], "%+v", d.Findings)
		assert.Equal(t, away, at["elsewhere given"])
		assert.Equal(t, 1, of[CheckTwins])
		assert.Equal(t, 1, at["two-partitions twin"], "it is told where it is met again")
		assert.Equal(t, 2, at["ready "], "with the partition")
		assert.Equal(t, 8, d.Jobs)
		size, err := Size(k.Ctx(), i, 0)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, size, 16)

		_, of, _, err = found()
		require.NoError(t, err)
		assert.Zero(t, of[CheckMap], "it was put right")

		outages.Set(2, partitiontest.Down)
		at, _, d, err = found()
		var partial *inspect.PartialError
		require.ErrorAs(t, err, &partial)
		assert.Equal(t, 2, partial.Missing[0].Partition)
		assert.Contains(t, at, "two-partitions twin")
		assert.NotNil(t, d)
	})
}
