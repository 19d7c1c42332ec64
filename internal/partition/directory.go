package partition

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
)

// Directory has the stores of the partitions of a namespace, and the newest map that somebody in this program has met.
// All of a program who share a connection share it. Its methods may be called concurrently.
type Directory struct {
	driver    redisconn.Driver
	namespace string

	newest  atomic.Pointer[Map]
	mu      sync.Mutex
	changed chan struct{} // closed when newest changes
	stores  [Max]*rdb.Store
	guarded [Max]*rdb.Store
	reading chan struct{} // closed when the Refresh under way has ended; nil while none is
	readErr error         // of the last one
	cut     bool          // its caller had no more time

	patience time.Duration
	ended    func(rdb.FlowEnd)                      // see TellFlows
	role     rights.Role                            // see As
	lacks    func(partition int, commands []string) // see As
}

// NewDirectory makes the directory of a namespace, of which nothing is known yet: one partition. It asks nothing.
func NewDirectory(driver redisconn.Driver, namespace string) *Directory {
	d := &Directory{driver: driver, namespace: namespace, changed: make(chan struct{}), patience: patience}
	d.newest.Store(&Map{})
	return d
}

// TellFlows has somebody told of the ends of flows by calls of the stores: see rdb.Store.TellFlows. It is called before
// the first store is asked for.
func (d *Directory) TellFlows(tell func(rdb.FlowEnd)) { d.ended = tell }

// As says which role the program mostly has that uses guarded stores; without it that is an enqueuer. tell, which may
// be nil, is told once of each partition which commands its user lacks that the program can do without. Guarded stores
// that were asked for before stay as they are.
func (d *Directory) As(role rights.Role, tell func(partition int, commands []string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.role, d.lacks, d.guarded = role, tell, [Max]*rdb.Store{}
}

// Map is the newest map that is known. Nobody changes it.
func (d *Directory) Map() *Map { return d.newest.Load() }

// Namespace is the name of the namespace.
func (d *Directory) Namespace() string { return d.namespace }

// Driver is the driver of all stores.
func (d *Directory) Driver() redisconn.Driver { return d.driver }

// Store is the store of a partition, which may be one that the map does not have.
func (d *Directory) Store(partition int) *rdb.Store {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.store(partition)
}

func (d *Directory) store(partition int) *rdb.Store {
	if d.stores[partition] == nil {
		d.stores[partition] = rdb.NewStore(d.driver, Namespace(d.namespace, partition))
		d.stores[partition].TellFlows(d.ended)
		d.stores[partition].Others(d.other)
	}
	return d.stores[partition]
}

// other is the store of a partition for who has that of another one; nil where there can be none of that number.
func (d *Directory) other(partition int) *rdb.Store {
	if partition < 0 || partition >= Max {
		return nil
	}
	return d.Guarded(partition)
}

// Guarded is the store of a partition that asks whether it can be used, see rdb.Store.Guarded: for programs whom no
// heartbeat tells.
func (d *Directory) Guarded(partition int) *rdb.Store {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.guarded[partition] == nil {
		var tell func([]string)
		if lacks := d.lacks; lacks != nil {
			tell = func(commands []string) { lacks(partition, commands) }
		}
		d.guarded[partition] = d.store(partition).Guarded(d.role, tell)
	}
	return d.guarded[partition]
}

// Changed is closed when there is a newer map than now. Who waits for one asks for it before looking at Map.
func (d *Directory) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// Learn notes a map, if it is newer than what is known.
func (d *Directory) Learn(m *Map) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.Version > d.newest.Load().Version {
		d.newest.Store(m)
		close(d.changed)
		d.changed = make(chan struct{})
	}
}

// blind is how many partitions are tried by who knows of none and does not reach the first.
const blind = 8

// patience is how long the others are waited for once one has answered, and how long the first one is waited for before
// others are asked as well: one that hangs does not keep a program from those that answer.
const patience = time.Second

// Refresh reads the newest map: of all partitions that are known, at once. Those that know an older one are given it.
// It fails only if none has answered; it does not wait long for some when others have. Who calls it while another call
// is under way gets what that one brings.
func (d *Directory) Refresh(ctx context.Context) error {
	for {
		d.mu.Lock()
		reading := d.reading
		if reading == nil {
			reading = make(chan struct{})
			d.reading = reading
			d.mu.Unlock()
			return d.readFor(ctx, reading)
		}
		d.mu.Unlock()
		select {
		case <-reading:
		case <-ctx.Done():
			return excerpt.Error(context.Cause(ctx))
		}
		d.mu.Lock()
		err, cut := d.readErr, d.cut
		d.mu.Unlock()
		if !cut { // else its caller had no more time, which says nothing about this one
			return err
		}
	}
}

