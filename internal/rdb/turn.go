package rdb

import "strconv"

// MaxTurning is how many queues of a namespace may have jobs with keys.
const MaxTurning = 1024

// MaxWeight is the largest weight of a key.
const MaxWeight = 100

// Turn is what has a job wait by turns: the keys of a queue are served one after the other, each by its weight, however
// many jobs each has. The zero value has no key, and waits in the list of its queue.
type Turn struct {
	Key    string // without NUL
	Weight int    // how many turns the key has where others have one: 1 to MaxWeight, 0 is 1
}

func (t Turn) weight() int { return max(1, t.Weight) }

// text is the turn as the hash of keys has it.
func (t Turn) text() string {
	if t.Key == "" {
		return ""
	}
	return strconv.Itoa(t.weight()) + " " + t.Key
}
