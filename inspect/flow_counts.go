package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb/flowlook"
)

// FlowCounts is how many flows there are, and which of them wait: see [Inspector.FlowCounts].
type FlowCounts struct {
	Unsealed  int `json:"unsealed"`  // that are being stored, or whose store was cut off: nothing of them runs
	Running   int `json:"running"`   // also those that are paused
	Ended     int `json:"ended"`     // that are kept still
	Releasing int `json:"releasing"` // about which something is left to be done, by any worker

	// Members that have not ended, of the MembersOf flows that run longest, at most 500 in each partition.
	MembersLeft int `json:"members_left"`
	MembersOf   int `json:"members_of"`

	// Since when the oldest of each run, wait to be gone on with, or, of those that are not sealed, had a part stored
	// last, to an hour. Zero where there is none.
	OldestRunning   time.Time `json:"oldest_running,omitzero"`
	OldestReleasing time.Time `json:"oldest_releasing,omitzero"`
	OldestUnsealed  time.Time `json:"oldest_unsealed,omitzero"`

	AsOf time.Time `json:"as_of"` // Redis' clock
}

// FlowCounts counts flows, at a cost that does not grow with how many there are. Each number is right by itself.
func (i *Inspector) FlowCounts(ctx context.Context) (FlowCounts, error) {
	return readAll(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) (FlowCounts, error) {
		c, err := flowlook.Of(v.store).Count(ctx)
		if err != nil {
			return FlowCounts{}, fmt.Errorf("the flows cannot be counted: %w", err)
		}
		return FlowCounts{Unsealed: c.Filling, Running: c.Running, Ended: c.Ended, Releasing: c.Busy,
			MembersLeft: c.MembersLeft, MembersOf: c.Looked, OldestRunning: c.OldestRunning,
			OldestReleasing: c.OldestBusy, OldestUnsealed: c.OldestFilling, AsOf: c.Time}, nil
	}, (*FlowCounts).add)
}

// add adds those of another partition.
func (c *FlowCounts) add(one FlowCounts) {
	c.Unsealed += one.Unsealed
	c.Running += one.Running
	c.Ended += one.Ended
	c.Releasing += one.Releasing
	c.MembersLeft += one.MembersLeft
	c.MembersOf += one.MembersOf
	c.OldestRunning = earlier(c.OldestRunning, one.OldestRunning)
	c.OldestReleasing = earlier(c.OldestReleasing, one.OldestReleasing)
	c.OldestUnsealed = earlier(c.OldestUnsealed, one.OldestUnsealed)
	c.AsOf = later(c.AsOf, one.AsOf)
}
