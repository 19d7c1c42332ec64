package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/hung"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// ErrNoQueue is returned where a queue of that name is needed and there is none.
var ErrNoQueue = errors.New(
	"there is no such queue: no job of that name was enqueued and no worker serves it, as far as the last 30 days go")

// QueueInfo is a queue: the jobs of one name, whatever they need, or of all names that share it.
type QueueInfo struct {
	Name    string `json:"name"`
	Waiting int    `json:"waiting"` // for a worker; jobs that are due later wait elsewhere
	// since when the job that runs next could have run: it was enqueued, or due, then; zero when none waits
	Oldest time.Time `json:"oldest,omitzero"`
	// of Waiting: jobs that may not begin, since their keys have no room for them; and about how many keys have jobs
	// that wait for their turn, see Inspector.Keys
	Parked  int        `json:"parked,omitzero"`
	Keys    int        `json:"keys,omitzero"`
	Running int        `json:"running"`         // claimed by workers
	Paused  bool       `json:"paused"`          // the queue is, or all are; with partitions in any of them
	Limit   *LimitInfo `json:"limit,omitempty"` // nil where there is none
	Workers int        `json:"workers"`         // with a heartbeat, that serve it. With 0 what waits will wait on
	Hung    int        `json:"hung,omitzero"`   // of Workers, begin no job: see WorkerInfo.Hangs

	Done   int64 `json:"done"`   // jobs in the last five full minutes
	Failed int64 `json:"failed"` // attempts in these minutes that failed, those of Dead among them
	Dead   int64 `json:"dead"`   // jobs that went to the morgue in these minutes

	// when it was last seen with jobs or a worker, which is looked at every few minutes
	LastActive time.Time `json:"last_active,omitzero"`
	DestroyAt  time.Time `json:"destroy_at,omitzero"` // see DestroyQueueAt; zero where nobody wants that
	// of the jobs above those that need labels, by labels, if there are any; nil else
	Needs []QueueNeeds `json:"needs,omitempty"`
	// of a queue that names share (work.JobOptions.Queue) these, in order, and of a name that shares one that queue:
	// there its jobs wait and run, and are counted but for Done, Failed and Dead, which are by name
	Names       []string `json:"names,omitempty"`
	SharedQueue string   `json:"shared_queue,omitzero"`
	// what is wrong with its key: then Waiting and Oldest are not known, and doctor.Examine mends it
	Problem string `json:"problem,omitzero"`
}

// Queues returns all queues, by name. Each number is right by itself; together they are of moments right after each
// other. What it costs grows with how many queues and workers there are and with how many jobs run, and not with how
// many wait.
func (i *Inspector) Queues(ctx context.Context) ([]QueueInfo, error) {
	infos, err := readAll(ctx, i.everywhere(ctx), (*view).allQueues, addQueues)
	sharing(i.partitions.Map(), infos)
	return infos, err
}

func (v *view) allQueues(ctx context.Context) ([]QueueInfo, error) {
	seen, err := v.store.QueueNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("the names of the queues cannot be read: %w", err)
	}
	infos, err := v.queues(ctx, seen)
	if err != nil {
		return nil, fmt.Errorf("the queues cannot be read: %w", err)
	}
	return infos, nil
}

// addQueues adds what other partitions have of queues. What runs next in any of them is what is told of a queue.
func addQueues(all *[]QueueInfo, ones []QueueInfo) {
	addByName(all, ones, func(q *QueueInfo) string { return q.Name }, (*QueueInfo).add)
}

// addByName adds what another partition has to what is known under the same names, and sorts by these.
func addByName[T any](all *[]T, ones []T, name func(*T) string, add func(of, one *T)) {
	by := make(map[string]int, len(*all))
	for n := range *all {
		by[name(&(*all)[n])] = n
	}
	for i := range ones {
		if n, known := by[name(&ones[i])]; known {
			add(&(*all)[n], &ones[i])
		} else {
			*all = append(*all, ones[i])
		}
	}
	slices.SortFunc(*all, func(a, b T) int { return strings.Compare(name(&a), name(&b)) })
}

