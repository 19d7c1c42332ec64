package top

import "strings"

// sparks are the heights of a sparkline. The lowest one is for nothing at all, so that little shows.
var sparks = []rune("▁▂▃▄▅▆▇█")

// sparkline draws the last values side by side, each in one column, the highest one at full height.
func sparkline(values []float64, most int) string {
	values = values[max(0, len(values)-max(0, most)):]
	highest := 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if v > 0 {
			level = 1 + int(v/highest*float64(len(sparks)-2))
		}
		b.WriteRune(sparks[level])
	}
	return b.String()
}
