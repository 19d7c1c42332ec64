package top

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
)

// told is one reading of a pulse: at a second of the hour, with what was done of "a" in minutes from the first one on.
func told(p *pulse, second int, done ...int64) {
	at := noon.Truncate(time.Hour).Add(time.Duration(second) * time.Second)
	p.since(at)
	var points []inspect.HistoryPoint
	for n, count := range done {
		points = append(points, inspect.HistoryPoint{At: noon.Truncate(time.Hour).Add(time.Duration(n) * time.Minute),
			Done: count, Failed: 3 * count, Dead: count})
	}
	p.take(map[string][]inspect.HistoryPoint{"a": points})
	p.mark(at)
}

func TestPulseRates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		tell func(*pulse)
		want float64 // done per second
	}{
		{"one reading: the last minute, of which half lies in the minute before",
			func(p *pulse) { told(p, 90, 60, 90) }, (90 + 30) / 60.0},
		{"two: what came between them", func(p *pulse) { told(p, 90, 60, 90); told(p, 92, 60, 110) }, 10},
		{"nothing came", func(p *pulse) { told(p, 90, 60, 90); told(p, 92, 60, 90) }, 0},
		{"over the last five seconds", func(p *pulse) {
			told(p, 80, 60, 0)
			told(p, 85, 60, 500)
			told(p, 88, 60, 500)
			told(p, 90, 60, 510)
		}, 2},
		{"over the turn of a minute", func(p *pulse) { told(p, 58, 10); told(p, 62, 12, 18) }, 5},
		{"after a pause of Redis, over all of it", func(p *pulse) { told(p, 10, 10); told(p, 110, 60, 50) }, 1},
		{"a minute that is told again counts once",
			func(p *pulse) { told(p, 58, 10); told(p, 60, 10, 0); told(p, 62, 10, 8) }, 2},
		{"a history that was lost", func(p *pulse) { told(p, 58, 1000); told(p, 60, 20) }, 10},
		{"a clock that went back", func(p *pulse) { told(p, 90, 60, 90); told(p, 30, 30) }, 30 / 60.0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var p pulse
			row.tell(&p)
			got := p.rates()
			assert.InDelta(t, row.want, got.Done, 1e-9)
			assert.InDelta(t, 3*row.want, got.Failed, 1e-9, "with those that died")
			assert.InDelta(t, row.want, got.Dead, 1e-9)
		})
	}
}

func TestPulseOfANameIsOfTheLastMinute(t *testing.T) {
	t.Parallel()
	var p pulse
	told(&p, 75, 100, 8)
	assert.InDelta(t, 8+75, p.minuteOf("a").Done, 1e-9)
	assert.Zero(t, p.minuteOf("b"))
	told(&p, 200, 100, 8, 0, 4)
	assert.InDelta(t, 4, p.minuteOf("a").Done, 1e-9)
}

func TestPulseForgets(t *testing.T) {
	t.Parallel()
	var p pulse
	for second := 0; second < 3*3600; second += 20 {
		told(&p, second, make([]int64, second/60+1)...)
		require.LessOrEqual(t, len(p.hour), shownMinutes)
		require.LessOrEqual(t, len(p.names), 2)
		require.LessOrEqual(t, len(p.samples), 2)
	}
	minutes := p.minutes()
	require.Len(t, minutes, shownMinutes)
	assert.Equal(t, "14:59", minutes[shownMinutes-1].At.Format("15:04"))
}

func TestPulseReadsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	var p pulse
	hour := noon.Truncate(time.Hour)
	assert.Equal(t, hour.Add(-59*time.Minute), p.since(hour))
	told(&p, 90, 1, 1)
	assert.Equal(t, hour.Add(90*time.Second), p.since(hour.Add(92*time.Second)), "from the last reading on")
	assert.Equal(t, hour.Add(241*time.Minute), p.since(hour.Add(5*time.Hour)), "no more than an hour")
	assert.Equal(t, hour.Add(-59*time.Minute), p.since(hour), "another clock: all of it")
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		values []float64
		most   int
		want   string
	}{
		{nil, 10, ""},
		{[]float64{0, 0, 0}, 10, "▁▁▁"},
		{[]float64{0, 1, 100, 50, 99.9}, 10, "▁▂█▅▇"},
		{[]float64{100, 1, 2}, 2, "▅█"},
		{[]float64{1, 2}, 0, ""},
		{[]float64{1, 2}, -3, ""},
	} {
		assert.Equal(t, row.want, sparkline(row.values, row.most), "%v", row.values)
	}
}

func TestTopRoughNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 9_999: "9,999", 10_000: "10.0k", 99_949: "99.9k", 99_951: "100k", 999_499: "999k", 999_501: "1.0M",
		1_249_988:   "1.2M",
		123_456_789: "123M", 2_000_000_000_000: "2,000G",
	} {
		assert.Equal(t, want, rough(n))
		assert.LessOrEqual(t, len(want), 6)
	}
}
