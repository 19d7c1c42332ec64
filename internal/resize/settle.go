package resize

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// Settle does what is left to do in one partition after a move: it brings away what was in hand of a worker then and is
// no more, tells where jobs have ended, brings names home that somebody has begun to, puts limits in force that were
// held, tells other partitions what was said of queues while they were away, and empties and closes a partition that is
// to go. It returns how much is left that it waits for. Whoever does the maintenance there calls it once a second for
// as long as there is some; where another one is at it, it does nothing.
func Settle(ctx context.Context, directory *partition.Directory, i int) (left int, err error) {
	if directory.Map().Single() {
		return 0, nil
	}
	return settle(ctx, directory, i, nil)
}

func settle(ctx context.Context, directory *partition.Directory, i int, moved func(int)) (left int, err error) {
	draining := directory.Map().State(i) == partition.Draining
	there, err := directory.Store(i).Remaining(ctx)
	if err != nil {
		return 0, at(i, err)
	}
	if there.Stragglers+there.Frozen > 0 || draining {
		led, err := leave(ctx, directory, i, moved)
		if err != nil || !led {
			return there.Stragglers + there.Jobs, err
		}
	}
	binding, err := settleBinding(ctx, directory, i)
	if err != nil {
		return there.Hints + binding, err
	}
	held, err := settleRules(ctx, directory, i)
	held += binding
	if err == nil {
		keys, failed := settleKeys(ctx, directory, i)
		held, err = held+keys, failed
	}
	if err != nil {
		return held + there.Hints, err
	}
	if there.Hints > 0 {
		if left, err := tellHints(ctx, directory, i); err != nil {
			return there.Stragglers + held + left, err
		}
	}
	if there, err = directory.Store(i).Remaining(ctx); err != nil {
		return 0, at(i, err)
	}
	if there.Tracked > 0 {
		if err := forgetTracked(ctx, directory, i); err != nil {
			return there.Stragglers, err
		}
	}
	if draining && there.Nothing() && !slices.Contains(placed(directory.Map()), i) {
		return shut(ctx, directory, i)
	}
	if draining {
		return there.Jobs + there.Frozen + there.Foreign + there.Hints + there.Flows, nil
	}
	return there.Stragglers + held + there.Hints, nil
}

// forgetTracked removes the list of what was stored in a partition while it was to be moved, where nobody wants it: the
// mover has died that was about to, or nothing is to be moved from there any more. Should somebody begin anew meanwhile
// the map is another one, and the list stays.
func forgetTracked(ctx context.Context, directory *partition.Directory, i int) error {
	m := directory.Map()
	if m.Tracking && (m.State(i) != partition.Draining || slices.Contains(placed(m), i)) {
		return nil
	}
	return at(i, directory.Store(i).ForgetTracked(ctx, m.Version))
}

// leave is what a mover does that settles in a partition. It tells whether it could lead there all the time.
func leave(ctx context.Context, directory *partition.Directory, i int, moved func(int)) (led bool, err error) {
	m, err := tryMover(ctx, directory, i)
	if err != nil || m == nil {
		return false, err
	}
	defer m.close(ctx)
	m.moved = moved
	err = m.settle(ctx, directory.Map().State(i) == partition.Draining)
	if errors.Is(err, rdb.ErrLed) {
		return false, nil
	}
	return true, err
}

// shut closes a partition in which nothing is, and for which nothing is on its way, unless it is there to be opened. It
// looks when all know that nothing new may go there: what was on its way then is there, or is seen in another
// partition, or is refused.
func shut(ctx context.Context, directory *partition.Directory, i int) (left int, err error) {
	var looked error
	err = decide(ctx, directory, func(m *partition.Map) bool {
		coming := slices.Contains(slices.Collect(maps.Values(m.Moving)), i)
		if m.State(i) != partition.Draining || coming || slices.Contains(placed(m), i) || i < m.Wanted {
			return false
		}
		if left, looked = expected(ctx, directory, m, i); looked != nil || left > 0 {
			return false
		}
		m.States[i] = partition.Closed
		return true
	})
	return left, cmp.Or(err, looked)
}