func (q *QueueInfo) add(one *QueueInfo) {
	q.Waiting, q.Running = q.Waiting+one.Waiting, q.Running+one.Running
	q.Parked, q.Keys = q.Parked+one.Parked, q.Keys+one.Keys
	q.Workers, q.Hung = q.Workers+one.Workers, q.Hung+one.Hung
	q.Done, q.Failed, q.Dead = q.Done+one.Done, q.Failed+one.Failed, q.Dead+one.Dead
	q.Oldest, q.DestroyAt = earlier(q.Oldest, one.Oldest), earlier(q.DestroyAt, one.DestroyAt)
	q.LastActive = later(q.LastActive, one.LastActive)
	q.addNeeds(one.Needs)
	q.Paused, q.Problem = q.Paused || one.Paused, cmp.Or(q.Problem, one.Problem)
	switch {
	case q.Limit == nil:
		q.Limit = one.Limit
	case one.Limit != nil:
		q.Limit.add(one.Limit)
	}
}

// sharing fills in which names share queues with others, by a map: see work.JobOptions.Queue.
func sharing(m *partition.Map, infos []QueueInfo) {
	if len(m.Queues) == 0 {
		return
	}
	for n := range infos {
		info := &infos[n]
		info.Names, info.SharedQueue = m.Sharing(info.Name), m.QueueOf(info.Name)
	}
}

// earlier is the earlier of two times, where both are set.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Queue returns one queue, or an error that is [ErrNoQueue].
func (i *Inspector) Queue(ctx context.Context, name string) (QueueInfo, error) {
	if err := inside.AsInvalid(invalid.JobName(name)); err != nil {
		return QueueInfo{}, err
	}
	infos, err := gather(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) ([]QueueInfo, error) {
		info, err := v.queue(ctx, name)
		switch {
		case errors.Is(err, ErrNoQueue):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []QueueInfo{info}, nil
	}, addQueues)
	switch {
	case len(infos) > 0:
		sharing(i.partitions.Map(), infos)
		return infos[0], noted(ctx, err)
	case err == nil && i.partitions.Map().QueueOf(name) != "": // all of its jobs wait there
		infos = []QueueInfo{{Name: name}}
		sharing(i.partitions.Map(), infos)
		return infos[0], nil
	case err == nil:
		err = fmt.Errorf("queue %s cannot be read: %w", excerpt.Brief(name), ErrNoQueue)
	}
	return QueueInfo{}, err
}

func (v *view) queue(ctx context.Context, name string) (QueueInfo, error) {
	seen, err := queuesSeen(ctx, v.store, name)
	if err == nil && len(seen) == 0 {
		err = ErrNoQueue
	}
	var infos []QueueInfo
	if err == nil {
		infos, err = v.queues(ctx, seen)
	}
	if err != nil {
		return QueueInfo{}, fmt.Errorf("queue %s cannot be read: %w", excerpt.Brief(name), err)
	}
	return infos[0], nil
}

// queues reads what there is of queues that were seen at those times.
func (v *view) queues(ctx context.Context, seen map[string]time.Time) ([]QueueInfo, error) {
	names := slices.Sorted(maps.Keys(seen))
	infos := make([]QueueInfo, len(names))
	for n, name := range names {
		infos[n] = QueueInfo{Name: name, LastActive: seen[name]}
	}
	fill := func(fillings ...func(context.Context, []QueueInfo) error) error {
		for _, one := range fillings {
			if err := one(ctx, infos); err != nil {
				return err
			}
		}
		return nil
	}
	if err := fill(v.waiting, v.claimed); err != nil {
		return nil, err
	}
	infos = byName(infos)
	return infos, fill(v.restrained, v.rates, v.doomed)
}

