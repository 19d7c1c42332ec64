// Package wallclock is the clock of this machine as the framework sees it. Tests make it wrong.
package wallclock

import (
	"sync/atomic"
	"time"
)

var shift atomic.Int64 // ns

// Now is time.Now, plus what Shift said. Two of its times tell how long something took like those of time.Now do,
// unless the shift changed in between. It may be called concurrently.
func Now() time.Time { return time.Now().Add(time.Duration(shift.Load())) }

// Shift puts Now that far ahead of the clock of the machine; with a negative d behind it, with zero right again. It is
// for tests, and holds for the whole process: only a process of its own should call it. It may be called concurrently.
func Shift(d time.Duration) { shift.Store(int64(d)) }
