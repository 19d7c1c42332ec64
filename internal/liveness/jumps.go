package liveness

import "time"

// Jumps sees that Redis' clock was set back: from one heartbeat to the next less time passed there than here. It is the
// heartbeater's alone.
type Jumps struct {
	theirs, ours time.Time // of the last heartbeat: Redis' clock; when it was sent, by the monotonic clock
	dealt        bool      // somebody has dealt with the last jump; at the beginning nobody knows whether there was one
}

// slack is how much longer the way to Redis may take for one heartbeat than for the next.
const slack = 500 * time.Millisecond

// SetBack notes a heartbeat, and tells whether the clock was set back since a jump was last dealt with.
func (j *Jumps) SetBack(theirs, ours time.Time) bool {
	if !j.ours.IsZero() && ours.Sub(j.ours)-theirs.Sub(j.theirs) > slack {
		j.dealt = false
	}
	j.theirs, j.ours = theirs, ours
	return !j.dealt
}

// Dealt notes whether somebody has dealt with the last jump. Until then SetBack goes on to tell of it.
func (j *Jumps) Dealt(dealt bool) { j.dealt = dealt }
