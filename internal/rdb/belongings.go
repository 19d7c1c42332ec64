package rdb

// Belongings are what a job may have in Redis beside its record and trail.
type Belongings struct {
	Lock       string   // digest
	Log, State bool     // it has written a log; saved a state, or steps
	Completion string   // the completion queue that gets its id
	Objects    []string // SHA-256 in hex of what its record refers to
	Flow       Membership
}

// None tells that it has nothing.
func (b *Belongings) None() bool {
	return b.Flow.Flow == "" && b.OnlyFlow()
}

// OnlyFlow tells whether it has nothing but, perhaps, a part in a flow: then it may end with others by one call.
func (b *Belongings) OnlyFlow() bool {
	return b.Lock == "" && !b.Log && !b.State && b.Completion == "" && len(b.Objects) == 0
}
