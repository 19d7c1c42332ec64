package main

import (
	"fmt"
	"math"
)

// topNarrow is the width below which totals of nothing are left out.
const topNarrow = 50

// totals are the figures of the whole namespace.
func (m *topModel) totals() []topLine {
	counts, rates, processors := m.figures.Counts, m.figures.Rates, m.figures.Processors
	var pieces []topLine
	add := func(name, value string, s style, always bool) {
		if always || m.console.width == 0 || m.console.width >= topNarrow {
			pieces = append(pieces, topLine{{faint, name + " "}, {s, value}})
		}
	}
	if m.figures.AllPaused {
		pieces = append(pieces, topText(yellow, "all queues are paused"))
	}
	add("queued", number(counts.Queued), bold, true)
	add("running", number(counts.Running), bold, true)
	add("done", perSecond(rates.Done), hue(rates.Done > 0, green), true)
	add("failed", perSecond(rates.Failed), hue(rates.Failed > 0, red), rates.Failed > 0)
	add("scheduled", number(counts.Scheduled), plain, counts.Scheduled > 0)
	add("retrying", number(counts.Retrying), hue(counts.Retrying > 0, yellow), counts.Retrying > 0)
	add("stalled", number(counts.Stalled), hue(counts.Stalled > 0, yellow), counts.Stalled > 0)
	add("dead", number(counts.Dead), hue(counts.Dead > 0, red), counts.Dead > 0)
	if rates.Dead > 0 {
		add("dying", perSecond(rates.Dead), red, true)
	}
	add("busy", fmt.Sprintf("%s/%s", number(processors.Busy), number(processors.Total)), plain, true)
	add("workers", number(counts.Workers), hue(counts.Workers == 0 && counts.Queued > 0, red), true)
	return pieces
}

// hue is a colour where something is so.
func hue(is bool, s style) style {
	if is {
		return s
	}
	return plain
}

// perSecond has a decimal where it says something.
func perSecond(rate float64) string {
	switch {
	case rate > 0 && rate < 0.05:
		return "<0.1/s"
	case rate > 0 && rate < 99.95:
		return fmt.Sprintf("%.1f/s", rate)
	}
	return grouped(int64(math.Round(rate))) + "/s"
}

// charts are sparklines of what was done: of each reading, and of the last hour.
func (m *topModel) charts() []topLine {
	var charts []topLine
	if len(m.beats) > 1 {
		charts = append(charts, m.chart("done/s  ", m.beats, perSecond(m.figures.Rates.Done)))
	}
	minutes := make([]float64, 0, len(m.figures.Minutes))
	for _, minute := range m.figures.Minutes {
		minutes = append(minutes, float64(minute.Done))
	}
	if len(minutes) == 0 {
		return charts
	}
	last := len(minutes) - 1
	if full := m.lastMinute(); full > minutes[last] {
		minutes[last] = full // the one under way would look like a fall
	}
	return append(charts, m.chart("done/min", minutes, topPerMinute(minutes[last])+"/min"))
}

// lastMinute is what all queues did in the last sixty seconds.
func (m *topModel) lastMinute() float64 {
	sum := 0.0
	for _, q := range m.figures.Queues {
		sum += q.LastMinute.Done
	}
	return sum
}

// chart is a name, a sparkline and the present value.
func (m *topModel) chart(name string, values []float64, now string) topLine {
	const room = 2 + 12 // for the gaps, and a value that is not to move the line
	most := topHour
	if m.console.width > 0 {
		most = min(most, m.console.width-len(name)-room)
	}
	if most < 8 {
		name, most = "", m.console.width-room
	}
	line := topLine{{green, sparkline(values, most)}, {plain, " " + now}}
	if name == "" {
		return line
	}
	return append(topLine{{faint, name + " "}}, line...)
}
