package inspect_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// TestAPageOfKeysCostsThePageAndNotTheKeys compares what Redis spends on pages of keys where there are many with what
// it spends where there are few. WORK_READS_LONG=1 does so with 1,000,000.
func TestAPageOfKeysCostsThePageAndNotTheKeys(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		redistest.SkipUnderRace(t, "it measures Redis, and calls one after the other")
		few, many := 5_000, 100_000
		if os.Getenv("WORK_READS_LONG") == "1" {
			few, many = 10_000, 1_000_000
		}
		server := redistest.Dedicated(t, "--activerehashing", "no", "--hz", "1")
		small, large := newKeyCrowd(t, server, few), newKeyCrowd(t, server, many)
		figures := fmt.Sprintf("| read | %s keys | %s | times |\n|---|--:|--:|--:|\n", redistest.Grouped(few),
			redistest.Grouped(many))
		page := func(name string, from func(c *crowded) string) costlyRead {
			cursors := map[int]string{few: from(small), many: from(large)}
			return costlyRead{name, 3, func(ctx context.Context, i *inspect.Inspector, n int) error {
				page, err := i.Keys(ctx, inspect.KeysOptions{Name: redistest.CrowdName, Cursor: cursors[n]})
				if err == nil && (len(page.Keys) != inspect.DefaultPage || page.Waiting != n) {
					err = fmt.Errorf("%d keys, %d jobs", len(page.Keys), page.Waiting)
				}
				return err
			}}
		}
		second := func(c *crowded) string {
			first, err := c.i.Keys(t.Context(), inspect.KeysOptions{Name: redistest.CrowdName})
			require.NoError(t, err)
			return first.Next
		}
		parked := func(*crowded) string { return inspect.KeysCursorParked(redistest.CrowdName) }
		for _, r := range []costlyRead{page("`Keys`", func(*crowded) string { return "" }),
			page("its next page", second), page("those that are parked", parked)} {
			a, b := costs(r, small, large)
			times := float64(b) / float64(a)
			figures += fmt.Sprintf("| %s | %d µs | %d µs | %.1f |\n", r.name, a.Microseconds(), b.Microseconds(), times)
			assert.LessOrEqual(t, times, r.most, "%s takes Redis %s instead of %s", r.name, b, a)
		}
		t.Log("\n" + figures)
	})
}

func newKeyCrowd(t *testing.T, server *redistest.Process, many int) *crowded {
	t.Helper()
	k := newKit(t, server.Server())
	return &crowded{Crowd: redistest.NewKeyCrowd(t, server.Addr(), k.Namespace, many), t: t, i: k.inspector()}
}
