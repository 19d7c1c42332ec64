package subscription

import (
	"sync/atomic"

	"github.com/265d0351/work/internal/rdb"
)

// Desired is the state in which an operator wants a worker. Its zero value is that nobody wants anything. One goroutine
// applies, any may ask.
type Desired struct{ state atomic.Value } // rdb.Command

// Apply notes what is wanted now, and tells whether that is something new. One that is to stay quiet does so, even if
// Redis has forgotten that it was to be, and one that is to stop stops, if need be at once.
func (d *Desired) Apply(wanted rdb.Command) (changed bool) {
	before := d.Now()
	if wanted == before || lasting[before] > 0 && lasting[wanted] <= lasting[before] {
		return false
	}
	d.state.Store(wanted)
	return true
}

// lasting are the commands that only a stronger one takes the place of.
var lasting = map[rdb.Command]int{rdb.CommandQuiet: 1, rdb.CommandStop: 2, rdb.CommandNow: 3}

// Now is what is wanted, "" for nothing.
func (d *Desired) Now() rdb.Command {
	wanted, _ := d.state.Load().(rdb.Command)
	return wanted
}
