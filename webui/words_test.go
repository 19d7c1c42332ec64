package webui

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

func TestWordsForNumbersAndTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 7, 8, 9, 123e6, time.UTC)
	for got, want := range map[string]string{
		count(0): "0", count(1234567): "1,234,567", count(int64(-1000)): "-1,000", count(999): "999",
		span(0): "0", span(50 * time.Nanosecond): "1 µs", span(12 * time.Millisecond): "12 ms",
		span(1500 * time.Millisecond): "1.5 s", span(59 * time.Second): "59 s",
		span(90 * time.Second): "1 min 30 s", span(12 * time.Minute): "12 min", span(-25 * time.Hour): "1 d 1 h",
		size(900): "900 B", size(1 << 20): "1 MiB", size(1_500_000): "1.4 MiB", size(5 << 40): "5 TiB",
		rate(0.254): "0.25", rate(12.34): "12.3", rate(200): "200", rate(123456): "123,456",
		shorten("日本語", 4): "日…", shorten("abc", 3): "abc",
		momentAt(now.Add(-time.Hour), now).Words: "1 h ago", momentAt(now.Add(time.Minute), now).Words: "in 1 min",
		momentAt(now, now).Words:                              "now",
		momentAt(now.In(time.FixedZone("", 3600)), now).Exact: "2026-05-06 07:08:09.123 UTC",
		momentAt(now, now).Machine:                            "2026-05-06T07:08:09.123Z",
		pretty(json.RawMessage(`[1,{"a":12345678901234567890}]`),
			100): "[\n  1,\n  {\n    \"a\": 12345678901234567890\n  }\n]",
		pretty(json.RawMessage("no json \xff"), 100):                 "no json \uFFFD",
		pretty(json.RawMessage(`"`+strings.Repeat("é", 50)+`"`), 10): `"éééé……`,
		link("job", "id", "a/b?c&d #%00"):                            "job?id=a%2Fb%3Fc%26d+%23%2500",
		link("jobs", "name", ""):                                     "jobs",
	} {
		assert.Equal(t, want, got)
	}
}

func TestChartsShowWhatWasCounted(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	points := make([]work.HistoryPoint, 3)
	for i := range points {
		points[i].At = begin.Add(time.Duration(i) * time.Minute)
	}
	assert.True(t, outcomeChart(points, time.Minute).Empty)
	points[1].Done, points[1].Failed, points[1].Dead = 80, 15, 5
	points[1].Waited.Add(3 * time.Second)
	c := outcomeChart(points, time.Minute)
	assert.False(t, c.Empty)
	assert.Equal(t, "100", c.Grid[0].Label)
	require.Len(t, c.Bars, 3)
	assert.InDelta(t, 0.8*chartHeight, c.Bars[0].H, 0.1)
	assert.InDelta(t, 0, c.Bars[2].Y, 0.1, "a full bar reaches the top")
	assert.Equal(t, "12:01 UTC: 80 done, 15 failed, 5 dead", c.Tips[1].Text)
	assert.Equal(t, "12:00 UTC", c.Left())
	assert.Equal(t, "12:03 UTC", c.Right())

	d := durationChart("Waiting", points, time.Minute, waited)
	assert.Equal(t, []string{"10 s", "1 s", "100 ms", "10 ms", "1 ms"}, labels(d.Grid))
	assert.Equal(t, "12:00 UTC: none", d.Tips[0].Text)
	assert.True(t, strings.HasPrefix(d.Legend[0].Path, "M"), "one point alone is seen")
	assert.Empty(t, durationChart("Run", points, time.Minute, ran).Legend[0].Path)
	var longest work.Histogram
	longest.Add(math.MaxInt64)
	points[2].Waited = longest
	assert.NotPanics(t, func() { durationChart("Waiting", points, time.Minute, waited) })
	assert.Len(t, decadeNames, 15)
}

func labels(grid []gridLine) []string {
	var all []string
	for _, line := range grid {
		all = append(all, line.Label)
	}
	return all
}

func TestNeighboursAreAddedUp(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var points []work.HistoryPoint
	for i := range 30 {
		points = append(points, work.HistoryPoint{At: begin.Add(time.Duration(i) * time.Minute), Done: 1})
	}
	got := coarser(points, 15*time.Minute)
	require.Len(t, got, 2)
	assert.Equal(t, int64(15), got[1].Done)
	assert.Equal(t, begin, points[0].At)
	assert.Equal(t, begin.Add(time.Minute), points[1].At, "what was given stays as it was")
}

func TestAlertsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	now := time.Now()
	texts := func(alerts []alert) string {
		var all []string
		for _, a := range alerts {
			all = append(all, a.Text)
		}
		return strings.Join(all, "\n")
	}
	assert.Empty(t, serverAlerts(work.ServerInfo{}), "what is not told is no alert")
	assert.Empty(t, serverAlerts(work.ServerInfo{Version: "7.0", EvictionPolicy: "noeviction", AppendOnly: true,
		Role: "master", MemoryUsed: 79 << 20, MemoryMax: 100 << 20}))
	got := texts(serverAlerts(work.ServerInfo{Version: "7.0", EvictionPolicy: "allkeys-lru", Role: "slave",
		SaveFailed: true, Evicted: 3, MemoryUsed: 80 << 20, MemoryMax: 100 << 20}))
	for _, part := range []string{"allkeys-lru", "replica", "could not save", "dropped 3 keys", "80 %", "append-only"} {
		assert.Contains(t, got, part)
	}
	queues := []work.QueueInfo{{Name: "fine", Waiting: 1, Workers: 1}, {Name: "idle"}, {Name: "lonely", Waiting: 1},
		{Name: "still", Paused: true, Workers: 1}, {Name: "odd", Problem: "a string"}}
	assert.Equal(t, "The keys of queues are not what they should be, the doctor mends them: odd\nJobs wait that no "+
		"worker serves: lonely\nPaused: still", texts(queueAlerts(queues, false)))
	assert.Contains(t, texts(queueAlerts(queues, true)), "All queues are paused")
	stuck := work.RunningJob{ID: "stuck", Since: now.Add(-2 * time.Hour)}
	talks := work.RunningJob{ID: "talks", Since: now.Add(-2 * time.Hour), CheckAt: now.Add(-time.Minute)}
	got = texts(workerAlerts([]work.WorkerInfo{{ID: "w1", Alive: true, Running: []work.RunningJob{stuck, talks}},
		{ID: "w2"}}, now, time.Hour))
	assert.Contains(t, got, "over 1 h without a word: stuck")
	assert.NotContains(t, got, "talks")
	assert.Contains(t, got, "w2 (0 jobs)")
	assert.Contains(t, texts(workerAlerts(nil, now, time.Hour)), "No worker")
}

// All colours that are used for text must stand out from the paper and from what is raised above it: AA of WCAG is 4.5.
func TestTextIsReadableInBothThemes(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("assets/style.css")
	require.NoError(t, err)
	colours := map[string][2]float64{}
	for _, m := range regexp.MustCompile(`--(\w+): light-dark\(#(\w{6}), #(\w{6})\)`).
		FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]float64{luminance(t, m[2]), luminance(t, m[3])}
	}
	for _, text := range []string{"ink", "muted", "accent", "good", "warn", "bad"} {
		for _, ground := range []string{"paper", "raised"} {
			for theme, name := range []string{"light", "dark"} {
				require.Contains(t, colours, text)
				a, b := colours[text][theme], colours[ground][theme]
				ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05)
				assert.GreaterOrEqual(t, ratio, 4.5, "%s on %s in the %s theme", text, ground, name)
			}
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
