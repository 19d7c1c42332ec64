package workgroup

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Overtime lists the items that keep their goroutines although their time is up. Its zero value lists none. An item
// costs one atomic write when it ends, and the lock only where it was listed.
type Overtime[T any] struct {
	mu    sync.Mutex
	items map[*T]overtimeEntry
}

type overtimeEntry struct {
	since time.Time
	alarm *time.Timer // nil for an item without one
}

// OvertimeMark is what an item carries of its place in an [Overtime]. Its zero value is that of an item that runs.
type OvertimeMark struct{ state atomic.Int32 }

// The states of an item. One that has ended is never listed: a timer may fire just after the end.
const (
	overtimeRuns = iota
	overtimeListed
	overtimeEnded
)

// Late is an item of an [Overtime].
type Late[T any] struct {
	Item  *T
	Since time.Time // when its time was up
}

// Add lists an item, once. Alarm, if it is not nil, is called in a goroutine of its own if the item has not ended after
// that long.
func (o *Overtime[T]) Add(item *T, mark *OvertimeMark, after time.Duration, alarm func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !mark.state.CompareAndSwap(overtimeRuns, overtimeListed) {
		return
	}
	entry := overtimeEntry{since: time.Now()}
	if alarm != nil {
		entry.alarm = time.AfterFunc(after, alarm)
	}
	if o.items == nil {
		o.items = map[*T]overtimeEntry{}
	}
	o.items[item] = entry
}

// End notes that an item has ended, whether it is listed or not.
func (o *Overtime[T]) End(item *T, mark *OvertimeMark) {
	if mark.state.Swap(overtimeEnded) != overtimeListed {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if alarm := o.items[item].alarm; alarm != nil {
		alarm.Stop()
	}
	delete(o.items, item)
}

// Held returns the items that keep a goroutine, in the order in which their times were up. Those for which away returns
// true keep none.
func (o *Overtime[T]) Held(away func(*T) bool) (late []Late[T]) {
	o.mu.Lock()
	for item, entry := range o.items {
		late = append(late, Late[T]{Item: item, Since: entry.since})
	}
	o.mu.Unlock()
	late = slices.DeleteFunc(late, func(l Late[T]) bool { return away(l.Item) })
	slices.SortFunc(late, Late[T].Compare)
	return late
}

// Compare orders items by when their times were up.
func (l Late[T]) Compare(other Late[T]) int { return l.Since.Compare(other.Since) }
