package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/retry"
)

// located is an error with the partition that it is about, where there are several.
func (l *lanes) located(err error, at *site) error {
	var found *partition.Error
	if err == nil || !l.divided(at) || errors.As(err, &found) {
		return err
	}
	return &partition.Error{Partition: at.number, Err: err}
}

// divided tells whether a partition is one of several.
func (l *lanes) divided(at *site) bool { return at.number > 0 || !l.current().Single() }

// stale tells whether a request goes by another map than the call that it would be part of.
func (c *batchCall) stale(p *pendingRequest) bool { return p.version != c.version }

// reroute is the answer to those who are to find out anew where their jobs go.
func (c *batchCall) reroute() answer {
	return answer{outcome: returned, err: c.trouble, of: callID{c.lane, c.lane.number}}
}

// routed gives the jobs back where the partition knows a newer map, and returns whether that is so. It says that no
// attempt was executed: a call that was would have been answered. None will be either: whichever is still on its way
// names the same version of the map.
func (c *batchCall) routed(err error) bool {
	var newer *rdb.RouteError
	if c.lanes.Directory == nil || !errors.As(err, &newer) {
		return false
	}
	c.lanes.mu.Lock()
	c.uncertain = false
	a := c.reroute()
	c.lanes.mu.Unlock()
	a.newer = newer.Version
	c.finish(a, rdb.Rewind{})
	return true
}

// moves tells whether a call that has failed is given back, since it was not executed and its jobs may go elsewhere:
// to another partition, or by a newer map.
func (c *batchCall) moves(err error, class retry.Class) bool {
	l := c.lanes
	if l.Directory == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.uncertain || !movable(err, class.Again, class.MayCount) {
		return false
	}
	m := l.current()
	if m.Version != c.version {
		return true
	}
	if m.Version == 0 && class.Again {
		l.findMap()
	}
	at := c.lane.desk.site
	if at != nil && !c.loose() {
		return false
	}
	if !class.Again {
		c.lane.site.note(false) // full, or not to be used: others may be
	}
	return l.elsewhere(m, c.lane.site)
}

// loose tells whether all requests of a call may go to another partition.
func (c *batchCall) loose() bool {
	for _, p := range c.requests {
		if !p.loose {
			return false
		}
	}
	return true
}

// lookApart is the least time between two looks for a map by one who knows of none.
const lookApart = time.Second

// findMap looks for a map where the first partition cannot be reached and nothing is known of others: who starts while
// it is away learns of them so. mu is held.
func (l *lanes) findMap() {
	if now := time.Now(); now.Sub(l.asked) >= lookApart {
		l.asked = now
		l.serving.Go(func() {
			ctx, cancel := context.WithTimeout(l.life, l.Timeout)
			defer cancel()
			_ = l.Directory.Refresh(ctx) // who waits tries again
		})
	}
}

// learn waits for the map of which a partition has spoken, until ctx ends.
func (l *lanes) learn(ctx context.Context, a *answer) error {
	var failures backoff.Failures
	for l.current().Version < a.newer {
		err := l.Directory.RefreshFrom(ctx, a.of.lane.site.number)
		if l.current().Version >= a.newer {
			return nil
		}
		if !failures.Pause(ctx) {
			return retry.JoinCause(context.Cause(ctx), l.located(err, a.of.lane.site))
		}
	}
	return nil
}

// How often it is looked whether something has arrived that is being moved.
const (
	movingWait        = 5 * time.Millisecond
	longestMovingWait = 100 * time.Millisecond
)

// arrival waits until what a job is bound by is in one place, and returns the map that says so. It is found out by
// asking where it comes from, which knows first.
func (l *lanes) arrival(ctx context.Context, job partition.Job) (*partition.Map, partition.Home, error) {
	wait := movingWait
	for {
		changed := l.Directory.Changed()
		m := l.current()
		home := m.Home(job)
		if !home.Moving {
			return m, home, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
			asking, cancel := context.WithTimeout(ctx, time.Second)
			_ = l.Directory.RefreshFrom(asking, home.Partition) // it is asked again
			cancel()
			wait = min(2*wait, longestMovingWait)
		case <-ctx.Done():
			timer.Stop()
			return m, home, moving(context.Cause(ctx), m, home, job.Name)
		}
		timer.Stop()
	}
}

// moving is the error of a job that could not wait until it was there.
func moving(cause error, m *partition.Map, home partition.Home, name string) error {
	what := fmt.Sprintf("job %s is bound to bucket %d, since %s", excerpt.Brief(name), home.Bucket, home.By)
	to, known := m.Moving[home.Bucket]
	if !known {
		return fmt.Errorf("%s, and is being brought to partition %d: %w", what, home.Partition, cause)
	}
	return fmt.Errorf("%s, which is being moved from partition %d to %d: %w", what, home.Partition, to, cause)
}
