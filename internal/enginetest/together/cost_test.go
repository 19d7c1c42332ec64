package together_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// costOf is how many fetches and calls that end jobs a pool needs for 2,000 jobs which wait already, and how many
// commands of Redis for each.
func (k *kit) costOf(concurrency int, opts work.JobOptions, handler any) (fetches, ends int, commands float64) {
	const jobs = 2000
	k.EnqueueNumbers("index", 0, jobs)
	driver := &pooltest.Tampered{}
	pool := k.pool(concurrency, opts, handler)
	k.TamperWith(pool, driver)
	var count atomic.Int64
	if embedded := k.Server.Embedded(); embedded != nil {
		embedded.Hook(func(string, []string) { count.Add(1) })
		defer embedded.Hook(nil)
	}
	k.Start(pool)
	k.Until("all have ended", func() bool { return k.Number("EXISTS", "jobs") == 0 })
	fetches, _ = driver.Sent("fetch")
	ends, _ = driver.Sent("complete")
	return fetches, ends, float64(count.Load()) / jobs
}

// TestFullBatchesCostNoMoreThanSingleJobs: each is fetched with one call and ended with one. In operations.golden of
// package rdb is what Redis does in these.
func TestFullBatchesCostNoMoreThanSingleJobs(t *testing.T) {
	t.Parallel()
	cost := func(t *testing.T, s redistest.Server) {
		single, together := newKit(t, s), newKit(t, s)
		fetches, ends, commands := single.costOf(200, work.JobOptions{}, func(int) error { return nil })
		t.Logf("single jobs: %d fetches, %d calls that end some, %.2f commands per job", fetches, ends, commands)
		few, fewEnds, fewer := together.costOf(2, of(500, time.Hour), func(work.Batch[int]) error { return nil })
		t.Logf("together: %d fetches, %d calls that end some, %.2f commands per job", few, fewEnds, fewer)
		assert.LessOrEqual(t, few, 4+4, "four batches, and looks at what is ready")
		assert.Less(t, few, fetches)
		assert.Equal(t, 4, fewEnds)
		assert.LessOrEqual(t, fewer, commands)
	}
	t.Run("embedded", func(t *testing.T) { t.Parallel(); cost(t, redistest.Embedded(t)) })
	t.Run("redis", func(t *testing.T) { t.Parallel(); cost(t, redistest.Real(t)) })
}
