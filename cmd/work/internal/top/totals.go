package top

import (
	"fmt"
	"math"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// narrowWidth is the width below which totals of nothing are left out.
const narrowWidth = 50

// totals are the figures of the whole namespace.
func (m *model) totals() []textLine {
	counts, rates, processors := m.figures.Counts, m.figures.Rates, m.figures.Processors
	var pieces []textLine
	add := func(name, value string, s console.Style, always bool) {
		if always || m.console.Width == 0 || m.console.Width >= narrowWidth {
			pieces = append(pieces, textLine{{console.Faint, name + " "}, {s, value}})
		}
	}
	for _, n := range m.figures.Missing {
		pieces = append(pieces, styled(console.Red, fmt.Sprint("without partition ", n)))
	}
	if m.figures.AllPaused {
		pieces = append(pieces, styled(console.Yellow, "all queues are paused"))
	}
	add("queued", human.Number(counts.Queued), console.Bold, true)
	add("running", human.Number(counts.Running), console.Bold, true)
	add("done", perSecond(rates.Done), hue(rates.Done > 0, console.Green), true)
	add("failed", perSecond(rates.Failed), hue(rates.Failed > 0, console.Red), rates.Failed > 0)
	add("scheduled", human.Number(counts.Scheduled), console.Plain, counts.Scheduled > 0)
	add("retrying", human.Number(counts.Retrying), hue(counts.Retrying > 0, console.Yellow), counts.Retrying > 0)
	add("stalled", human.Number(counts.Stalled), hue(counts.Stalled > 0, console.Yellow), counts.Stalled > 0)
	add("dead", human.Number(counts.Dead), hue(counts.Dead > 0, console.Red), counts.Dead > 0)
	if rates.Dead > 0 {
		add("dying", perSecond(rates.Dead), console.Red, true)
	}
	add("busy", fmt.Sprintf("%s/%s", human.Number(processors.Busy), human.Number(processors.Total)), console.Plain,
		true)
	add("workers", human.Number(counts.Workers), hue(counts.Workers == 0 && counts.Queued > 0, console.Red), true)
	return pieces
}

// hue is a colour where something is so.
func hue(is bool, s console.Style) console.Style {
	if is {
		return s
	}
	return console.Plain
}

// perSecond has a decimal where it says something.
func perSecond(rate float64) string {
	switch {
	case rate > 0 && rate < 0.05:
		return "<0.1/s"
	case rate > 0 && rate < 99.95:
		return fmt.Sprintf("%.1f/s", rate)
	}
	return human.Grouped(int64(math.Round(rate))) + "/s"
}

// charts are sparklines of what was done: of each reading, and of the last hour.
func (m *model) charts() []textLine {
	var charts []textLine
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
	return append(charts, m.chart("done/min", minutes, perMinute(minutes[last])+"/min"))
}

// lastMinute is what all queues did in the last sixty seconds.
func (m *model) lastMinute() float64 {
	sum := 0.0
	for _, q := range m.figures.Queues {
		sum += q.LastMinute.Done
	}
	return sum
}

// chart is a name, a sparkline and the present value.
func (m *model) chart(name string, values []float64, now string) textLine {
	const room = 2 + 12 // for the gaps, and a value that is not to move the line
	most := shownMinutes
	if m.console.Width > 0 {
		most = min(most, m.console.Width-len(name)-room)
	}
	if most < 8 {
		name, most = "", m.console.Width-room
	}
	line := textLine{{console.Green, sparkline(values, most)}, {console.Plain, " " + now}}
	if name == "" {
		return line
	}
	return append(textLine{{console.Faint, name + " "}}, line...)
}
