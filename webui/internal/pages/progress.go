package pages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/format"
)

// progressBar is how far a job says that it is, where what it says can be drawn.
type progressBar struct {
	Percent float64
	Text    string
	More    bool // it says more than that
}

// progressWholes are the names under which jobs tell of how many they have to do, in small letters.
var progressWholes = []string{"of", "total", "all", "max", "size"}

// progressOf understands a number from 0 to 1, one up to 100 in a field "percent", and a field with the whole beside
// one other number: {"done": 12, "of": 40}. It returns nil for all else, which is shown as it is.
func progressOf(raw json.RawMessage) *progressBar {
	var part float64
	if string(raw) != "null" && json.Unmarshal(raw, &part) == nil {
		return newProgressBar(part, 1, "")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	numbers := map[string]float64{}
	for name, value := range fields {
		var n float64
		if string(value) != "null" && json.Unmarshal(value, &n) == nil {
			numbers[name] = n
		}
	}
	for name, n := range numbers {
		if lower := strings.ToLower(name); lower == "percent" || lower == "pct" {
			bar := newProgressBar(n, 100, "")
			if bar != nil {
				bar.More = len(fields) > 1
			}
			return bar
		}
	}
	if len(numbers) != 2 {
		return nil
	}
	whole, other := "", ""
	for name := range numbers {
		if slices.Contains(progressWholes, strings.ToLower(name)) {
			whole = name
		} else {
			other = name
		}
	}
	if whole == "" || other == "" {
		return nil
	}
	text := fmt.Sprintf("%s %s of %s", format.Count(int64(numbers[other])), other, format.Count(int64(numbers[whole])))
	bar := newProgressBar(numbers[other], numbers[whole], text)
	if bar != nil {
		bar.More = len(fields) > 2
	}
	return bar
}

// newProgressBar is nil where the part is none of the whole.
func newProgressBar(part, whole float64, text string) *progressBar {
	if !(whole > 0 && part >= 0 && part <= whole) {
		return nil
	}
	b := &progressBar{Percent: chart.Round(part / whole * 100)}
	b.Text = fmt.Sprintf("%.0f %%", b.Percent)
	if text != "" {
		b.Text += ", " + text
	}
	return b
}
