package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/guptarohit/asciigraph"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// The size of a chart: it is as wide as the terminal allows, and no wider than one can take in.
const (
	chartHeight = 6
	ChartWidest = 68
	ChartMargin = 12 // columns of the numbers and the axis
	chartLeast  = 8  // columns for the line; with fewer nothing is drawn
	chartParts  = 4  // so many parts must have been noted: less has no course
)

// PlotWidth is how many columns the line of a chart has, 0 where there is too little room for one.
func (c *Console) PlotWidth() int {
	switch {
	case c.Width == 0:
		return ChartWidest
	case c.Width < ChartMargin+chartLeast:
		return 0
	}
	return min(ChartWidest, c.Width-ChartMargin)
}

// Plot draws values that follow each other, on so many columns, or with 0 on one for each; nothing where there is too
// little room, or too little to tell.
func (c *Console) Plot(title string, values []float64, width int) []string {
	if c.PlotWidth() == 0 || len(values) < chartParts {
		return nil
	}
	height := min(chartHeight, max(1, int(slices.Max(values)))) // a count has no parts
	drawn := asciigraph.Plot(values, asciigraph.Height(height), asciigraph.Width(width), asciigraph.LowerBound(0),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%8s", human.Grouped(int64(v))) }))
	lines := []string{""}
	lines = append(lines, c.Wrap(Bold, title)...)
	for line := range strings.SplitSeq(drawn, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
