package chart

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
)

func waited(p *inspect.HistoryPoint) inspect.Histogram { return p.Waited }
func ran(p *inspect.HistoryPoint) inspect.Histogram    { return p.Run }

func TestChartsShowWhatWasCounted(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	points := make([]inspect.HistoryPoint, 3)
	for i := range points {
		points[i].At = begin.Add(time.Duration(i) * time.Minute)
	}
	assert.True(t, Outcomes(points, time.Minute).Empty)
	points[1].Done, points[1].Failed, points[1].Dead = 80, 20, 5
	points[1].Waited.Add(3 * time.Second)
	c := Outcomes(points, time.Minute)
	assert.False(t, c.Empty)
	assert.Equal(t, "100", c.Grid[0].Label)
	require.Len(t, c.Bars, 3)
	assert.InDelta(t, 0.8*chartHeight, c.Bars[0].H, 0.1)
	assert.InDelta(t, 0, c.Bars[2].Y, 0.1, "a full bar reaches the top")
	assert.Equal(t, "12:01 UTC: 80 done, 20 failed, 5 of them dead", c.Tips[1].Text)
	assert.Equal(t, []tick{{33.33, "12:01"}, {66.67, "12:02"}}, c.Ticks)

	d := Durations("Waiting", points, time.Minute, waited)
	assert.Equal(t, []string{"10 s", "1 s", "100 ms", "10 ms", "1 ms"}, labels(d.Grid))
	assert.Equal(t, "12:00 UTC: none", d.Tips[0].Text)
	assert.True(t, strings.HasPrefix(d.Legend[0].Path, "M"), "one point alone is seen")
	assert.Empty(t, Durations("Run", points, time.Minute, ran).Legend[0].Path)
	var longest inspect.Histogram
	longest.Add(math.MaxInt64)
	points[2].Waited = longest
	assert.NotPanics(t, func() { Durations("Waiting", points, time.Minute, waited) })
	assert.Len(t, decadeNames, 15)
}

func labels(grid []gridLine) []string {
	var all []string
	for _, line := range grid {
		all = append(all, line.Label)
	}
	return all
}

func TestTicksAreRoundTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 7, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		whole       time.Duration
		first, last string
		n           int
	}{
		"an hour":  {time.Hour, "12:10", "13:00", 6},
		"a day":    {24 * time.Hour, "16:00", "08:00", 5},
		"90 days":  {90 * day, "16 Mar", "25 May", 6},
		"a minute": {time.Minute, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ticks := ticksOf(at, at.Add(row.whole))
			require.Len(t, ticks, row.n, "%v", ticks)
			if row.n > 0 {
				assert.Equal(t, []string{row.first, row.last}, []string{ticks[0].Text, ticks[len(ticks)-1].Text})
			}
		})
	}
}
