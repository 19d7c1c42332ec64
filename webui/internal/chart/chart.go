// Package chart draws what was counted over time: as bars, lines, or a small picture within a line of text. Templates
// of the pages write it; nothing here makes markup.
package chart

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
)

// Chart is a picture over time. It is stretched to the width of the page, so what is written stands beside it in HTML.
type Chart struct {
	Title   string
	Summary string // for those who do not see it
	Empty   bool
	Legend  []Series
	Grid    []gridLine
	Bars    []bar
	Tips    []tip
	Ticks   []tick // on the axis of time
	From    time.Time
	To      time.Time
}

// The picture's own units.
const (
	chartWidth  = 600.0
	chartHeight = 120.0
)

// Series is one line, or one colour of bars. Class is its look.
type Series struct {
	Name, Class, Path string
}

// gridLine is a value on the axis; Y is from the top in percent of the height, for the label.
type gridLine struct {
	Y     float64
	Label string
}

type bar struct {
	Class      string
	X, Y, W, H float64
}

// tip is what a point says when one points at it.
type tip struct {
	X, W float64
	Text string
}

// Outcomes stacks what was done, failed and died in each step.
func Outcomes(points []inspect.HistoryPoint, step time.Duration) Chart {
	c := newChart("Outcomes per "+stepName(step), points, step)
	c.Legend = []Series{{Name: "done", Class: "good"}, {Name: "to be retried", Class: "warn"},
		{Name: "dead", Class: "bad"}}
	highest, sum := int64(0), int64(0)
	for _, p := range points {
		highest, sum = max(highest, p.Done+p.Failed), sum+p.Done+p.Failed
	}
	c.Empty = sum == 0
	top := niceAbove(float64(highest))
	c.Grid = []gridLine{{0, format.Count(int64(top))}, {50, format.Count(int64(top / 2))}, {100, "0"}}
	width := chartWidth / float64(max(1, len(points)))
	for i, p := range points {
		x, y := float64(i)*width, chartHeight
		for _, part := range []struct {
			n     int64
			class string
		}{{p.Done, "good"}, {p.Failed - p.Dead, "warn"}, {p.Dead, "bad"}} {
			if part.n == 0 {
				continue
			}
			h := max(1.5, float64(part.n)/top*chartHeight)
			y = max(0, y-h)
			c.Bars = append(c.Bars, bar{part.class, Round(x + width*0.1), Round(y), Round(width * 0.8), Round(h)})
		}
		c.Tips = append(c.Tips, tip{Round(x), Round(width),
			fmt.Sprintf("%s: %s done, %s failed, %s of them dead", stepStamp(p.At, step), format.Count(p.Done),
				format.Count(p.Failed), format.Count(p.Dead))})
	}
	c.Summary = fmt.Sprintf("%s, %s in all, at most %s per %s", c.Title, format.Counted(sum, "outcome", "outcomes"),
		format.Count(highest), stepName(step))
	return c
}

// decadeNames are the values of a logarithmic axis, up to the longest duration that there is.
var decadeNames = []string{"1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s", "17 min", "2.8 h", "28 h", "12 d",
	"116 d", "3 y", "32 y", "317 y", "3,169 y"}

// Durations shows the median and the slow end of durations in each step: what 95 and 99 of a hundred do not exceed.
// Its axis is logarithmic: from a millisecond to hours.
func Durations(title string, points []inspect.HistoryPoint, step time.Duration,
	of func(*inspect.HistoryPoint) inspect.Histogram) Chart {
	c := newChart(title, points, step)
	quantiles := []struct {
		q           float64
		name, class string
	}{{0.5, "p50", "line-a"}, {0.95, "p95", "line-b"}, {0.99, "p99", "line-c"}}
	values := make([][]time.Duration, len(quantiles))
	longest, n := time.Duration(0), int64(0)
	for i := range points {
		h := of(&points[i])
		n += h.Count()
		for k, quantile := range quantiles {
			value := time.Duration(-1) // a gap
			if h.Count() > 0 {
				value = h.Quantile(quantile.q)
			}
			values[k] = append(values[k], value)
			longest = max(longest, value)
		}
	}
	c.Empty = n == 0
	decades := max(2, math.Ceil(math.Log10(max(1, float64(longest)/float64(time.Millisecond))))) // at most 14
	// from the top, as they stand beside the picture
	for d := decades; d >= 0; d-- {
		c.Grid = append(c.Grid, gridLine{Round(100 - d/decades*100), decadeNames[int(d)]})
	}
	for k, quantile := range quantiles {
		c.Legend = append(c.Legend, Series{quantile.name, quantile.class, linePath(values[k], decades)})
	}
	width := chartWidth / float64(max(1, len(points)))
	for i, p := range points {
		text := stepStamp(p.At, step) + ": none"
		if values[0][i] >= 0 {
			text = fmt.Sprintf("%s: p50 %s, p95 %s, p99 %s", stepStamp(p.At, step), format.Span(values[0][i]),
				format.Span(values[1][i]), format.Span(values[2][i]))
		}
		c.Tips = append(c.Tips, tip{Round(float64(i) * width), Round(width), text})
	}
	c.Summary = fmt.Sprintf("%s of %s, at most %s", title, format.Counted(n, "job", "jobs"), format.Span(longest))
	return c
}

func newChart(title string, points []inspect.HistoryPoint, step time.Duration) Chart {
	c := Chart{Title: title}
	if len(points) > 0 {
		c.From, c.To = points[0].At, points[len(points)-1].At.Add(step)
		c.Ticks = ticksOf(c.From, c.To)
	}
	return c
}

// linePath joins neighbours, and marks one that stands alone by a short line.
func linePath(values []time.Duration, decades float64) string {
	var b strings.Builder
	width := chartWidth / float64(max(1, len(values)))
	drawing := false
	for i, value := range values {
		if value < 0 {
			drawing = false
			continue
		}
		at := math.Log10(max(1, float64(value)/float64(time.Millisecond)))
		x, y := (float64(i)+0.5)*width, chartHeight-at/decades*chartHeight
		if !drawing {
			fmt.Fprintf(&b, "M%g %gh2", Round(x-1), Round(y))
		}
		fmt.Fprintf(&b, "L%g %g", Round(x), Round(y))
		drawing = true
	}
	return b.String()
}

// niceAbove is the next of 1, 2, 5, 10, 20, ... that is not below.
func niceAbove(value float64) float64 {
	for scale := 2.0; ; scale *= 10 {
		for _, nice := range []float64{1, 2, 5} {
			if nice*scale >= value {
				return nice * scale
			}
		}
	}
}

// Round keeps as much of a number as a picture needs.
func Round(value float64) float64 { return math.Round(value*100) / 100 }

func stepName(step time.Duration) string {
	if step >= 24*time.Hour {
		return "day"
	}
	if step == time.Minute {
		return "minute"
	}
	return format.Span(step)
}

func stepStamp(at time.Time, step time.Duration) string {
	if step >= 24*time.Hour {
		return at.UTC().Format("2006-01-02")
	}
	return at.UTC().Format("15:04 UTC")
}
