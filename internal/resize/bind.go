package resize

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Bind makes a name one that lives in one partition, since it is about to be limited: all of its jobs are brought
// there, but those that workers hold, which count there as running. It returns when that is so, and at once where it
// was, or where there is one partition. While a partition is away that jobs of the name may be in, it waits until ctx
// ends. Anybody may call it again, and goes on. It waits for a move of its bucket that is under way.
func Bind(ctx context.Context, directory *partition.Directory, name string) error {
	var before error
	for failures := 0; ; failures++ {
		err := directory.Refresh(ctx)
		if err == nil {
			if m := directory.Map(); m.Single() || slices.Contains(m.Bound,
				name) && !m.Home(partition.Job{Name: name}).Moving {
				return nil
			}
			if onItsWay(directory.Map(), name) {
				err = errMoving
			} else if err = bind(ctx, directory, name, newMover); err == nil {
				continue // its bucket may have been moved meanwhile
			}
		}
		if !backoff.Pause(ctx, min(time.Second, 50*time.Millisecond<<min(failures, 5))) {
			return excerpt.Error(telling(before, err))
		}
		before = err
	}
}

// telling is which of the errors of the last two tries says what keeps a name from its home: the end of the caller's
// time may cut a try off anywhere, and would name a partition that is well.
func telling(before, last error) error {
	if before != nil && (errors.Is(last, context.DeadlineExceeded) || errors.Is(last, context.Canceled)) {
		return before
	}
	return last
}

// errMoving says that whoever moves the bucket of a name has to be done first: both would bring its jobs back and
// forth.
var errMoving = errors.New("the bucket of the name is on its way to another partition")

func onItsWay(m *partition.Map, name string) bool {
	_, moving := m.Moving[partition.BucketOfName(name)]
	return moving
}

// leading is how somebody comes to lead in a partition: [newMover], or [tryMover], which has no mover for who is not to
// wait for another one.
type leading func(ctx context.Context, directory *partition.Directory, source int) (*mover, error)

// bind tells everybody that the name is being brought home, does so, and tells that it is there.
func bind(ctx context.Context, directory *partition.Directory, name string, lead leading) error {
	err := decide(ctx, directory, func(m *partition.Map) bool {
		if m.Limited(name) {
			return false
		}
		m.Binding = append(m.Binding, name)
		slices.Sort(m.Binding)
		return true
	})
	if err != nil {
		return err
	}
	home := &homeward{directory: directory, name: name, lead: lead,
		target: directory.Map().Home(partition.Job{Name: name}).Partition}
	for i := range directory.Map().Len() {
		if i == home.target || directory.Map().State(i) == partition.Closed {
			continue
		}
		if err := home.bring(ctx, i); err != nil {
			return err
		}
	}
	err = decide(ctx, directory, func(m *partition.Map) bool {
		at := slices.Index(m.Binding, name)
		if at < 0 || onItsWay(m, name) || m.Home(partition.Job{Name: name}).Partition != home.target {
			return false
		}
		m.Binding = slices.Delete(m.Binding, at, at+1)
		m.Bound = append(m.Bound, name)
		slices.Sort(m.Bound)
		return true
	})
	for i := 0; i < directory.Map().Len() && err == nil; i++ {
		if directory.Map().State(i) != partition.Closed {
			_, err = settleKeys(ctx, directory, i) // what another mover is at is left to it
		}
	}
	return err
}

// settleBinding goes on with names that are to live in this partition, as whoever began to bring them home may have
// died: nothing of them is stored meanwhile. It returns of how many it is not done, as others are at work there.
func settleBinding(ctx context.Context, directory *partition.Directory, i int) (left int, err error) {
	for _, name := range directory.Map().Binding {
		if directory.Map().Home(partition.Job{Name: name}).Partition != i {
			continue
		}
		if onItsWay(directory.Map(), name) {
			left++
			continue
		}
		switch err := bind(ctx, directory, name, tryMover); {
		case errors.Is(err, rdb.ErrLed):
			left++
		case err != nil:
			return left + 1, err
		}
	}
	return left, nil
}

// homeward is a name that is brought to its home.
type homeward struct {
	directory *partition.Directory
	name      string
	target    int
	lead      leading
}

// bring brings all jobs and schedules of the name from one partition.
func (h *homeward) bring(ctx context.Context, source int) error {
	m, err := h.lead(ctx, h.directory, source)
	if err != nil {
		return err
	}
	if m == nil {
		return at(source, rdb.ErrLed)
	}
	defer m.close(ctx)
	if err := m.finish(ctx); err != nil {
		return err
	}
	if err := m.holdKeys(ctx); err != nil {
		return err
	}
	if err := m.carryKeys(ctx, h.target, func(of rdb.KeyRuleOf) bool { return of.Queue == h.name }); err != nil {
		return err
	}
	foreign, err := m.foreigners(ctx, h.target, func(job rdb.Absent) bool { return needs.Name(job.Queue) == h.name })
	defer foreign.close(ctx)
	if err != nil {
		return err
	}
	items, err := foreign.redirect(ctx, h.target)
	if err != nil {
		return err
	}
	if err := m.moveWaiting(ctx, h.target, []string{h.name}); err != nil {
		return err
	}
	left, err := h.find(ctx, m)
	if err != nil {
		return at(source, err)
	}
	return m.transfer(ctx, h.target, append(items, left...), false)
}

// find are the jobs and the schedules of the name in a partition: schedules live where their jobs do.
func (h *homeward) find(ctx context.Context, m *mover) (items []rdb.MoveItem, err error) {
	err = m.store.Walk(ctx, rdb.Key{Name: "jobs", Type: "hash"}, func(page []rdb.Field) error {
		for _, field := range page {
			if job, _ := homeOf(h.directory.Map(), field.Name, field.Value); needs.Name(job.Name) == h.name {
				items = append(items,
					rdb.MoveItem{Kind: rdb.MoveBound, ID: field.Name, Digest: job.Lock, Queue: job.Name,
						Key: job.Key})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	schedules, _, err := m.store.Schedules(ctx)
	for _, schedule := range schedules {
		if record.NameIn(schedule.Definition) == h.name {
			items = append(items, rdb.MoveItem{Kind: rdb.MoveSchedule, ID: schedule.ID})
		}
	}
	return items, err
}
