package maintain

import "github.com/265d0351/work/internal/schedule"

// Homes says what lives in the partition of the namespace that is maintained.
type Homes interface {
	// Map is the version of the map of the partitions by which it says so.
	Map() int64
	// HasSchedule tells whether a schedule lives there, and is not on its way elsewhere.
	HasSchedule(of *schedule.Schedule) bool
	// Tracked tells whether jobs that are bound to the partition are to be listed as they are stored.
	Tracked() bool
	// QueueOf is the queue that the jobs of a name share with others; "" where they have their own.
	QueueOf(name string) string
	// Outdated is called when the partition knows a newer map.
	Outdated(version int64)
}

// everything lives in a namespace that is not divided.
type everything struct{}

func (everything) Map() int64                          { return 0 }
func (everything) HasSchedule(*schedule.Schedule) bool { return true }
func (everything) Tracked() bool                       { return false }
func (everything) QueueOf(string) string               { return "" }
func (everything) Outdated(int64)                      {}
