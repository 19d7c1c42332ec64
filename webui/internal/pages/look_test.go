package pages

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
)

func TestNeighboursAreAddedUp(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var points []inspect.HistoryPoint
	for i := range 30 {
		points = append(points, inspect.HistoryPoint{At: begin.Add(time.Duration(i) * time.Minute), Done: 1})
	}
	got := coarser(points, 15*time.Minute)
	require.Len(t, got, 2)
	assert.Equal(t, int64(15), got[1].Done)
	assert.Equal(t, begin, points[0].At)
	assert.Equal(t, begin.Add(time.Minute), points[1].At, "what was given stays as it was")
}

// All colours that are used for text must stand out from the paper and from what is raised above it: AA of WCAG is 4.5.
func TestTextIsReadableInBothThemes(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("assets/style.css")
	require.NoError(t, err)
	colours := map[string][2]float64{}
	for _, m := range regexp.MustCompile(`--(\w+): light-dark\(#(\w{6}), #(\w{6})\)`).
		FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]float64{luminance(t, m[2]), luminance(t, m[3])}
	}
	for _, text := range []string{"ink", "muted", "accent", "good", "warn", "bad"} {
		for _, ground := range []string{"paper", "raised"} {
			for theme, name := range []string{"light", "dark"} {
				require.Contains(t, colours, text)
				a, b := colours[text][theme], colours[ground][theme]
				ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05)
				assert.GreaterOrEqual(t, ratio, 4.5, "%s on %s in the %s theme", text, ground, name)
			}
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
