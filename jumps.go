package work

import "time"

// jumps sees that Redis' clock was set back: from one heartbeat to the next less time passed there than here.
type jumps struct {
	theirs, ours time.Time // of the last heartbeat: Redis' clock; when it was sent, by the monotonic clock
	told         bool      // somebody has dealt with the last jump; at the beginning nobody knows whether there was one
}

// jumpSlack is how much longer the way to Redis may take for one heartbeat than for the next.
const jumpSlack = 500 * time.Millisecond

// setBack tells whether the clock was set back since told was last true.
func (j *jumps) setBack(theirs, ours time.Time) bool {
	if !j.ours.IsZero() && ours.Sub(j.ours)-theirs.Sub(j.theirs) > jumpSlack {
		j.told = false
	}
	j.theirs, j.ours = theirs, ours
	return !j.told
}