// Discover is for those who know of no map, and could not ask the first partition: it looks whether others know one,
// and returns whether it has found one. Who knows a map already is told that nothing is new.
func (d *Directory) Discover(ctx context.Context) bool {
	if d.Map().Version > 0 {
		return false
	}
	asking, cancel := context.WithTimeout(ctx, discovery)
	defer cancel()
	_ = d.Refresh(asking)
	return d.Map().Version > 0
}

// discovery is how long it may take to look for a map.
const discovery = 2 * time.Second

// RefreshFrom reads the map of one partition: of one that has said that there is a newer one, however the others are.
func (d *Directory) RefreshFrom(ctx context.Context, partition int) error {
	text, err := d.Store(partition).ReadMap(ctx)
	if err != nil {
		return &Error{Partition: partition, Err: err}
	}
	if text == nil {
		return nil
	}
	m, err := Decode(text)
	if err == nil {
		d.Learn(m)
	}
	return err
}

// readFor reads for all that wait for it.
func (d *Directory) readFor(ctx context.Context, reading chan struct{}) error {
	err := d.read(ctx)
	d.mu.Lock()
	d.reading, d.readErr, d.cut = nil, err, err != nil && ctx.Err() != nil
	d.mu.Unlock()
	close(reading)
	return err
}

// read reads the map of all that are known, and goes on with those that a newer one names.
func (d *Directory) read(ctx context.Context) error {
	r := &round{directory: d, answers: make(chan answer), versions: map[int]int64{}}
	asking, hurry := context.WithCancel(ctx)
	defer hurry()
	r.ask(asking, d.Map().Len())
	timer := time.NewTimer(d.patience)
	defer timer.Stop()
	for r.waiting > 0 {
		select {
		case a := <-r.answers:
			if before := len(r.versions); r.take(a) > before && before == 0 {
				timer.Reset(d.patience) // from the first answer on
			}
		case <-timer.C:
			if len(r.versions) > 0 {
				hurry()
				continue
			}
			r.blind = true
		}
		r.ask(asking, r.wanted())
	}
	if len(r.versions) == 0 {
		return r.failure()
	}
	newest := d.Map()
	for i, version := range r.versions {
		if version < newest.Version {
			writing, done := context.WithTimeout(ctx, d.patience)
			// whoever reads it next tries again
			_, _ = d.Store(i).WriteMap(writing, newest.Version, newest.Encode(), -1)
			done()
		}
	}
	return nil
}

// round is one look at the maps of all partitions.
type round struct {
	directory *Directory
	answers   chan answer
	asked     int // the first so many
	waiting   int // for so many answers
	versions  map[int]int64
	failed    []error // in the order of the answers
	blind     bool    // the first one does not answer, and no other is known
}

// answer is the map of one partition; nil where it has none.
type answer struct {
	partition int
	m         *Map
	err       error
}

// ask asks those that were not asked, up to that one.
func (r *round) ask(ctx context.Context, n int) {
	for ; r.asked < n; r.asked++ {
		r.waiting++
		go func(a answer) { // read takes each answer
			text, err := r.directory.Store(a.partition).ReadMap(ctx)
			if err == nil && text != nil {
				a.m, err = Decode(text)
			}
			a.err = err
			r.answers <- a
		}(answer{partition: r.asked})
	}
}

// take notes an answer, and returns of how many the version is known.
func (r *round) take(a answer) int {
	r.waiting--
	switch {
	case a.err != nil:
		r.failed = append(r.failed, &Error{Partition: a.partition, Err: a.err})
		r.blind = r.blind || a.partition == 0
	case a.m != nil:
		r.versions[a.partition] = a.m.Version
		r.directory.Learn(a.m)
	case a.partition == 0 || !r.directory.Map().Single():
		r.versions[a.partition] = 0 // a namespace that was never divided; or one that has lost what it knew
	}
	return len(r.versions)
}

// wanted is how many are to be asked, as far as is known now.
func (r *round) wanted() int {
	if m := r.directory.Map(); !r.blind || !m.Single() {
		return m.Len()
	}
	return blind
}

// failure is why nothing is known. Who knows of one partition is told of that one.
func (r *round) failure() error {
	var first *Error
	if r.directory.Map().Single() {
		for _, err := range r.failed {
			if errors.As(err, &first) && first.Partition == 0 {
				return first.Err
			}
		}
	}
	return excerpt.Join(r.failed...)
}

// Error says which partition an error is about.
type Error struct {
	Partition int
	Err       error
}

func (e *Error) Error() string {
	return fmt.Sprintf("partition %d: %s", e.Partition, excerpt.ErrorText(e.Err))
}

// Unwrap returns what went wrong there.
func (e *Error) Unwrap() error { return e.Err }
