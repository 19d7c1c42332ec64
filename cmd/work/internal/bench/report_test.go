package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// rising is a second in which the rate grows from 0 to 10,000 per second, and stays there for another.
func rising() pace {
	went := newPace()
	for i := 1; i <= 200; i++ {
		at := float64(i) / 100
		jobs := 5000 * at * at
		if at > 1 {
			jobs = 5000 + 10_000*(at-1)
		}
		went.note(time.Duration(i)*10*time.Millisecond, int(jobs))
	}
	return went
}

func TestChartFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		width int
		drawn bool
	}{{1, false}, {19, false}, {20, true}, {40, true}, {80, true}, {200, true}, {0, true}} {
		t.Run(fmt.Sprint(row.width), func(t *testing.T) {
			t.Parallel()
			lines := chart(&console.Console{Width: row.width}, "process", rising())
			assert.Equal(t, row.drawn, len(lines) > 0)
			for _, line := range lines {
				assert.LessOrEqual(t, uniseg.StringWidth(line),
					cmp.Or(row.width, console.ChartWidest+console.ChartMargin))
			}
		})
	}
}

func TestChartAsItIsDrawn(t *testing.T) {
	t.Parallel()
	lines := chart(&console.Console{Width: 60, Coloured: true}, "process", rising())
	clitest.Golden(t, "chart", strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "ESC"))
}

func TestReportOnATerminal(t *testing.T) {
	t.Parallel()
	cpu := 12.345
	r := &report{
		Redis: "redis://user:xxxxx@localhost:6379/0", Namespace: "work-bench-ABC", Queues: 10, Concurrency: 200,
		Enqueuers: 1, ArgsBytes: 1000,
		Enqueue: phaseResult{Jobs: 15_000, Took: human.Seconds(2 * time.Second), Rate: 7500, RedisCPU: &cpu,
			Pace: rising()},
		Process: phaseResult{Jobs: 15_000, Took: human.Seconds(time.Second), Rate: 15_000.4, Pace: newPace()},
		Pickup: pickup{Jobs: 100, Waited: human.Spread{P50: human.Seconds(time.Millisecond),
			P99: human.Seconds(30 * time.Millisecond)}},
		Once: once{Jobs: 15_100, Missing: 2},
	}
	escapes := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, width := range []int{30, 60, 100} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			lines := r.lines(&console.Console{Width: width, Coloured: true})
			clitest.Golden(t, fmt.Sprint("terminal-", width),
				strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "ESC"))
			for _, line := range lines {
				if strings.Contains(line, "://") || strings.Contains(line, "work-bench-") {
					continue // a word that is longer than the line is not broken
				}
				assert.LessOrEqual(t, uniseg.StringWidth(escapes.ReplaceAllString(line, "")), width, line)
			}
		})
	}
}

func TestRatesAddUpToTheJobs(t *testing.T) {
	t.Parallel()
	went := rising()
	for _, n := range []int{1, 4, 7, 60, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			rates, part := went.rates(n)
			require.Len(t, rates, min(n, 200), "no finer than it was noted")
			sum := 0.0
			for _, rate := range rates {
				sum += rate * part.Seconds()
			}
			assert.InDelta(t, 15_000, sum, 1)
		})
	}
}

func TestAPaceOfNothing(t *testing.T) {
	t.Parallel()
	went := newPace()
	rates, part := went.rates(10)
	assert.Empty(t, rates)
	assert.Zero(t, part)
	went.note(0, 0)
	rates, _ = went.rates(10)
	assert.Empty(t, rates, "no time has passed")
	text, err := json.Marshal(went)
	require.NoError(t, err)
	assert.JSONEq(t, `{"seconds_each":0,"jobs_per_second":[]}`, string(text))
}

func TestALongPaceStaysSmall(t *testing.T) {
	t.Parallel()
	went := newPace()
	const notes = 100_000
	for i := 1; i <= notes; i++ {
		went.note(time.Duration(i)*20*time.Millisecond, 3*i)
		require.Less(t, len(went.points), mostPoints)
	}
	assert.Equal(t, point{notes * 20 * time.Millisecond, 3 * notes}, went.last(), "the end is known exactly")
	assert.Greater(t, len(went.points), mostPoints/4, "and the course still well")
	rates, _ := went.rates(50)
	for _, rate := range rates {
		assert.InDelta(t, 150, rate, 1)
	}
}
