package wallclock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestShift is the only test of this package, as the shift is the process' own.
func TestShift(t *testing.T) {
	t.Cleanup(func() { Shift(0) })
	for _, by := range []time.Duration{-3 * time.Hour, 26 * time.Hour, 0} {
		t.Run(by.String(), func(t *testing.T) {
			before := time.Now()
			Shift(by)
			now := Now()
			after := time.Now()
			assert.False(t, now.Before(before.Add(by)), "not earlier than the shift says")
			assert.False(t, now.After(after.Add(by)), "nor later")
			assert.False(t, now.Round(0).After(after.Add(by).Round(0)), "as a date as well")
			assert.False(t, now.Round(0).Before(before.Add(by).Round(0)))
		})
	}
}
