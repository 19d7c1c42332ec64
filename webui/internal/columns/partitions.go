package columns

import (
	"cmp"
	"strings"

	"github.com/265d0351/work/inspect"
)

// Partitions are those by which partitions can be sorted; without one they come by their numbers.
var Partitions = []Column[inspect.PartitionInfo]{
	Number("partition", "Partition", func(r *inspect.PartitionInfo) int { return r.Partition }).Left().Up(),
	By("state", "State", func(a, b *inspect.PartitionInfo) int {
		return cmp.Or(FalseFirst(b.Problem != nil, a.Problem != nil), strings.Compare(a.State, b.State))
	}),
	byCount("queued", "Queued", func(c *inspect.Counts) int { return c.Queued }),
	byCount("running", "Running", func(c *inspect.Counts) int { return c.Running }),
	byCount("scheduled", "Scheduled", func(c *inspect.Counts) int { return c.Scheduled }),
	byCount("retrying", "Retrying", func(c *inspect.Counts) int { return c.Retrying }),
	byCount("stalled", "Stalled", func(c *inspect.Counts) int { return c.Stalled }),
	byCount("dead", "Dead", func(c *inspect.Counts) int { return c.Dead }),
	byCount("workers", "Workers", func(c *inspect.Counts) int { return c.Workers }),
}

func byCount(key, title string, of func(*inspect.Counts) int) Column[inspect.PartitionInfo] {
	return Number(key, title, func(p *inspect.PartitionInfo) int { return of(&p.Counts) })
}
