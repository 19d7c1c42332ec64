package pages

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
)

func spends(name string, waited, ran, gap time.Duration) historyRow {
	return historyRow{Name: name, Waited: inspect.Histogram{Sum: waited}, Run: inspect.Histogram{Sum: ran}, Gap: gap}
}

// Each level divides the one above it, and nothing is drawn outside.
func TestTheFlameDividesAllTime(t *testing.T) {
	t.Parallel()
	f := flameOf([]historyRow{spends("mail", 10*time.Second, 20*time.Second, 0),
		spends("import", 0, 30*time.Second, 40*time.Second), spends("idle", 0, 0, 0)}, "hour")
	level := map[int]float64{}
	for _, c := range f.Cells {
		level[c.Y] += c.W
		assert.LessOrEqual(t, c.X+c.W, 100.01, c.Text)
	}
	assert.InDelta(t, 100, level[0], 0.1)
	assert.InDelta(t, 100, level[flameLevel], 0.1)
	assert.InDelta(t, 100, level[2*flameLevel], 0.1)
	assert.Equal(t, "import: 1 min 10 s, of which waiting 0, running 30 s, between attempts 40 s", f.Cells[1].Text)
	assert.Equal(t, "history?name=import&span=hour", f.Cells[1].Link)
	assert.Equal(t, []float64{0, 70}, []float64{f.Cells[1].X, f.Cells[1].W})
	assert.Equal(t, "all, 1 min 40 s", f.Cells[0].Label)
}

func TestTheFlameIsBounded(t *testing.T) {
	t.Parallel()
	var rows []historyRow
	for n := range 500 {
		rows = append(rows, spends(fmt.Sprint("name ", n), math.MaxInt64/2, math.MaxInt64/2, 0))
	}
	f := flameOf(rows, "day")
	assert.LessOrEqual(t, len(f.Cells), 1+4*(flameNames+1))
	last := f.Cells[len(f.Cells)-1]
	assert.LessOrEqual(t, last.X+last.W, 100.01)
	assert.Empty(t, flameOf(nil, "day").Cells)
	assert.Empty(t, flameOf([]historyRow{{Name: "idle"}}, "day").Cells)
	small := flameOf([]historyRow{spends("big", time.Hour, 0, 0), spends("small", time.Millisecond, 0, 0)}, "hour")
	require.Len(t, small.Cells, 3, "what cannot be seen is not drawn")
}
