package resize

import (
	"context"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/record"
)

// leavers are what is bound in a partition, by the number of its bucket, as a walk has found it and as it was stored
// since. It lives in memory: whoever goes on with a move walks anew.
type leavers struct {
	m        *partition.Map
	leaves   func(bucket int) bool
	byBucket map[int][]rdb.MoveItem
}

// find walks over all that a partition has. Jobs that only count there are no part of it: see foreigners.
func find(ctx context.Context, store *rdb.Store, m *partition.Map, leaves func(bucket int) bool) (*leavers, error) {
	l := &leavers{m: m, leaves: leaves, byBucket: map[int][]rdb.MoveItem{}}
	err := store.Walk(ctx, rdb.Key{Name: "jobs", Type: "hash"}, func(page []rdb.Field) error {
		for _, field := range page {
			l.addJob(field.Name, field.Value)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = store.LockOwners(ctx, func(digest, _ string) error {
		l.add(partition.BucketOfLock(digest), rdb.MoveItem{Kind: rdb.MoveLock, ID: digest})
		return nil
	})
	if err != nil {
		return nil, err
	}
	schedules, _, err := store.Schedules(ctx)
	for _, schedule := range schedules {
		home := m.OfSchedule(schedule.ID, partition.Job{Name: record.NameIn(schedule.Definition),
			Key: record.KeyIn(schedule.Definition)})
		l.add(home.Bucket, rdb.MoveItem{Kind: rdb.MoveSchedule, ID: schedule.ID})
	}
	return l, err
}

func (l *leavers) add(bucket int, item rdb.MoveItem) {
	if l.leaves(bucket) {
		l.byBucket[bucket] = append(l.byBucket[bucket], item)
	}
}

func (l *leavers) addJob(id string, raw []byte) {
	if job, home := homeOf(l.m, id, raw); home.Bound {
		l.add(home.Bucket, rdb.MoveItem{Kind: rdb.MoveBound, ID: id, Digest: job.Lock, Queue: job.Name, Key: job.Key})
	}
}

// addKnown adds a job that is bound, of which it was noted how.
func (l *leavers) addKnown(item rdb.MoveItem) {
	if item.ID != "" {
		l.add(homeOfItem(l.m, item).Bucket, item)
	}
}

// homeOf is where a job lives. One whose record cannot be read stays where it is, and so does a member of a flow: its
// end counts where the flow is.
func homeOf(m *partition.Map, id string, raw []byte) (partition.Job, partition.Home) {
	if isMember(raw) {
		return partition.Job{}, partition.Home{}
	}
	return bonds(m, id, raw)
}

// isMember tells whether a record is that of a member of a flow.
func isMember(raw []byte) bool {
	rec, err := record.Decode(raw)
	return err == nil && rec.Member() != ""
}

// ofNoFlow tells of which jobs it makes no difference where they are, although they may be members: their flow has
// ended, so nothing that becomes of them counts.
func (m *mover) ofNoFlow(ctx context.Context, ids []string, records [][]byte) ([]bool, error) {
	flows := make([]string, len(ids))
	for i, raw := range records {
		if rec, err := record.Decode(raw); err == nil && rec.Member() != "" {
			flows[i] = rec.Flow
		}
	}
	over, err := m.store.FlowsAreOver(ctx, flows)
	if err != nil {
		return nil, err
	}
	return over, m.stayWithOuter(ctx, flows, over)
}

// stayWithOuter takes back that flows are over which are members at home here of flows in other partitions, where those
// go on: one that is dead may be retried by hand, and counts there then.
func (m *mover) stayWithOuter(ctx context.Context, flows []string, over []bool) error {
	stand, err := flowdb.Of(m.store).Stand(ctx, flows...)
	if err != nil {
		return err
	}
	outer := map[int][]string{}
	for i, at := range stand {
		if over[i] && at.Lodged {
			id, _ := flowdb.OuterOf(flows[i])
			if outer[at.Home] == nil {
				outer[at.Home] = make([]string, len(flows))
			}
			outer[at.Home][i] = id
		}
	}
	for home, ids := range outer {
		ended, err := m.directory.Store(home).FlowsAreOver(ctx, ids)
		if err != nil {
			return at(home, err)
		}
		for i := range over {
			over[i] = over[i] && ended[i]
		}
	}
	return nil
}

// bonds is where a job lives by what its record says, if that can be read.
func bonds(m *partition.Map, id string, raw []byte) (partition.Job, partition.Home) {
	rec, err := record.Decode(raw)
	if err != nil {
		return partition.Job{}, partition.Home{}
	}
	job := partition.Job{Name: rec.Queue(), Key: rec.Key, Lock: rec.Lock}
	if rec.Given {
		job.Given = id
	}
	return job, m.Home(job)
}

// track adds what was stored since the walk.
func (l *leavers) track(ctx context.Context, store *rdb.Store, lead rdb.Lead) error {
	for read := 0; ; {
		items, err := store.Tracked(ctx, lead, read)
		if err != nil || len(items) == 0 {
			return err
		}
		for _, item := range items {
			l.addKnown(item)
		}
		read = len(items)
	}
}

// take returns what is bound to a bucket by the newest map, each once: a name may have been bound since the walk.
func (l *leavers) take(m *partition.Map, bucket int) (items []rdb.MoveItem) {
	type one struct {
		kind rdb.MoveKind
		id   string
	}
	taken := map[one]bool{}
	for _, item := range l.byBucket[bucket] {
		elsewhere := item.Kind == rdb.MoveBound && homeOfItem(m, item).Bucket != bucket
		if this := (one{item.Kind, item.ID}); !taken[this] && !elsewhere {
			taken[this] = true
			items = append(items, item)
		}
	}
	delete(l.byBucket, bucket)
	return items
}
