package loadavg

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var start = time.Unix(1_000_000, 0)

func TestABusyWorkerNearsItsLoad(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"each second": time.Second, "each ten": 10 * time.Second,
		"once a minute": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m Meter
			m.Sample(start, 0, 0)
			for at := step; at <= time.Minute; at += step {
				m.Sample(start.Add(at), 4, 0)
			}
			assert.InDelta(t, 4*(1-math.Exp(-1)), m.averages.One, 1e-9, "63% after its period, however often it looks")
			assert.InDelta(t, 4*(1-math.Exp(-1./5)), m.averages.Five, 1e-9)
			assert.InDelta(t, 4*(1-math.Exp(-1./15)), m.averages.Fifteen, 1e-9)
			m.Sample(start.Add(3*time.Hour), 4, 0)
			assert.InDelta(t, 4, m.averages.Fifteen, 1e-4)
			m.Sample(start.Add(3*time.Hour+time.Minute), 0, 0)
			assert.InDelta(t, 4*math.Exp(-1), m.averages.One, 1e-3, "and it fades as fast")
		})
	}
}

func TestNoTimeChangesNothing(t *testing.T) {
	t.Parallel()
	var m Meter
	m.Sample(start, 7, 0)
	m.Sample(start, 7, 0)
	m.Sample(start.Add(-time.Hour), 7, 0)
	assert.Equal(t, Averages{}, m.averages)
}

func TestNewsIsToldOnceAndNotTooOften(t *testing.T) {
	t.Parallel()
	var m Meter
	m.Sample(start, 0, 0)
	assert.Empty(t, m.News(start), "nothing was busy, as everybody assumes")
	m.Sample(start.Add(time.Second), 10, 0)
	first := m.News(start.Add(time.Second))
	assert.Equal(t, "0.17 0.03 0.01", first)
	m.Sample(start.Add(2*time.Second), 10, 0)
	assert.Empty(t, m.News(start.Add(2*time.Second)), "it was told just now")
	m.Untold()
	assert.Equal(t, "0.33 0.07 0.02", m.News(start.Add(2*time.Second)), "nobody has heard it")
	m.Sample(start.Add(8*time.Second), 0, 0)
	assert.NotEmpty(t, m.News(start.Add(8*time.Second)))
	m.Sample(start.Add(24*time.Hour), 0, 0)
	assert.Equal(t, "0.00 0.00 0.00", m.News(start.Add(24*time.Hour)))
	assert.Empty(t, m.News(start.Add(25*time.Hour)), "it is as told")
}

func TestWhatWasToldIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Averages{
		"0.17 0.03 0.01": {0.17, 0.03, 0.01}, "256.00 3.00 1.50": {256, 3, 1.5},
		"": {}, "1 2": {}, "x y z": {}, "NaN 1 1": {}, "1 +Inf 1": {}, "-1 0 0": {}, "1 1 1e300": {},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, Parse(text))
		})
	}
}

func TestProcessorsThatHangAreToldAtOnce(t *testing.T) {
	t.Parallel()
	var m Meter
	m.Sample(start, 2, 0)
	assert.Empty(t, m.News(start))
	m.Sample(start.Add(time.Second), 2, 1)
	assert.Equal(t, "0.03 0.01 0.00 1", m.News(start.Add(time.Second)))
	assert.Empty(t, m.News(start.Add(time.Second)), "that was told")
	m.Sample(start.Add(2*time.Second), 2, 2)
	told := m.News(start.Add(2 * time.Second))
	assert.Equal(t, "0.07 0.01 0.00 2", told, "a change does not wait for the averages")
	assert.Equal(t, Averages{0.07, 0.01, 0}, Parse(told), "so programs of before read it")
	assert.Equal(t, 2, ParseHung(told))
	m.Untold()
	assert.Equal(t, told, m.News(start.Add(2*time.Second)), "nobody has heard it")
	m.Sample(start.Add(2*time.Second), 2, 0)
	assert.Equal(t, "0.07 0.01 0.00", m.News(start.Add(2*time.Second)), "none hangs any more")
}

func TestHungProcessorsThatCannotBeReadAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "0.17 0.03 0.01": 0, "0.17 0.03 0.01 3": 3, "0 0 0 -1": 0,
		"0 0 0 x": 0, "0 0 0 7 of a newer program": 7} {
		assert.Equal(t, want, ParseHung(text), text)
	}
}
