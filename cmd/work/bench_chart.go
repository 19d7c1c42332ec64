package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/guptarohit/asciigraph"
)

// The size of a chart: it is as wide as the terminal allows, and no wider than one can take in.
const (
	chartHeight = 6
	chartWidest = 68
	chartMargin = 12 // columns of the numbers and the axis
	chartLeast  = 8  // columns for the line; with fewer nothing is drawn
	chartParts  = 4  // so many parts must have been noted: less has no course
)

// chart draws how a rate went over time, nothing where there is too little room or too little to tell.
func chart(c *console, title string, went pace) []string {
	rates, _ := went.rates(plotWidth(c))
	return plot(c, fmt.Sprintf("%s, jobs per second over %s", title, seconds(went.last().at)), rates, plotWidth(c))
}

// plotWidth is how many columns the line has.
func plotWidth(c *console) int {
	if c.width > 0 {
		return min(chartWidest, c.width-chartMargin)
	}
	return chartWidest
}

// plot draws values that follow each other, on so many columns, or with 0 on one for each.
func plot(c *console, title string, values []float64, width int) []string {
	if plotWidth(c) < chartLeast || len(values) < chartParts {
		return nil
	}
	height := min(chartHeight, max(1, int(slices.Max(values)))) // a count has no parts
	drawn := asciigraph.Plot(values, asciigraph.Height(height), asciigraph.Width(width), asciigraph.LowerBound(0),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%8s", grouped(int64(v))) }))
	lines := []string{""}
	lines = append(lines, c.wrap(bold, title)...)
	for line := range strings.SplitSeq(drawn, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
