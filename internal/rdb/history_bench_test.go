package rdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// BenchmarkRedisTally is what a heartbeat costs Redis more when it tells history: at the most, of 100 names with a
// dozen buckets and of 100 groups of errors. It also reports what a name takes in memory in a minute or a day.
func BenchmarkRedisTally(b *testing.B) {
	for _, size := range []struct{ names, errors int }{{1, 0}, {10, 0}, {100, 0}, {100, 100}} {
		b.Run(fmt.Sprintf("names%d/errors%d", size.names, size.errors), func(b *testing.B) {
			s := newSite(b, redistest.Dedicated(b).DSN(), nil)
			tally := rdb.Tally{Lane: "bench"}
			for n := range size.names {
				tally.Sums = append(tally.Sums, rdb.Sums{Name: fmt.Sprint("send_newsletter_", n),
					Counts: "d:1200 f:3 r:48211904 r0:11 r4:190 r5:800 r6:190 r7:12 r8:1 w:90122 w0:1000 w1:150 w2:53"})
			}
			for n := range size.errors {
				tally.Errors = append(tally.Errors,
					rdb.ErrorCount{Digest: fmt.Sprintf("%032d", n), Name: "send_newsletter_1",
						Message: strings.Repeat("dial tcp #:#: refused ", 4), Sample: strings.Repeat("0", 32),
						Count: 3})
			}
			before, calls := s.redisCPU(b), 0
			for b.Loop() {
				tally.Number++
				tally.At = s.now(b)
				s.tell(b, tally)
				calls++
			}
			b.ReportMetric((s.redisCPU(b)-before)/float64(calls), "redis-us/call")
			day := s.key("stats:" + tally.At.UTC().Format("2006-01-02"))
			replies, err := s.driver.Pipeline(background,
				redisconn.Call{Command: "MEMORY", Args: []any{"USAGE", day, "SAMPLES", 0}})
			require.NoError(b, err)
			used, _ := replies[0].Value.(int64)
			b.ReportMetric(float64(used)/float64(size.names), "bytes/name")
		})
	}
}
