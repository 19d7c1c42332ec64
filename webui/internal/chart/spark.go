package chart

import (
	"fmt"
	"slices"

	"github.com/265d0351/work/webui/internal/format"
)

// Spark is a small chart that stands in a line: a bar for each count. The picture is stretched to its place.
type Spark struct {
	Bars    []bar
	Width   int
	Summary string
}

// The units of a spark: of a bar with the space behind it, and the height of the highest.
const (
	sparkStep   = 4
	sparkHeight = 20
)

// NewSpark draws counts, of which each is one of such spans: "hour".
func NewSpark(counts []int64, span string) Spark {
	s := Spark{Width: sparkStep * len(counts), Summary: "none counted"}
	if len(counts) == 0 {
		return s
	}
	most, sum := slices.Max(counts), int64(0)
	for n, count := range counts {
		sum += count
		if count == 0 {
			continue
		}
		height := max(2, Round(sparkHeight*float64(count)/float64(most)))
		s.Bars = append(s.Bars, bar{X: float64(n * sparkStep), Y: sparkHeight - height, W: sparkStep - 1, H: height})
	}
	s.Summary = fmt.Sprintf("%s in %d %ss, at most %s in one", format.Count(sum), len(counts), span, format.Count(most))
	return s
}
