package chart

import "time"

// tick is a time on the axis; X is in percent of the width.
type tick struct {
	X    float64
	Text string
}

// tickSteps are how far two times on an axis may be apart, as people count.
var tickSteps = []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 30 * day}

const (
	day       = 24 * time.Hour
	mostTicks = 7
	tickRoom  = 4.0 // percent at both ends in which a text would stand beside the picture
)

// ticksOf are round times between the ends, in UTC.
func ticksOf(from, to time.Time) (ticks []tick) {
	whole := to.Sub(from)
	step := tickSteps[len(tickSteps)-1]
	for _, one := range tickSteps {
		if whole/one <= mostTicks {
			step = one
			break
		}
	}
	layout := "15:04"
	if step >= day {
		layout = "2 Jan"
	}
	for at := from.UTC().Truncate(step); !at.After(to); at = at.Add(step) {
		if x := float64(at.Sub(from)) / float64(max(1, whole)) * 100; x >= tickRoom && x <= 100-tickRoom {
			ticks = append(ticks, tick{Round(x), at.Format(layout)})
		}
	}
	return ticks
}
