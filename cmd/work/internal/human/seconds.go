package human

import (
	"slices"
	"strconv"
	"time"
)

// Seconds is a duration as JSON shows it.
type Seconds time.Duration

// MarshalJSON writes a number.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Round(time.Microsecond).Seconds(), 'f', -1, 64), nil
}

// Spread is the middle and the slow end of durations.
type Spread struct {
	P50 Seconds `json:"p50"`
	P99 Seconds `json:"p99"`
}

// SpreadOf sorts the durations and takes the middle and the slow end; of none it is zero.
func SpreadOf(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	at := func(percent int) Seconds { return Seconds(all[(len(all)-1)*percent/100]) }
	return Spread{P50: at(50), P99: at(99)}
}

// String rounds to what a person wants to know.
func (s Seconds) String() string {
	d := time.Duration(s)
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
