package partitions_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestAnIdlePoolAsksEachPartitionAsMuchAsOneAlone: little besides the heartbeats. make partitions measures it.
func TestAnIdlePoolAsksEachPartitionAsMuchAsOneAlone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 4, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				const beats = 3
				d := newDivided(t, s, n)
				o := d.Options()
				driver := d.Tamper(&o, &pooltest.Tampered{})
				pool := work.NewWorkerPool(nil, 4, o).Job("load", pooltest.Nothing)
				d.Start(pool)
				driver.UntilSent(t, "beat", 2*n) // what a start asks is over
				begun := time.Now()
				beatsBefore, before := driver.Sent("beat")
				driver.UntilSent(t, "beat", beats*n)
				beatsAfter, after := driver.Sent("beat")
				t.Logf("%d requests in %d heartbeats of %d partitions", after-before, beatsAfter-beatsBefore, n)
				// Nearly 4. On a starved machine a late heartbeat is not made up for, but daemons go by time.
				seconds := 1 + int(time.Since(begun).Seconds())
				assert.LessOrEqual(t, after-before, 6*max(beatsAfter-beatsBefore, n*seconds), "of each partition")
			})
		})
	}
}
