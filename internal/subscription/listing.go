package subscription

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
)

// Listing is which queues Redis lists with one worker. A reaper finds the jobs of a dead worker by that list, so it has
// a queue before any job of it is fetched, and as long as one is held. The fetcher of the worker alone changes it,
// between two fetches of which the earlier one is known to be over. All methods may be called concurrently.
type Listing struct {
	news    atomic.Bool // the fetcher has something to look into
	leaving atomic.Bool // withdrawn queues are listed because jobs of them are held

	mu       sync.Mutex
	may      map[string]bool // queues that Redis may list with the worker
	does     map[string]bool // queues that it is known to list with this identity
	identity string
	followed int64 // the version of what the pool serves that was followed last
}

// Notify has the fetcher look into what it serves.
func (l *Listing) Notify() { l.news.Store(true) }

// HasNews tells whether there is something to look into.
func (l *Listing) HasNews() bool { return l.news.Load() }

// TakeNews is HasNews, once.
func (l *Listing) TakeNews() bool { return l.news.Load() && l.news.Swap(false) }

// Listed are the queues that Redis may list, in order.
func (l *Listing) Listed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.may))
}

// Expect notes queues that Redis may list from now on.
func (l *Listing) Expect(names []string) {
	if len(names) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.may == nil {
		l.may = make(map[string]bool, len(names))
	}
	for _, name := range names {
		if !l.may[name] {
			l.may[name] = true
			l.news.Store(true)
		}
	}
}

// Recheck has the fetcher look whether these queues, with which the worker was registered meanwhile, are still served.
func (l *Listing) Recheck(names []string) {
	l.Expect(names)
	l.Notify()
}

// Registered notes with which queues an identity of the worker was registered.
func (l *Listing) Registered(identity string, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.identity, l.does = identity, make(map[string]bool, len(names))
	for _, name := range names {
		l.does[name] = true
	}
}

// Correct notes which queues Redis does list with an identity, where that may not be what it was told.
func (l *Listing) Correct(identity string, listed []string) {
	l.Expect(listed)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.identity != identity {
		return
	}
	there := make(map[string]bool, len(listed))
	for _, name := range listed {
		there[name] = true
	}
	for name := range l.does {
		if !there[name] {
			delete(l.does, name)
			l.news.Store(true)
		}
	}
}

// Change is what Redis is to be told, so that it lists these queues with an identity, and those of which jobs are held.
// leaving tells whether there are any of the latter that are not served.
func (l *Listing) Change(identity string, names []string, held map[string]bool) (change rdb.Serving, leaving bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if l.identity != identity || !l.does[name] {
			change.Add = append(change.Add, name)
		}
	}
	for name := range l.may {
		if _, serves := slices.BinarySearch(names, name); serves {
			continue
		}
		if held[name] {
			leaving = true
		} else {
			change.Leave = append(change.Leave, name)
		}
	}
	return change, leaving
}

// Changed notes what Redis was told. It is false when the worker has another identity by now: all is to be looked into
// again.
func (l *Listing) Changed(identity string, change rdb.Serving) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.identity != identity {
		return false
	}
	for _, name := range change.Add {
		l.does[name] = true
	}
	for _, name := range change.Leave {
		delete(l.does, name)
		delete(l.may, name)
	}
	return true
}

// SetLeaving says whether queues are listed only because jobs of them are held.
func (l *Listing) SetLeaving(leaving bool) { l.leaving.Store(leaving) }

// Leaving tells whether there are such.
func (l *Listing) Leaving() bool { return l.leaving.Load() }

// Left tells whether a queue is listed that is neither served nor held any more.
func (l *Listing) Left(served []string, held map[string]bool) bool {
	return slices.ContainsFunc(l.Listed(), func(name string) bool {
		_, serves := slices.BinarySearch(served, name)
		return !serves && !held[name]
	})
}

// Follow notes that Redis lists what a version of [Served] says.
func (l *Listing) Follow(version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followed = version
}

// Follows tells whether that version was followed, as far as these queues go: one that was withdrawn is not listed.
func (l *Listing) Follows(version int64, names []string, serve bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followed < version || serve {
		return l.followed >= version
	}
	for queue := range l.may {
		if slices.Contains(names, needs.Name(queue)) {
			return false
		}
	}
	return true
}
