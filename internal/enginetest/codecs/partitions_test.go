package codecs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// everywhere is all that is in the partitions of the namespace, as text, and the records of each.
func (k *kit) everywhere(partitions int) (all string, records []string) {
	k.T.Helper()
	for i := range partitions {
		of := *k.Kit.Kit
		of.Namespace = partition.Namespace(k.Namespace, i)
		at := *k.Kit
		at.Kit = &of
		part := &kit{&at}
		all += part.everything()
		records = append(records, strings.Join(part.Strings("HVALS", "jobs"), "\n"))
	}
	return all, records
}

// A namespace is divided while sealed jobs wait, and keys rotate meanwhile: jobs and their large args move as they are,
// those that are the same are found to be, and each runs once with its args.
func TestSealedJobsMoveToPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const each, partitions = 10, 3
		want := map[string]int{}
		put := func(enq *work.Enqueuer, from string) {
			for n := range each {
				id := fmt.Sprint(from, n)
				_, err := enq.With(work.ID(id)).Enqueue(k.Ctx(), "charge", secret, strings.Repeat("x", 9000))
				require.NoError(t, err)
				want[id]++
			}
		}
		unique := func(enq *work.Enqueuer) work.Receipt {
			receipt, err := enq.With(work.Unique(work.UniqueOptions{})).Enqueue(k.Ctx(), "charge", secret, "unique")
			require.NoError(t, err)
			return receipt
		}
		old, rotated := k.enqueuer(sealer(t, "k1")), k.enqueuer(sealer(t, "k2", "k1"))
		put(old, "before")
		first := unique(old)
		want[first.ID]++
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, driver.Close()) })
		require.NoError(t, resize.To(k.Ctx(), partition.NewDirectory(driver, k.Namespace), partitions, nil))
		put(rotated, "after")
		again := unique(rotated)
		assert.True(t, again.Duplicate)
		assert.Equal(t, first.ID, again.ID)

		all, records := k.everywhere(partitions)
		assert.NotContains(t, records, "", "each has some")
		assert.NotContains(t, all, secret)
		assert.NotContains(t, all, strings.Repeat("x", 20), "four of them stand in sealed text now and then")
		assert.Equal(t, each+1, strings.Count(fmt.Sprint(records), "aes-gcm:k1"), "moved as they were")
		assert.Equal(t, each, strings.Count(fmt.Sprint(records), "aes-gcm:k2"))

		ran := make(chan string, 3*each)
		pool := k.Start(work.NewWorkerPool(nil, 2, k.options(sealer(t, "k2", "k1"))).JobWithOptions("charge",
			work.JobOptions{Retention: time.Hour},
			func(_ context.Context, job *work.Job, got, more string) (string, error) {
				assert.Equal(t, secret, got)
				assert.Contains(t, []string{strings.Repeat("x", 9000), "unique"}, more)
				ran <- job.ID
				return secret, nil
			}))
		got := map[string]int{}
		for range want {
			got[pooltest.Receive(t, ran)]++
		}
		assert.Equal(t, want, got)
		for _, id := range []string{"before0", "after0", first.ID} {
			result, err := work.Wait[string](k.Ctx(), rotated, id)
			require.NoError(t, err)
			assert.Equal(t, secret, result)
		}
		require.NoError(t, k.Stop(pool))
		all, _ = k.everywhere(partitions)
		assert.NotContains(t, all, secret, "results are there")
	})
}
