package thoonk

import (
	"context"
	"time"
)

// Stats are what a feed has, and what was done with it.
type Stats struct {
	Items   int // that a leaf or a sorted feed has, or that wait in a queue or a job feed
	Running int // claimed jobs
	Stalled int

	Now time.Time // by Redis' clock, as the times below
	// when the oldest job that has not ended was put in, and the oldest claim was made; zero: there is none, or no time
	// of it. A queue keeps no such times: the released programs take its items without removing one, so they would be
	// left behind
	OldestPut, OldestClaim time.Time

	Counts Counts
	// what was put, published or edited, and the jobs that were finished, by any program that counts it: of feeds in
	// the form of the released programs; else 0. thoonk.js 0.2 does not count what it finishes
	Publishes, Finishes int
}

// Counts are how often this package did something with a feed, since it was created. What other programs do is not in
// them, nor are refused calls.
type Counts struct {
	Put       int // items that were put, published, appended or inserted
	Edited    int // items that were replaced
	Retracted int
	Dropped   int // items of a leaf that gave way to newer ones
	Taken     int // out of a queue
	Claimed   int // jobs, as the following are
	Finished  int
	Cancelled int
	Stalled   int
	Retried   int
	Lapsed    int // claims that were too old, see [JobFeed.Maintain]
}

// Stats reads them, in one or two round trips, whatever the feed's size.
func (f *feed) Stats(ctx context.Context) (stats Stats, err error) {
	err = f.read(ctx, func(ctx context.Context) error {
		s, err := f.db.Stats(ctx)
		stats = Stats{
			Items: s.Waiting, Running: s.Running, Stalled: s.Parked,
			Now: s.Now, OldestPut: s.OldestPut, OldestClaim: s.OldestClaim,
			Counts: Counts{
				Put: s.Counts["put"], Edited: s.Counts["edited"], Retracted: s.Counts["retracted"],
				Dropped: s.Counts["dropped"], Taken: s.Counts["taken"], Claimed: s.Counts["claimed"],
				Finished: s.Counts["finished"], Cancelled: s.Counts["cancelled"], Stalled: s.Counts["stalled"],
				Retried: s.Counts["retried"], Lapsed: s.Counts["lapsed"],
			},
			Publishes: s.Publishes, Finishes: s.Finishes,
		}
		return err
	})
	return stats, err
}