// waiting fills in what waits, and since when.
func (v *view) waiting(ctx context.Context, infos []QueueInfo) error {
	names := make([]string, len(infos))
	for n := range infos {
		names[n] = infos[n].Name
	}
	tips, err := v.store.QueueHeads(ctx, names)
	if err != nil {
		return err
	}
	var first []rdb.SeenJob
	var of []*QueueInfo
	for n, tip := range tips {
		infos[n].Waiting, infos[n].Parked, infos[n].Keys = tip.Length, tip.Parked, tip.Keys
		switch {
		case tip.Err != nil:
			infos[n].Problem = tip.Err.Error()
		case tip.First != "":
			first = append(first, rdb.SeenJob{JobPlace: rdb.JobPlace{ID: tip.First, Queue: infos[n].Name}})
			of = append(of, &infos[n])
		}
	}
	for size := minLookup; len(first) > 0; {
		page := first[:min(size, len(first))]
		_, bytes, err := v.store.Describe(ctx, page)
		if err != nil {
			return err
		}
		for n := range page {
			of[n].Oldest = dueTime(&page[n])
		}
		first, of = first[len(page):], of[len(page):]
		size = nextLookup(size, bytes)
	}
	return nil
}

// dueTime is since when a job could have run; zero where its record does not tell.
func dueTime(seen *rdb.SeenJob) time.Time {
	var job JobInfo
	job.readRecord(seen.Record)
	job.readTrail(record.DecodeTrail(seen.Trail))
	return job.RunAt
}

// claimed fills in what runs, and who could run more.
func (v *view) claimed(ctx context.Context, infos []QueueInfo) error {
	running, err := v.store.ClaimsByQueue(ctx)
	if err != nil {
		return err
	}
	serving, err := hung.ServingOf(ctx, v.store)
	for n := range infos {
		name := infos[n].Name
		infos[n].Running, infos[n].Workers, infos[n].Hung = running[name], serving[name].Workers, serving[name].Hung
	}
	return err
}

// restrained fills in pauses and limits.
func (v *view) restrained(ctx context.Context, infos []QueueInfo) error {
	limits, err := v.limits(ctx)
	if err != nil {
		return err
	}
	all, err := v.store.RuleOf(ctx, rdb.Everything)
	if err != nil {
		return err
	}
	by := make(map[string]*LimitInfo, len(limits))
	for n := range limits {
		by[limits[n].Name] = &limits[n]
	}
	for n := range infos {
		limit := by[infos[n].Name]
		infos[n].Paused = all != "" || limit != nil && limit.Paused
		if limit != nil && (limit.Limit != work.Limit{} || limit.Operator || limit.Service != "" ||
			limit.Problem != nil) {
			infos[n].Limit = limit
		}
	}
	return nil
}

// ratedMinutes is over how many full minutes a queue tells what became of its jobs.
const ratedMinutes = 5

// rates fills in what was done, failed and died in the last full minutes.
func (v *view) rates(ctx context.Context, infos []QueueInfo) error {
	if len(infos) == 0 {
		return nil // no names would be all names
	}
	now, err := v.store.Time(ctx)
	if err != nil {
		return err
	}
	byName := make(map[string]*QueueInfo, len(infos))
	names := make([]string, len(infos))
	for n := range infos {
		names[n] = infos[n].Name
		byName[names[n]] = &infos[n]
	}
	at := make([]time.Time, ratedMinutes)
	for n := range at {
		at[n] = now.UTC().Truncate(time.Minute).Add(-time.Duration(n+1) * time.Minute)
	}
	return v.store.Minutes(ctx, at, names, func(_ time.Time, sums rdb.Sums) {
		point := history.Parse(sums.Counts)
		info := byName[sums.Name]
		info.Done, info.Failed = info.Done+point.Done, info.Failed+point.Failed+point.Dead
		info.Dead += point.Dead
	})
}