// expected is how much is in a partition, or may be on its way there.
func expected(ctx context.Context, directory *partition.Directory, m *partition.Map, i int) (left int, err error) {
	for from := range m.Len() {
		if m.State(from) == partition.Closed {
			continue
		}
		there, err := directory.Store(from).Remaining(ctx)
		if err != nil {
			return 0, at(from, err)
		}
		if left += there.Frozen; from == i {
			left += there.Jobs + there.Stragglers + there.Foreign + there.Schedules + there.Hints + there.Flows
			continue
		}
		stragglers, err := directory.Store(from).Stragglers(ctx)
		if err != nil {
			return 0, at(from, err)
		}
		for _, s := range stragglers {
			if s.Partition == i {
				left++
			}
		}
	}
	return left, nil
}

// settle moves what nobody holds any more.
func (m *mover) settle(ctx context.Context, draining bool) error {
	if err := m.finish(ctx); err != nil {
		return err
	}
	stragglers, err := m.store.Stragglers(ctx)
	if err != nil {
		return at(m.source, err)
	}
	byTarget := map[int][]rdb.MoveItem{}
	for _, s := range stragglers {
		if byMap := m.directory.Map(); byMap.State(s.Partition) == partition.Closed {
			s.Partition = byMap.Home(partition.Job{Name: s.Queue, Key: s.Key, Lock: s.Digest, Given: s.ID}).Partition
		}
		byTarget[s.Partition] = append(byTarget[s.Partition],
			rdb.MoveItem{Kind: rdb.MoveKnown, ID: s.ID, Digest: s.Digest, Queue: s.Queue, Key: s.Key})
	}
	for target, items := range byTarget {
		if err := m.inOrder(ctx, items); err != nil {
			return err
		}
		if err := m.transfer(ctx, target, items, true); err != nil {
			return err
		}
	}
	if draining {
		return m.emptyShelves(ctx)
	}
	return nil
}

// inOrder sorts jobs that go to the front of their queues: those that come first last, as each is put before the
// others.
func (m *mover) inOrder(ctx context.Context, items []rdb.MoveItem) error {
	places, names := map[string]int{}, map[string]bool{}
	for _, item := range items {
		if names[item.Queue] {
			continue
		}
		names[item.Queue] = true
		for _, read := range m.fronts() {
			front, err := read(ctx, item.Queue)
			if err != nil {
				return at(m.source, err)
			}
			for i, id := range front {
				places[id] = len(front) - i
			}
		}
	}
	slices.SortStableFunc(items, func(a, b rdb.MoveItem) int { return places[a.ID] - places[b.ID] })
	return nil
}

// emptyShelves spreads what is on the shelves over the open partitions.
func (m *mover) emptyShelves(ctx context.Context) error {
	open, turn := m.directory.Map().Open(), 0
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry, rdb.ShelfStalled, rdb.ShelfMorgue} {
		err := m.store.Walk(ctx, rdb.Key{Name: string(shelf), Type: "zset"}, func(page []rdb.Field) error {
			turn++
			return m.moveLoose(ctx, open[turn%len(open)], page)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveLoose brings jobs from a shelf to another partition, those that are bound to theirs.
func (m *mover) moveLoose(ctx context.Context, target int, page []rdb.Field) error {
	ids := make([]string, len(page))
	for i, field := range page {
		ids[i] = field.Name
	}
	records, err := m.store.Records(ctx, ids)
	if err != nil {
		return at(m.source, err)
	}
	loose, err := m.ofNoFlow(ctx, ids, records)
	if err != nil {
		return at(m.source, err)
	}
	byTarget := map[int][]rdb.MoveItem{}
	for i, id := range ids {
		job, home := homeOf(m.directory.Map(), id, records[i])
		if job.Name == "" && loose[i] {
			job, home = bonds(m.directory.Map(), id, records[i])
		}
		to := target
		if home.Bound {
			to = home.Partition
		}
		if job.Name != "" && to != m.source && !home.Moving {
			byTarget[to] = append(byTarget[to],
				rdb.MoveItem{Kind: rdb.MoveLoose, ID: id, Digest: job.Lock, Queue: job.Name, Key: job.Key})
		}
	}
	for to, items := range byTarget {
		if err := m.transfer(ctx, to, items, false); err != nil {
			return err
		}
	}
	return nil
}
