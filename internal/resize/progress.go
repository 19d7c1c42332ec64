package resize

// Progress is how far a resize has come.
type Progress struct {
	Wanted         int // how many partitions there are to be
	Buckets, Moved int // of those that are to be moved, and that were
	Jobs           int // that were moved
	Left           int // jobs in partitions that go: they are worked off
	Waiting        error
}
