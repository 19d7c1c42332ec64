package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// A flow is in one partition, with its members: where it was first stored, whatever becomes of the buckets then. Who
// looks for one asks the partition that most likely has it, and then all.

// storeOf is the store of the partition where a flow is. The error is [ErrNoFlow] where no partition has it.
func storeOf(ctx context.Context, enq *work.Enqueuer, id string) (*rdb.Store, error) {
	p, err := placeOf(ctx, enq, id)
	return p.store, err
}

// placeOf is where a flow is.
func placeOf(ctx context.Context, enq *work.Enqueuer, id string) (p place, err error) {
	of := inside.Enqueuer(enq)
	parts := of.Partitions
	if err := answered(ctx, parts.Refresh); err != nil {
		return p, err
	}
	if p.m = parts.Map(); p.m.Single() {
		p.store = of.Store.AtMap(p.m.Version)
		return p, nil
	}
	err = answered(ctx, func(ctx context.Context) (err error) {
		p.partition, err = parts.Find(ctx, id+"/", func(ctx context.Context, i int) (bool, error) {
			return flowdb.Of(parts.Guarded(i)).IsFlow(ctx, id)
		})
		return err
	})
	switch {
	case err != nil:
		return p, fmt.Errorf("it is not known where flow %s is: %w", brief(id), err)
	case p.partition < 0:
		return p, fmt.Errorf("flow %s: %w", brief(id), ErrNoFlow)
	}
	p.store = parts.Guarded(p.partition).AtMap(p.m.Version)
	return p, nil
}

// place is where a flow is stored that may be new.
type place struct {
	store     *rdb.Store
	m         *partition.Map
	partition int
}

// errMoving says that the home of a name is being changed.
var errMoving = errors.New("jobs of the name are on their way to another partition")

// placeFor finds out where a flow is stored: where it is already; else where a name lives that is limited, of those
// that its members have, or a key or a lock of one of them; else in the partition of its id. All partitions are asked
// whether they have it, by a map that all of them know: so it is stored in one of them, whoever stores it at the same
// time. One that is fresh is nowhere, and nobody is asked.
func placeFor(ctx context.Context, enq *work.Enqueuer, id string, fresh bool, members []flowdb.Member) (p place,
	err error) {
	of := inside.Enqueuer(enq)
	parts := of.Partitions
	end := time.Now().Add(patience)
	for tries := 0; ; tries++ {
		if err := answered(ctx, parts.Refresh); err != nil {
			return p, err
		}
		p.m = parts.Map()
		if p.m.Single() {
			p.store = of.Store.AtMap(p.m.Version)
			return p, nil
		}
		if p.partition = -1; !fresh {
			p.partition, err = p.find(ctx, parts, id)
		}
		if err == nil && p.partition < 0 {
			p.partition, err = p.home(id, members)
		}
		if err == nil {
			p.store = parts.Guarded(p.partition).AtMap(p.m.Version)
			return p, nil
		}
		if !errors.Is(err, errMoving) || time.Now().After(end) || !backoff.Pause(ctx, movingPause) {
			return p, err
		}
	}
}

// movingPause is how long is waited before it is looked again whether a name is at home.
const movingPause = 50 * time.Millisecond

// find returns the partition that has the flow, or -1.
func (p *place) find(ctx context.Context, parts *partition.Directory, id string) (at int, err error) {
	var all []int
	for i := range p.m.Len() {
		all = append(all, i)
	}
	there, failed := partition.Each(ctx, all, func(ctx context.Context, i int) (found bool, err error) {
		err = answered(ctx, func(ctx context.Context) error {
			found, err = p.has(ctx, parts.Guarded(i), id)
			return err
		})
		return found, err
	}, func(found bool) bool { return found })
	for i, found := range there {
		if found && failed[i] == nil {
			return i, nil
		}
	}
	for _, err := range failed {
		if err != nil {
			return -1, fmt.Errorf("flow %s is not stored, since it may be there already: %w", brief(id), err)
		}
	}
	return -1, nil
}

// has tells whether a partition has the flow. One that knows an older map is given this one first: from then on nobody
// stores it there who goes by that.
func (p *place) has(ctx context.Context, store *rdb.Store, id string) (bool, error) {
	if _, err := store.WriteMap(ctx, p.m.Version, p.m.Encode(), -1); err != nil {
		return false, err
	}
	return flowdb.Of(store).Exists(ctx, id)
}

// home is the partition for a flow that is in none. Members whose names are limited bind it.
func (p *place) home(id string, members []flowdb.Member) (int, error) {
	bound := -1
	for i := range members {
		home := p.m.Home(boundBy(&members[i]))
		if members[i].Queue == "" || !home.Bound {
			continue
		}
		if bound >= 0 {
			if _, err := p.homeOf(id, &members[i]); err != nil {
				return -1, err
			}
			continue
		}
		if home.Moving || p.m.State(home.Partition) != partition.Open {
			return -1, fmt.Errorf("flow %s is not stored: member %s: %w", brief(id), brief(members[i].Name), errMoving)
		}
		bound, p.partition = home.Partition, home.Partition
	}
	if bound >= 0 {
		return bound, nil
	}
	home := p.m.OfFlow(id)
	if p.m.State(home.Partition) == partition.Open {
		return home.Partition, nil
	}
	open := p.m.Open()
	return open[home.Bucket%len(open)], nil // its bucket is about to leave, and the flow would stay
}

// boundBy is what may bind a member to a partition.
func boundBy(m *flowdb.Member) partition.Job {
	return partition.Job{Name: m.Queue, Key: m.Terms.Turn.Key, Lock: m.Terms.Lock.Digest}
}

// homeOf is the partition where a member is at home: that of its flow, unless its name, its key or its lock lives
// elsewhere.
func (p *place) homeOf(id string, m *flowdb.Member) (int, error) {
	if p.m == nil || p.m.Single() || m.Queue == "" {
		return p.partition, nil
	}
	home := p.m.Home(boundBy(m))
	switch {
	case !home.Bound || home.Partition == p.partition:
		return p.partition, nil
	case home.Moving || p.m.State(home.Partition) != partition.Open:
		return -1, fmt.Errorf("flow %s is not stored: member %s: %w", brief(id), brief(m.Name), errMoving)
	case m.Lodged == nil: // what runs at the end does so where the flow is
		return -1, errElsewhere(p, id, m, home)
	}
	return home.Partition, nil
}

// errElsewhere refuses what runs at the end of a flow, and lives in another partition than that.
func errElsewhere(p *place, id string, m *flowdb.Member, home partition.Home) error {
	why := home.By
	if name := needs.Name(m.Queue); p.m.Limited(name) {
		why = "the name " + brief(name) + " is limited"
	}
	return mistake("the job at the end "+brief(m.Name)+" of flow "+brief(id),
		fmt.Sprintf("bound to partition %d, as %s, and the flow to partition %d", home.Partition, why, p.partition),
		"have that job enqueue another one, which then lives where it belongs")
}
